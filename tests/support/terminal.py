"""Programs in a real pseudo-terminal."""

from __future__ import annotations

import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.waiting import GIVE_UP, WaitLimit

WORKBENCH = (sys.executable, "-m", "workbench")


def inherited() -> dict[str, str]:
    """The environment without what users do not set: with it nothing is left to be written at exit."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


class Terminal:
    """A program in a terminal of 80 by 24."""

    def __init__(
        self, *arguments: str, command: Sequence[str] = WORKBENCH, cwd: str | Path | None = None, **environment: str
    ) -> None:
        """`command` and its arguments; the program itself, where no other is given. The terminal is its own."""
        pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
        fcntl = pytest.importorskip("fcntl")
        termios = pytest.importorskip("termios")

        def as_in_a_shell() -> None:
            """It is told when the terminal closes, also where whoever tests is not."""
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)

        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [*command, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=as_in_a_shell,
            env={**inherited(), "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environment},
        )
        os.close(theirs)
        os.set_blocking(self.ours, False)
        self.seen = b""

    def wait_for(self, text: str) -> None:
        """Read until a text appears."""
        limit = WaitLimit()
        while text.encode() not in self.seen:
            assert not limit.is_over, f"{text!r} did not appear in {self.seen[-2000:]!r}"
            assert self._read(), f"the program ended without {text!r}: {self.seen[-2000:]!r}"

    def watch(self, seconds: float) -> None:
        """Read for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._read():
            pass

    def rest(self) -> None:
        """Read until nothing more comes for a while: what is drawn late is not taken for an answer to the next key."""
        before = -1
        while before != len(self.seen):
            before = len(self.seen)
            self.watch(0.25)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self.ours, keys.encode())

    def end(self) -> int:
        """Read to the end; the result is the exit code."""
        limit = WaitLimit()
        while self._read():
            if limit.is_over:
                self.process.kill()
        os.close(self.ours)
        return self.process.wait(GIVE_UP)

    def vanish(self) -> int:
        """Close the terminal before the program; the result is its exit code."""
        os.close(self.ours)
        return self.process.wait(GIVE_UP)

    def _read(self) -> bool:
        """Take in what there is, waiting a moment for it; whether more may come."""
        if not select.select([self.ours], [], [], 0.2)[0]:
            return True
        try:
            got = os.read(self.ours, 65536)
        except OSError:  # how Linux tells that the other end was closed
            return False
        self.seen += got
        return bool(got)
