"""Dask: a real scheduler and real workers on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest

from support.talk import words
from workbench.cli.main import main
from workbench.config.errors import WrongCall
from workbench.lab import fetching
from workbench.lab.corpus import corpus
from workbench.lab.running import LabWorkers, run_all
from workbench.lab.tasks import LabPolicy, LabTask
from workbench.session.services import Services

POLICIES = (LabPolicy("recorded"), LabPolicy("layers", ("masking.keep_last=1",), "tight"))


def talk(number: int) -> str:
    said = {"role": "user", "content": f"the port is {48000 + number} {words(30 * number)}"}
    return json.dumps([said, {"role": "assistant", "content": f"{48000 + number} it is"}])


class Cluster:
    """A scheduler and two workers, started with their own commands."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        scheduler = self._started("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        assert scheduler.stderr is not None
        found = next(line for line in scheduler.stderr if b"Scheduler at:" in line)
        self.address = found.split()[-1].decode()
        self.workers = [self._worker() for _ in range(2)]

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._started("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def _started(self, *words: str) -> subprocess.Popen[bytes]:
        call = [sys.executable, "-m", "dask", *words]
        process = subprocess.Popen(call, cwd=self._folder, stderr=subprocess.PIPE)
        self._processes.append(process)
        return process

    def reader_of(self, pipe: Path) -> subprocess.Popen[bytes]:
        """The worker that has a file open."""
        for worker in self.workers:
            for link in Path(f"/proc/{worker.pid}/fd").iterdir():
                with suppress(OSError):
                    if os.readlink(link) == str(pipe):
                        return worker
        raise AssertionError("nobody reads it")

    def close(self) -> None:
        """End all of it."""
        for process in self._processes:
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Ready, or about to be: tasks wait for the workers."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    made = Cluster(folder)
    yield made
    made.close()


@pytest.mark.long
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        (tmp_path / f"{number}.json").write_text(talk(number))
    monkeypatch.chdir(tmp_path)
    alone = list(run_all([LabTask(f"{number}.json", POLICIES) for number in range(8)], jobs=1))
    Path("4.json").unlink()
    os.mkfifo("4.json")
    with LabWorkers(cluster=cluster.address) as workers:
        outcomes = workers.run([outcome.task for outcome in alone])
        found = [next(outcomes)]
        with suppress(BrokenPipeError), open("4.json", "w") as file:
            file.write(" " * 100_000)  # more than a pipe holds: comes back when a worker has read some of it
            killed = cluster.reader_of(tmp_path / "4.json")
            killed.kill()
            killed.wait()
        with open("4.json", "w") as file:  # and again for the other one
            file.write(talk(4))
        found += outcomes
    assert found == alone


@pytest.mark.long
def test_the_command_finds_the_same_on_a_cluster(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.json").write_text(talk(number))
    (tmp_path / "mine.toml").write_text('extends = "codex"\n[truncation]\nhead_lines = 7\n')
    (tmp_path / "broken.json").write_text("[")
    monkeypatch.chdir(tmp_path)
    call = ["lab", "broken.json", "0.json", (tmp_path / "1.json").as_uri(), "2.json", "--policy", "mine.toml"]
    told: list[dict[str, Any]] = []
    for more in (["--jobs", "1"], ["--cluster", cluster.address, "--fresh"]):
        assert main([*call, "--policy", "layers", "--set", "masking.keep_last=2", "--json", *more]) == 0
        told.append(json.loads(capsys.readouterr().out))
    here, there = told
    assert there["sources"] == here["sources"]
    assert [row["policy"] for row in there["policies"]] == ["mine", "layers"]
    assert len(here["sources"]) == 3
    assert "broken.json: line 1" in there["failed"][0]["error"]


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
    assert f"expected the package {package}; {fetching.EXTRA}" in said


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
    assert [each.ref for each in corpus([f"{bucket}/deep/*.json"], services)] == files
    assert [each.ref for each in corpus([bucket], services)] == [*files, "memory:///runs/package.json"]
    assert [each.ref for each in corpus([f"{bucket}/deep/0.json"], services)] == files[:1]
    with pytest.raises(WrongCall, match="no file fits"):
        corpus([f"{bucket}/*.none"], services)


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
