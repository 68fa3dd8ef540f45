"""Starting and ending in a real terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest

from workbench.config.errors import WrongCall
from workbench.log.events import UserMessage
from workbench.traces.desk import Desk
from workbench.tui import start

DEADLINE = 60
"""Seconds after which a screen that shows nothing is taken for dead."""


def test_without_a_terminal_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(WrongCall, match=r"`workbench plan talk\.json` needs none"):
        start.run(Namespace(source="talk.json"))
    with pytest.raises(WrongCall, match="`workbench plan SOURCE` needs none"):
        start.run(Namespace(source=None))


def test_before_the_first_frame_nothing_heavy_is_imported(talk: Path) -> None:
    script = f"""
import sys
from argparse import Namespace
from workbench.traces.desk import Desk
from workbench.tui.app import WorkbenchApp
from workbench.tui.bench import Bench
from workbench.tui.inspector.screen import Inspector

begin = Inspector.begin
def checked(self, bench):
    from workbench.models import catalogue
    print(sorted({{"litellm", "tiktoken", "tokenizers"}} & set(sys.modules)), catalogue._table.cache_info().currsize)
    return begin(self, bench)
Inspector.begin = checked

async def main():
    with Desk() as desk:
        bench = Bench(desk, Namespace(source={str(talk)!r}), {str(talk)!r})
        bench.read()
        app = WorkbenchApp(bench)
        async with app.run_test() as pilot:
            await pilot.pause()
            await app.workers.wait_for_complete()
            print(app.screen.shown.plan.verdict.status, "litellm" in sys.modules)

import asyncio
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.stdout.splitlines() == ["[] 0", "fits False"], done.stderr


class Terminal:
    """A program in a terminal of 80 by 24."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
        fcntl = pytest.importorskip("fcntl")
        struct, termios = __import__("struct"), __import__("termios")
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "workbench", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environment},
        )
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self.seen = b""

    def wait_for(self, text: str) -> None:
        """Read until a text appears."""
        end = time.monotonic() + DEADLINE
        while text.encode() not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not appear in {self.seen[-2000:]!r}"
            assert self._read(), f"the program ended without {text!r}: {self.seen[-2000:]!r}"

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """Read to the end; the result is the exit code."""
        end = time.monotonic() + DEADLINE
        while self._read():
            if time.monotonic() > end:
                self.process.kill()
        os.close(self._ours)
        return self.process.wait(DEADLINE)

    def _read(self) -> bool:
        """Take in what there is, waiting a moment for it; whether more may come."""
        import select

        if not select.select([self._ours], [], [], 0.2)[0]:
            return True
        try:
            got = os.read(self._ours, 65536)
        except OSError:  # how Linux tells that the other end was closed
            return False
        self.seen += got
        return bool(got)


def test_a_file_opens_in_a_real_terminal_and_q_quits(talk: Path) -> None:
    terminal = Terminal("open", str(talk), "--policy", "layers", "--window", "16000")
    terminal.wait_for("The fixture opens")
    terminal.press("q")
    assert terminal.end() == 0
    assert b"\x1b[31mlogin" not in terminal.seen
    assert b"Traceback" not in terminal.seen


def test_without_arguments_the_newest_session_opens() -> None:
    with Desk() as desk:
        desk.store.create([UserMessage("the only thing ever said")], title="A talk").close()
    terminal = Terminal(NO_COLOR="1")
    terminal.wait_for("the only thing")
    terminal.press("q")
    assert terminal.end() == 0
    assert b"A talk" in terminal.seen


def test_without_anything_the_empty_screen_opens() -> None:
    terminal = Terminal()
    terminal.wait_for("workbench import FILE")
    terminal.press("q")
    assert terminal.end() == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("{", "talk.json: line 1: expected JSON"), ('[{"role": "wizard"}]', "talk.json: line 1: expected")],
)
def test_a_bad_file_is_one_line_and_no_screen(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "talk.json"
    path.write_text(text, "utf-8")
    terminal = Terminal("open", str(path))
    assert terminal.end() == 2
    assert complaint.encode() in terminal.seen
    assert b"\x1b" not in terminal.seen
    assert len(terminal.seen.splitlines()) == 1


def test_a_bad_large_file_is_read_behind_the_screen_and_told_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"role": "user", "content": "x" * start.LARGE}, {"role": "wizard"}]), "utf-8")
    terminal = Terminal("open", str(path))
    terminal.wait_for("reading")
    assert terminal.end() == 2
    assert b"expected" in terminal.seen.splitlines()[-1]
    assert b"Traceback" not in terminal.seen


def test_quitting_does_not_wait_for_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"role": "user", "content": f"message {n} " * 40} for n in range(60_000)]), "utf-8")
    terminal = Terminal("open", str(path))
    terminal.wait_for("reading")
    terminal.press("q")
    assert terminal.end() == 0
    assert b"fits" not in terminal.seen
    assert b"Traceback" not in terminal.seen
