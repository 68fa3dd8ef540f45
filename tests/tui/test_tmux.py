"""The program in a real terminal multiplexer: typed at, answered by the rehearsal model, ended, started again."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from support.waiting import GIVE_UP, WaitLimit

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")


class Tmux:
    """One window of a tmux server of its own."""

    def __init__(self, folder: Path, size: tuple[int, int]) -> None:
        self._socket = str(folder / "tmux.sock")
        self._folder = folder
        wide, high = size
        shell = shlex.join(["env", "-i", *(f"{name}={value}" for name, value in self._environment()), "sh"])
        self.run("new-session", "-d", "-x", str(wide), "-y", str(high), "-c", str(folder), shell)

    def _environment(self) -> list[tuple[str, str]]:
        kept = ("PATH", "HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV", "WORKBENCH_CONFIG_DIR", "WORKBENCH_DATA_DIR")
        given = [(name, os.environ[name]) for name in kept if name in os.environ]
        return [*given, ("TERM", "screen-256color"), ("LC_ALL", "C.UTF-8"), ("PS1", "$ ")]

    def run(self, *arguments: str) -> str:
        """A command of tmux."""
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=GIVE_UP).stdout

    def type(self, text: str) -> None:
        """As a person types."""
        self.run("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Keys by tmux's names."""
        self.run("send-keys", *keys)

    @property
    def screen(self) -> str:
        """What is seen."""
        return self.run("capture-pane", "-p")

    def wait_for(self, text: str) -> None:
        """Look until it is there."""
        limit = WaitLimit()
        while text not in (seen := self.screen):
            assert "ended with 1" not in seen, seen
            assert not limit.is_over, f"{text!r} did not appear in\n{seen}"
            time.sleep(0.05)

    def wait_until_gone(self, text: str) -> None:
        """Look until it is not there any more, several times in a row: what is drawn anew may be gone for a moment."""
        limit, gone = WaitLimit(), 0
        while gone < 5:
            gone = 0 if text in (seen := self.screen) else gone + 1
            assert not limit.is_over, f"{text!r} is still in\n{seen}"
            time.sleep(0.05)

    def end(self) -> None:
        """The server and all it started."""
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    """A folder with a file in it, and a shell there."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".git").mkdir()
    (folder / "note.txt").write_text("the milk is in the fridge\n")
    made = Tmux(folder, (110, 32))
    yield made
    made.end()


def test_a_conversation_survives_the_end_of_the_program(tmux: Tmux) -> None:
    start = f"{shlex.quote(sys.executable)} -m workbench"
    tmux.type(f"{start}; echo ended with $?")
    tmux.press("Enter")
    tmux.wait_for("no model configured")
    tmux.type("read note.txt")
    tmux.press("Enter")
    tmux.wait_for("the milk")
    tmux.wait_for("That is what the tools gave")
    tmux.type("/tokens")
    tmux.press("Enter")
    tmux.wait_for("latest turn")
    tmux.press("Escape")
    tmux.press("C-q")
    tmux.wait_for("ended with 0")
    tmux.run("clear-history")
    tmux.type(f"clear; {start}; echo ended with $?")
    tmux.press("Enter")
    tmux.wait_for("That is what the tools gave")
    assert "read note.txt" in tmux.screen
    tmux.press("F1")
    tmux.wait_for("type to search")
    tmux.press("C-q")
    tmux.wait_for("ended with 0")


def figures(tmux: Tmux) -> str:
    """How full the window is, as the first lines tell it; nothing where they do not."""
    found = re.search(r"[\d,]+ of 16,000 tokens", tmux.screen)
    return found[0] if found else ""


def test_a_compaction_by_hand_survives_it_too(tmux: Tmux) -> None:
    python = shlex.quote(sys.executable)
    recording = shlex.quote(str(files("workbench") / "demo" / "session.jsonl"))
    opened = f"{python} -m workbench open 'A penny short: order 1042'"
    tmux.type(f"{python} -m workbench import {recording} && {opened}; echo ended with $?")
    tmux.press("Enter")
    tmux.wait_for("Enter send")
    tmux.type("read note.txt")
    tmux.press("Enter")
    tmux.wait_for("That is what the tools gave")
    before = figures(tmux)
    tmux.press("C-g")
    tmux.wait_for("without a model")  # the figures are there, so yes is an answer
    tmux.press("y")
    tmux.wait_for("compacted: ")
    tmux.press("Escape")
    limit = WaitLimit()
    while figures(tmux) in ("", before):
        assert not limit.is_over, tmux.screen
        time.sleep(0.05)
    after = figures(tmux)
    tmux.press("C-q")
    tmux.wait_for("ended with 0")
    tmux.run("clear-history")
    tmux.type(f"clear; {python} -m workbench; echo ended with $?")
    tmux.press("Enter")
    tmux.wait_for(after)
    tmux.wait_for("That is what the tools gave")
    tmux.press("C-q")
    tmux.wait_for("ended with 0")


def test_another_agents_session_is_watched_while_it_grows(tmux: Tmux, tmp_path: Path) -> None:
    said = [
        {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "Is the oven on?"}},
        {
            "type": "assistant",
            "uuid": "a1",
            "sessionId": "s",
            "message": {"id": "m1", "role": "assistant", "model": "claude-opus-4-5", "content": "It is on now."},
        },
    ]
    question, answer = (json.dumps(each) for each in said)
    path = tmp_path / "home" / ".claude" / "projects" / "-srv-bakery" / "1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(f"{question}\n")
    tmux.type(f"{shlex.quote(sys.executable)} -m workbench watch claude; echo ended with $?")
    tmux.press("Enter")
    tmux.wait_for("Is the oven on?")
    tmux.wait_for("following")
    with path.open("a") as file:
        file.write(answer[:40])
        file.flush()
        file.write(f"{answer[40:]}\n")
    tmux.wait_for("It is on now.")
    tmux.press("C-q")
    tmux.wait_for("ended with 0")
