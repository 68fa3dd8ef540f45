"""However the screen is ended, nothing is left behind: no command, no terminal in disorder; and what came is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from support.terminal import WORKBENCH, Terminal
from support.waiting import WaitLimit
from workbench.log.events import ToolCall, ToolResult, UserMessage
from workbench.sources.services import Services

termios = pytest.importorskip("termios")

LEFT = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?2004l", b"\x1b[?25h")
"""The alternate screen, three ways of telling of the mouse, and pastes in brackets are off; the cursor is seen."""


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def at_work(folder: Path, command: Sequence[str] = WORKBENCH) -> tuple[Terminal, int]:
    """A screen on which a command runs that would go on for ever, and the command's process."""
    terminal = Terminal(cwd=folder, command=command)
    terminal.wait_for("no model configured")
    terminal.press("run echo $$ > started; exec sleep 9999\r")
    terminal.wait_for("a key answers")
    terminal.press("y")
    started, limit = folder / "started", WaitLimit()
    while not (started.exists() and started.read_text()):
        assert not limit.is_over, terminal.seen[-2000:]
        terminal.watch(0.05)
    return terminal, int(started.read_text())


def check(child: int, results: bool = True) -> None:
    """The command is gone, and the session says how far it came; `results`: and that it was ended."""
    limit = WaitLimit()
    while is_there(child):
        assert not limit.is_over, "the command goes on"
        time.sleep(0.02)
    with Services() as services:
        [session] = services.store.list()
        with services.store.session(session.id) as kept:
            bodies = [event.body for event in kept.events()]
    assert {UserMessage, ToolCall, *([ToolResult] if results else [])} <= {type(body) for body in bodies}


def settings_of(terminal: Terminal) -> int:
    """The local modes of the terminal: echo, lines, signals."""
    return int(termios.tcgetattr(terminal.ours)[3])


def check_terminal_is_whole(terminal: Terminal, status: int) -> None:
    """Once the program has ended with this status."""
    limit = WaitLimit()
    while terminal.process.poll() is None:
        assert not limit.is_over, "the program goes on"
        terminal.watch(0.05)  # what nobody reads would hold it up
    assert terminal.process.returncode == status
    assert settings_of(terminal) & termios.ECHO
    assert settings_of(terminal) & termios.ICANON
    assert terminal.end() == status
    end = terminal.seen.rpartition(b"\x1b[?1049l")
    assert all(sequence in terminal.seen for sequence in LEFT)
    assert end[1]
    assert b"\x1b[?25h" in end[2]
    assert not any(sequence in end[2] for sequence in (b"\x1b[?25l", b"\x1b[?1003h", b"\x1b[38;", b"\x1b[?1049h"))
    assert b"Traceback" not in terminal.seen


OTHERS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


CLOSED = pytest.param(signal.SIGHUP, marks=pytest.mark.wide)  # a test below closes the terminal itself


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT, CLOSED])
def test_a_signal_ends_the_command_and_leaves_the_terminal_whole(tmp_path: Path, number: signal.Signals) -> None:
    terminal, child = at_work(tmp_path)
    assert not settings_of(terminal) & termios.ECHO
    terminal.process.send_signal(number)
    check_terminal_is_whole(terminal, 128 + number)
    check(child, results=number != signal.SIGQUIT)


@pytest.mark.parametrize("number", [signal.SIGINT, *(pytest.param(each, marks=pytest.mark.wide) for each in OTHERS)])
def test_so_does_one_while_nothing_is_at_work(tmp_path: Path, number: signal.Signals) -> None:
    terminal = Terminal(cwd=tmp_path)
    terminal.wait_for("no model configured")
    assert not settings_of(terminal) & termios.ECHO
    terminal.process.send_signal(number)
    check_terminal_is_whole(terminal, 128 + number)


STUCK = """
import sys, threading, time
from workbench.cli.main import main
from workbench.tui.main.screen import MainScreen
def stuck(self, *_):
    self.app._driver.write("and now stuck")
    self.app._driver.flush()
    {how}
MainScreen.on_mount = stuck
sys.exit(main([]))
"""


def asked_until_it_ends(process: subprocess.Popen[bytes]) -> int:
    """Python misses a signal that comes just before a wait begins, until the next one; a user presses the key again."""
    limit = WaitLimit()
    while process.poll() is None and not limit.is_over:
        process.send_signal(signal.SIGQUIT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
    return process.wait(0)


@pytest.mark.parametrize("how", ["while True: pass", "threading.Lock().acquire() and time.sleep(9999)"])
def test_quitting_ends_a_screen_that_is_stuck(tmp_path: Path, how: str) -> None:
    terminal = Terminal(cwd=tmp_path, command=(sys.executable, "-c", STUCK.format(how=how)))
    terminal.wait_for("and now stuck")
    assert asked_until_it_ends(terminal.process) == 128 + signal.SIGQUIT
    assert settings_of(terminal) & termios.ECHO
    terminal.end()
    assert all(sequence in terminal.seen for sequence in LEFT)


def test_a_terminal_that_is_closed_ends_the_command(tmp_path: Path) -> None:
    terminal, child = at_work(tmp_path)
    assert terminal.vanish() == 128 + signal.SIGHUP
    check(child)


def test_so_does_one_that_is_closed_without_a_signal(tmp_path: Path) -> None:
    deaf = ("sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *WORKBENCH)
    terminal, child = at_work(tmp_path, deaf)
    assert terminal.vanish() == 0
    check(child)
