"""A process is known by its id and its start."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest

from workbench.config.processes import is_same_process, process_start


def test_our_own_process_is_itself_and_no_other() -> None:
    start = process_start(os.getpid())
    assert is_same_process(os.getpid(), start)
    assert not is_same_process(os.getpid(), start - 60)
    assert not is_same_process(os.getpid(), start + 60)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="others know the time of day alone")
def test_setting_the_clock_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    start = process_start(os.getpid())
    monkeypatch.setattr(psutil, "boot_time", lambda: time.time() + 3600)
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert process_start(os.getpid()) == start


def test_a_process_that_has_ended_is_no_process() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    start = process_start(child.pid)
    assert is_same_process(child.pid, start)
    child.communicate(b"\n")
    assert not is_same_process(child.pid, start)
    with pytest.raises(ProcessLookupError):
        process_start(child.pid)


@pytest.mark.parametrize("pid", [0, -1, 2**31 - 1, 2**31, 10**30])
def test_impossible_ids_are_no_processes(pid: int) -> None:
    assert not is_same_process(pid, 0.0)
