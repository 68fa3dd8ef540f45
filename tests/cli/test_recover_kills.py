"""A recovery that is killed at any step loses nothing: neither the damaged file, nor its log, nor what is recovered."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.calls import Call
from workbench.cli.main import main
from workbench.log.events import UserMessage
from workbench.log.replacement import finish_replacement, replace_store
from workbench.log.store import FILE_NAME, Store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
STEPS = ("open", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "sqlite3.connect", "os.utime")
"""What changes files, by the names that Python's audit gives."""
PAGE = 4096
MANY = 60
"""Events of the session; the last of them are in the write-ahead log alone."""


def _is_step(name: str, given: tuple[Any, ...]) -> bool:
    if name == "open":
        return bool(given[2] & (os.O_WRONLY | os.O_RDWR))
    return name in STEPS


def killed_at(step: int, do: Callable[[], object]) -> bool:
    """Do something in a fork that is killed before its step of this number; whether it got so far."""
    pid = os.fork()
    if not pid:
        left = step

        def count(name: str, given: tuple[Any, ...]) -> None:
            nonlocal left
            if _is_step(name, given):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            sys.addaudithook(count)
            do()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A folder with a store whose last events are in its log, and whose first page was overwritten."""
    folder = tmp_path / "damaged"
    with Store.open(tmp_path / "sound" / FILE_NAME) as store:
        session = store.create([UserMessage(f"number {at} " * 50) for at in range(MANY // 2)], id="s")
        path = store._database.path
        store._database._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        session.append(*(UserMessage(f"number {at} " * 50) for at in range(MANY // 2, MANY)))
        folder.mkdir()
        for ending in ("", "-wal"):
            shutil.copy(path.with_name(path.name + ending), folder / f"{FILE_NAME}{ending}")
    data = bytearray((folder / FILE_NAME).read_bytes())
    data[:PAGE] = b"\xaa" * PAGE
    (folder / FILE_NAME).write_bytes(data)
    return folder


def texts(path: Path) -> list[str]:
    with Store.open(path) as store:
        events = store.session("s", write=False).events()
    return [str(event.body.content).split()[1] for event in events if isinstance(event.body, UserMessage)]


def test_a_kill_at_any_step_loses_nothing(damaged: Path, tmp_path: Path, call: Call) -> None:
    main(["sessions", "recover", str(damaged / FILE_NAME), "-o", str(tmp_path / "first.db")])  # imports all it needs
    whole = texts(tmp_path / "first.db")
    assert whole[-1] == str(MANY - 1), "the log is read too"
    step, killed = 0, True
    while killed:
        folder = tmp_path / f"step{step}"
        shutil.copytree(damaged, folder)
        path = folder / FILE_NAME
        killed = killed_at(step, lambda path=path: main(["sessions", "recover", str(path)]))  # type: ignore[misc]
        is_ready = path.with_name(f"{FILE_NAME}.recovered").exists()
        if not is_ready and not path.read_bytes().startswith(b"SQLite"):
            assert path.with_name(f"{FILE_NAME}-wal").exists(), f"step {step}: the damaged file lost its log"
            assert call("sessions", "recover", path).code == 0
        assert texts(path) == whole, f"step {step}"
        if not killed:
            assert {each.name.partition(".damaged")[0] for each in folder.iterdir()} <= {FILE_NAME, "locks"}
        shutil.rmtree(folder)
        step += 1
    assert step > 10


def test_what_a_killed_recovery_left_is_removed_by_the_next(damaged: Path, call: Call) -> None:
    (damaged / ".recovering-dead").mkdir()
    (damaged / ".recovering-dead" / FILE_NAME).write_text("half")
    assert call("sessions", "recover", damaged / FILE_NAME).code == 0
    assert not list(damaged.glob(".recovering-*"))


@pytest.mark.parametrize("step", range(8))
def test_whoever_opens_the_store_finishes_the_exchange(damaged: Path, tmp_path: Path, step: int) -> None:
    new = tmp_path / "new.db"
    with Store.open(new) as store:
        store.create([UserMessage("number new")], id="s").close()
    killed_at(step, lambda: replace_store(new, damaged / FILE_NAME))
    if new.exists():
        assert (damaged / f"{FILE_NAME}-wal").exists()
        finish_replacement(damaged / FILE_NAME)
        assert (damaged / FILE_NAME).read_bytes().startswith(b"\xaa")
    else:
        assert texts(damaged / FILE_NAME) == ["new"]
