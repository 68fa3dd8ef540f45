"""Many sources at once: their order, and what happens to one that breaks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import psutil
import pytest

from support.held_files import held_file
from support.talk import words
from support.waiting import GIVE_UP
from workbench.lab.running import workers as running
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.processes import ProcessDied, ProcessWorkers
from workbench.lab.running.tasks import LabPolicy, LabTask, TaskOutcome
from workbench.lab.running.workers import LabWorkers, run_all
from workbench.sources.services import Services

POLICIES = (LabPolicy("recorded"), LabPolicy("layers"), LabPolicy("layers", ("masking.keep_last=1",), "tight"))


def talk(number: int) -> list[dict[str, str]]:
    said = {"role": "user", "content": f"the port is {48000 + number} {words(30 * number)}"}
    return [said, {"role": "assistant", "content": f"{48000 + number} it is"}]


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    """Transcripts of which none is like another, the longest first."""
    paths = [tmp_path / f"{number}.json" for number in range(6, 0, -1)]
    for number, path in enumerate(paths):
        path.write_text(json.dumps(talk(len(paths) - number)))
    return paths


def tasks(paths: list[Path]) -> list[LabTask]:
    return [LabTask(str(path), POLICIES) for path in paths]


def test_two_processes_find_what_one_finds_in_the_order_of_the_sources(sources: list[Path]) -> None:
    alone = list(run_all(tasks(sources), jobs=1))
    told: list[TaskOutcome] = []
    assert list(run_all(tasks(sources), jobs=2, progress=told.append)) == alone
    assert [outcome.task.source for outcome in alone] == [str(path) for path in sources]
    assert [run.policy for run in alone[0].runs[0].runs] == ["recorded", "layers", "tight"]
    assert sorted(told) == sorted(alone)


def test_workers_stay_for_many_runs(sources: list[Path]) -> None:
    with LabWorkers(2) as workers:
        first, second = (list(workers.run_tasks(tasks(sources))) for _ in range(2))
    assert first == second


def test_few_outcomes_wait_behind_a_slow_source(monkeypatch: pytest.MonkeyPatch) -> None:
    slow: Future[TaskOutcome] = Future()
    begun: list[LabTask] = []

    class SlowFirst:
        def submit_near(self, near: str, function: object, task: LabTask, run: str) -> Future[TaskOutcome]:
            begun.append(task)
            if len(begun) == 1:
                return slow
            quick: Future[TaskOutcome] = Future()
            quick.set_result(TaskOutcome(task))
            return quick

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            pass

    def finish_the_slow_one(outcome: TaskOutcome) -> None:
        if len(begun) == 4 and not slow.done():
            slow.set_result(TaskOutcome(begun[0]))

    monkeypatch.setattr(running, "_WAITING", 3)
    asked = tasks([Path(f"{number}.json") for number in range(20)])
    with LabWorkers(2) as workers:
        monkeypatch.setattr(workers, "_executor", SlowFirst())
        monkeypatch.setattr(workers, "_ahead", 2)
        outcomes = workers.run_tasks(asked, finish_the_slow_one)
        first = next(outcomes)
        assert len(begun) == 4
        assert [first.task, *(outcome.task for outcome in outcomes)] == asked


def test_a_broken_source_is_an_outcome_and_the_others_go_on(sources: list[Path], tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('[{"role": ')
    (tmp_path / "other.json").write_text('{"name": "a-package"}')
    paths = [sources[0], tmp_path / "broken.json", tmp_path / "other.json", tmp_path / "none.json", sources[1]]
    asked = [task._replace(is_guess="other" in task.source) for task in tasks(paths)]
    good, broken, other, none, last = run_all(asked, jobs=2)
    assert good.runs
    assert last.runs
    assert "broken.json: line 1" in broken.error
    assert "none.json" in none.error
    assert [each.is_other for each in (broken, other, none)] == [False, True, False]


def test_all_conversations_of_a_file_are_replayed_unless_one_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps({"messages": talk(number)}) + "\n" for number in (1, 2)))
    whole, second = run_all([*tasks([path]), LabTask(f"{path}#2", POLICIES)], jobs=1)
    assert [run.source for run in whole.runs] == [f"{path}#1", f"{path}#2"]
    assert second.runs == whole.runs[1:]


def test_what_kills_its_process_is_named_and_nothing_else_is_lost() -> None:
    with ProcessWorkers(2) as workers:
        deadly = workers.submit(os._exit, 3)
        harmless = [workers.submit(abs, -number) for number in range(20)]
        assert [future.result() for future in harmless] == [*range(20)]
        with pytest.raises(ProcessDied):
            deadly.result()


def test_what_a_killed_process_did_is_done_again_by_another(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ProcessWorkers(1) as workers:
        first = psutil.Process(workers.submit(os.getpid).result())
        reading = workers.submit(Path.read_text, pipe)
        with pipe.open("w"):  # opens as soon as it is read
            first.kill()
            first.wait()
        with pipe.open("w") as file:
            file.write("hello")
        assert reading.result() == "hello"


@pytest.mark.long
@pytest.mark.parametrize("cluster", ["none", "local"])
def test_ctrl_c_ends_all_processes_without_a_word(sources: list[Path], cluster: str) -> None:
    with held_file("talk.json", json.dumps(talk(1))) as held:
        call = [sys.executable, "-m", "workbench", "lab", held.address, *map(str, sources), "--jobs", "2"]
        call += ["--cluster", cluster]
        process = subprocess.Popen(call, stderr=subprocess.PIPE, text=True, start_new_session=True)
        assert held.next_reader().pid != process.pid
        started = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (130, "")
    assert psutil.wait_procs(started, timeout=GIVE_UP)[1] == []


# Sources that come again


def test_what_was_near_a_process_goes_to_it_again_unless_it_is_busy(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ProcessWorkers(2) as workers:
        owner = workers.submit_near("a", os.getpid).result()
        assert [workers.submit_near("a", os.getpid).result() for _ in range(9)] == [owner] * 9
        reading = workers.submit_near("a", Path.read_text, pipe)
        with pipe.open("w") as file:  # opens as soon as it is read
            assert workers.submit_near("a", os.getpid).result() != owner
            file.write("done")
        assert reading.result() == "done"


def test_a_source_that_has_changed_is_read_again(sources: list[Path]) -> None:
    asked = tasks(sources)
    with LabWorkers(2, more_rounds=1) as workers:
        before = list(workers.run_tasks(asked))
        assert list(workers.run_tasks(asked)) == before
        sources[0].write_text(json.dumps(talk(17)))
        changed = list(workers.run_tasks(asked))
    assert changed[0] != before[0]
    assert changed == list(run_all(asked, jobs=1))


# Who does it


@pytest.fixture
def kept(services: Services) -> Iterator[KeptRuns]:
    with KeptRuns(services) as made:
        yield made


def test_little_work_is_done_without_dask(sources: list[Path], kept: KeptRuns) -> None:
    with LabWorkers(2) as workers:
        assert all(outcome.runs for outcome in workers.run_tasks(tasks(sources), kept=kept))
        assert not workers.is_dask


@pytest.mark.long
def test_much_work_is_done_by_dask_with_the_same_result(
    sources: list[Path], kept: KeptRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "DASK_START_SECONDS", 0)
    alone = list(run_all(tasks(sources), jobs=1))
    with LabWorkers(2) as workers:
        assert list(workers.run_tasks(tasks(sources), kept=kept)) == alone
        assert workers.is_dask
    with LabWorkers(2) as workers:  # of all that nothing is left to do
        again = list(workers.run_tasks(tasks(sources), kept=kept))
        assert [outcome._replace(is_kept=False) for outcome in again] == alone
        assert not workers.is_dask


@pytest.mark.parametrize(("jobs", "cluster"), [(2, "none"), (1, "")])
def test_who_wants_no_dask_gets_none(
    sources: list[Path], kept: KeptRuns, jobs: int, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "DASK_START_SECONDS", 0)
    with LabWorkers(jobs, cluster) as workers:
        assert all(outcome.runs for outcome in workers.run_tasks(tasks(sources), kept=kept))
        assert not workers.is_dask


def test_where_dask_is_not_installed_processes_do_it(
    sources: list[Path], kept: KeptRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "DASK_START_SECONDS", 0)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with LabWorkers(2) as workers:
        assert all(outcome.runs for outcome in workers.run_tasks(tasks(sources), kept=kept))
        assert not workers.is_dask


def test_work_is_what_is_left_of_the_bytes_under_each_policy(sources: list[Path], kept: KeptRuns) -> None:
    task = tasks(sources)[0]
    size = sources[0].stat().st_size
    assert kept.work_left(task) == 3 * size
    assert kept.work_left(task, 20) == 23 * size
    list(run_all([task._replace(policies=POLICIES[:2])], jobs=1, kept=kept))
    assert kept.work_left(task) == size
    list(run_all([task], jobs=1, kept=kept))
    assert kept.work_left(task, 20) == 0
