"""Dask: addresses of schedulers and of files, and what workers answer."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest

from lab.running.cluster_sample import POLICIES, talk
from workbench.cli.main import main
from workbench.config.distribution import extra_command
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.optional_packages import import_optional
from workbench.lab.running import clusters
from workbench.lab.running.clusters import DaskWorkers, packed_outcome, unpack_outcome
from workbench.lab.running.code_stamp import StrangeWorker, own_stamp
from workbench.lab.running.corpus import find_corpus
from workbench.lab.running.fetching import LOCAL
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.tasks import LabTask, TaskOutcome
from workbench.lab.running.workers import attempt_task, run_all
from workbench.sources.services import Services


def test_no_scheduler_at_the_address_is_one_line(talk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", str(talk), "--cluster", "nonsense://x"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("workbench: --cluster nonsense://x: no scheduler answers")
    assert said.count("\n") == 1


@pytest.mark.parametrize(("more", "package"), [(["--cluster", "local"], "distributed"), (["memory://runs/"], "fsspec")])
def test_without_the_extra_the_line_that_installs_it_is_told(
    talk: Path, more: list[str], package: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.core", None)
    assert main(["lab", str(talk), *more]) == 2
    said = capsys.readouterr().err
    assert f"expected the package {package}; {extra_command('cluster')}" in said


# Addresses


@pytest.fixture
def bucket() -> Iterator[str]:
    """Files that no path leads to."""
    system = fsspec.filesystem("memory")
    for number in range(2):
        system.pipe(f"/runs/deep/{number}.json", talk(number).encode())
    system.pipe("/runs/package.json", b'{"name": "a-package"}')
    yield "memory://runs"
    system.rm("/runs", recursive=True)


def test_an_address_is_a_file_a_folder_or_a_pattern(bucket: str, services: Services) -> None:
    files = [f"memory:///runs/deep/{number}.json" for number in range(2)]
    assert [each.ref for each in find_corpus([f"{bucket}/deep/*.json"], services)] == files
    assert [each.ref for each in find_corpus([bucket], services)] == [*files, "memory:///runs/package.json"]
    assert [each.ref for each in find_corpus([f"{bucket}/deep/0.json"], services)] == files[:1]
    with pytest.raises(WrongCall, match="no file fits"):
        find_corpus([f"{bucket}/*.none"], services)


def test_files_that_lie_elsewhere_are_replayed_like_those_here(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(talk(1))
    tasks = [LabTask(f"{bucket}/deep/1.json", POLICIES), LabTask(str(tmp_path / "1.json"), POLICIES)]
    there, here = run_all(tasks, jobs=1)
    assert there.runs == (here.runs[0]._replace(source=f"{bucket}/deep/1.json"),)


def test_a_broken_file_elsewhere_is_named_by_its_address(bucket: str) -> None:
    fsspec.filesystem("memory").pipe("/runs/broken.json", b"[")
    broken, none = run_all([LabTask(f"{bucket}/{name}.json", POLICIES) for name in ("broken", "none")], jobs=1)
    assert broken.error.startswith(f"{bucket}/broken.json: line 1: expected JSON")
    assert none.error.startswith(f"{bucket}/none.json: cannot be read")


def test_a_file_elsewhere_is_replayed_again_when_it_has_changed(
    bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["lab", bucket, "--jobs", "1"]
    assert main(call) == 0
    assert "1 file in the folders: no transcript" in capsys.readouterr().err
    assert main(call) == 0
    assert "2 sources of 3 kept" in capsys.readouterr().err
    fsspec.filesystem("memory").pipe("/runs/deep/0.json", talk(7).encode())
    assert main(call) == 0
    assert "1 source of 3 kept" in capsys.readouterr().err


def answered(answer: Any, many: int = 2) -> list[Future[TaskOutcome]]:
    """What those hear who wait for a parcel of orders, to which a worker answers so."""
    workers = DaskWorkers.__new__(DaskWorkers)  # without a cluster
    workers._owners, workers._workers, workers._stamp = {}, frozenset(), None
    orders = [clusters._Order(Future[TaskOutcome](), f"near {number}", b"") for number in range(many)]
    workers._answer(orders, answer)
    return [order.future for order in orders]


RIGHT = packed_outcome(TaskOutcome(LabTask("x", ()), error="left out"))


@pytest.mark.parametrize(
    "answer",
    [None, 7, ("a",), ("a", None), (1, [RIGHT, RIGHT]), ("a", [RIGHT]), ("a", [b"x", b""]), ("a", [b"[" * 9**5] * 2)],
)
def test_an_answer_that_is_none_is_an_error_for_all_who_wait(answer: Any) -> None:
    for future in answered(answer):
        error = future.exception(timeout=0)
        assert isinstance(error, WorkbenchError)
        assert "is no result" in str(error)
        assert "\n" not in str(error)


def test_a_wrong_answer_is_an_error_for_its_order_alone() -> None:
    first, second = answered(("a", [pickle.dumps(TaskOutcome(LabTask("x", ()))), RIGHT]))
    assert isinstance(first.exception(timeout=0), WorkbenchError)
    assert second.result(timeout=0).error == "left out"


def test_figures_come_back_as_they_were(tmp_path: Path) -> None:
    """Also with half a character in a name, which only JSON can write down."""
    path = tmp_path / "talk.json"
    path.write_text(talk(1))
    made = attempt_task(LabTask(str(path), POLICIES, waste=True))
    assert made.runs
    assert unpack_outcome(packed_outcome(made)).runs == made.runs
    odd = made._replace(runs=tuple(run._replace(source="\ud800") for run in made.runs))
    assert unpack_outcome(packed_outcome(odd)).runs == odd.runs


def test_results_for_other_policies_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "talk.json"
    path.write_text(talk(1))
    fewer = attempt_task(LabTask(str(path), POLICIES[:1]))
    monkeypatch.setattr("workbench.lab.running.workers.attempt_task", lambda *_: fewer)
    with Services() as services, KeptRuns(services) as kept:
        [outcome] = run_all([LabTask(str(path), POLICIES)], jobs=1, kept=kept)
    assert outcome.error.endswith("the results that came back are for other policies")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ("other code: 2 (d), here 1 (a)", "has other code: 2 (d), here 1 (a)"),
        (
            ModuleNotFoundError("No module named 'workbench'"),
            "has no Workbench, or an older one: No module named 'workbench'",
        ),
    ],
)
def test_a_worker_with_other_code_or_none_is_told_in_a_sentence(found: object, told: str) -> None:
    workers = DaskWorkers.__new__(DaskWorkers)  # without a cluster
    answers = {"tcp://a:1": "", "tcp://b:1": found, "tcp://c:1": "other code"}
    workers._client = SimpleNamespace(run=lambda *_, **__: answers, close=lambda: None)
    with pytest.raises(StrangeWorker) as raised:
        workers._refuse_strangers("tcp://s:1", own_stamp())
    assert str(raised.value) == (
        f"--cluster tcp://s:1: worker tcp://b:1 {told} (and 1 more of 3 workers); nothing was replayed"
    )


def test_a_worker_that_just_died_is_no_stranger() -> None:
    from distributed.comm.core import CommClosedError  # late: it takes half a second

    workers = DaskWorkers.__new__(DaskWorkers)  # without a cluster
    answers: dict[str, object] = {
        "tcp://a:1": "",
        "tcp://b:1": CommClosedError("in <TCP (closed) ...>: ConnectionResetError"),
    }
    closed: list[bool] = []
    workers._client = SimpleNamespace(run=lambda *_, **__: answers, close=lambda: closed.append(True))
    workers._refuse_strangers("tcp://s:1", own_stamp())
    assert not closed, "the others do its work"
    del answers["tcp://a:1"]
    workers._refuse_strangers("tcp://s:1", own_stamp())
    assert not closed, "another one may join"
    answers["tcp://c:1"] = PermissionError("settings")
    with pytest.raises(StrangeWorker, match="tcp://c:1 has no Workbench, or an older one: settings"):
        workers._refuse_strangers("tcp://s:1", own_stamp())


def test_dask_on_this_machine_lets_nobody_else_in() -> None:
    distributed = import_optional("distributed", "a test", "cluster")
    workers = DaskWorkers(LOCAL, 1)
    try:
        address = workers._client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        for stranger in (None, distributed.Security.temporary()):
            plain = address if stranger else address.replace("tls://", "tcp://")
            with pytest.raises(OSError, match=r"Timed out|closed|connect|certificate"):
                distributed.Client(plain, security=stranger, timeout="5s")
    finally:
        workers.shutdown()
