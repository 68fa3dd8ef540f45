"""Processes that run functions, and are replaced when they die."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support.waiting import WaitLimit
from workbench.lab.running.processes import ProcessDied, ProcessWorkers


def note_and_wait(path: str) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("begun\n")
    time.sleep(5)


def test_what_is_ended_at_once_is_not_begun_again(tmp_path: Path) -> None:
    path, limit = tmp_path / "notes", WaitLimit()
    processes = ProcessWorkers(1)
    future = processes.submit(note_and_wait, str(path))
    while not (path.exists() and path.read_text(encoding="utf-8")):
        assert not limit.is_over
        time.sleep(0.01)
    processes.shutdown(wait=False, cancel_futures=True)
    with pytest.raises(ProcessDied):
        future.result()
    assert path.read_text(encoding="utf-8") == "begun\n"
