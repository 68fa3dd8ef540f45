"""Pipes, devices, sockets, folders, links and huge files wherever the program looks for files of others.

A fault: a run that does not end, that takes 300 MB more than an ordinary one, or that ends neither with success nor
with one clear line; a screen that Ctrl+Q does not end.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from hostile.measured import ALLOWED, MEGABYTE, environment, measure_fork, peak_of
from hostile.tally import Tally, complaint
from support.terminal import WORKBENCH, Terminal

HUGE = 200 * 1024**3
SCREEN = "no model configured"
"""What the full screen shows once it stands."""


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)  # the path of a socket may have 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


def _sparse(start: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.write(start)
            file.truncate(HUGE)

    return make


def _link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("a-pipe"))
    path.symlink_to("a-pipe")


KINDS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a device": _device,
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
    "a socket": _socket,
    "a folder": Path.mkdir,
    "a huge file": _sparse(b""),
    "a huge file of JSON": _sparse(b'{"role": "user", "content": "'),
    "a huge history of aider": _sparse(b"# aider chat started at 2026-11-15 21:11:06\n\n#### one  \n\n"),
    "a huge database": _sparse(b"SQLite format 3\0"),
    "a link to a pipe": _link_to_pipe,
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("/nowhere/at/all"),
    "a file of the system": lambda path: path.symlink_to("/proc/self/environ"),
}
LOOKED_AT = (
    *("project/.aider.chat.history.md", "project/x.traj.json", "project/AGENTS.md", "project/.gitignore"),
    *("project/.git", "project/.git/HEAD", "home/.claude/projects/p/1.jsonl", "home/.pi/agent/sessions/p/1.jsonl"),
    *("home/.codex/sessions/2026/11/15/rollout-1.jsonl", "home/.gemini/tmp/p/chats/session-1.json"),
    *("home/.gemini/tmp/p/.project_root", "home/.local/share/opencode/opencode.db", "home/.continue/sessions/a-b.json"),
    *("home/.local/share/opencode/opencode.db-wal", "home/.local/share/opencode/opencode.db-journal"),
    *("home/.qwen/projects/p/chats/1.jsonl", "home/.copilot/session-state/p/events.jsonl"),
    *("home/.kimi-code/sessions/a/b/agents/main/wire.jsonl", "home/.config/mini-swe-agent/x.traj.json"),
)
"""Where the program looks by itself."""
OWN = (
    *("config/config.toml", "config/approvals.toml", "config/AGENTS.md", "config/preferences.md"),
    *("config/policies/x.toml", "config/themes/x.toml", "data/workbench.db", "data/proxies/1.json", "cache/lab.db"),
)
LISTING = (["agents"], ["agents", "--json"], ["status"], ["watch", "--json"], ["sessions"], ["lab", "agents", "--json"])
STARTING = (["policies"], ["plan", "talk.json"], ["lab", "talk.json"], ["held"], ["ask", "hi", "--policy", "x"])
NAMED = (
    *(["plan"], ["requests"], ["compact"], ["lab"], ["import"], ["waste"], ["tokens"], ["watch", "--json"], ["open"]),
    *(["plan", "talk.json", "--policy"], ["compact", "talk.json", "--summary"], ["tune", "--trials", "1"]),
    *(["sessions", "recover"], ["rehearse", "--script"]),
)
"""Commands that take the file as their last word."""


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: every eighth on the full screen, the others as commands, all kinds of files in turn."""
    tally = Tally("files that are none")
    most = 0
    kinds = list(KINDS)
    chance.shuffle(kinds)
    for number in range(tries):
        kind = kinds[number % len(kinds)]
        base = folder / f"f{number}"
        if number % 8 == 0:
            place = chance.choice(LOOKED_AT)
            with tally.watching(f"the screen, {place}: {kind}"):
                most = max(most, _screen(base, place, kind))
        else:
            place, words = _command(number, chance)
            with tally.watching(f"{' '.join(words)}, {place}: {kind}"):
                most = max(most, _run(base, place, kind, words))
        shutil.rmtree(base, ignore_errors=True)
    tally.told = f"at most {max(most, 0) // MEGABYTE} MB beyond an ordinary run"
    return tally


def _command(number: int, chance: random.Random) -> tuple[str, Sequence[str]]:
    match number % 3:
        case 0:
            return chance.choice(LOOKED_AT), chance.choice(LISTING)
        case 1:
            return chance.choice(OWN), chance.choice(STARTING)
        case _:
            return "project/named", [*chance.choice(NAMED), "named"]


def _run(base: Path, place: str, kind: str, words: Sequence[str]) -> int:
    lay_out(base)
    ordinary = _ordinary(tuple(words))
    _put(base / place, kind)
    found = measure_fork(words, base / "project", environment(base))
    wrong = complaint(found.outcome)
    assert not wrong, wrong
    if place == "project/named" and not (words[0] == "tokens" and kind == "a file of the system"):
        assert found.outcome.code in (1, 2), f"it was taken for a file: {found.outcome.out[:200]}"
    beyond = found.peak - ordinary
    assert beyond < ALLOWED, f"{beyond // MEGABYTE} MB beyond an ordinary run"
    return beyond


def _screen(base: Path, place: str, kind: str) -> int:
    lay_out(base)
    ordinary = _ordinary_screen()
    _put(base / place, kind)
    beyond = screen_peak(base) - ordinary
    assert beyond < ALLOWED, f"{beyond // MEGABYTE} MB beyond an ordinary screen"
    return beyond


def screen_peak(base: Path, *words: str, shows: str = SCREEN) -> int:
    """The memory that the full screen takes until it shows something and rests; Ctrl+Q has to end it."""
    terminal = Terminal(command=("env", "-i", *_variables(base), *WORKBENCH, *words), cwd=base / "project")
    try:
        terminal.wait_for(shows)
        terminal.rest()
        peak = peak_of(terminal.process.pid)
        terminal.press("\x11")
        code = terminal.end()
    except BaseException:
        terminal.process.kill()
        terminal.process.wait()
        raise
    assert code == 0, f"exit code {code}"
    return peak


def _variables(base: Path) -> list[str]:
    shown = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    return [f"{name}={value}" for name, value in {**environment(base), **shown}.items()]


def lay_out(base: Path) -> None:
    """A home and a project with a small transcript."""
    for name in ("home", "project", "config", "data", "cache"):
        (base / name).mkdir(parents=True)
    (base / "project/talk.json").write_text(json.dumps([{"role": "user", "content": "hi"}]), encoding="utf-8")


def _put(path: Path, kind: str) -> None:
    """The file, and beside it what makes the program look there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.startswith("opencode.db-"):
        with closing(sqlite3.connect(path.with_name("opencode.db"))) as db:
            db.execute("CREATE TABLE session (id, time_created)")
    if path.name == ".project_root":
        (path.parent / "chats").mkdir()
        (path.parent / "chats/session-1.json").write_text("{}", encoding="utf-8")
    KINDS[kind](path)


@cache
def _ordinary(words: tuple[str, ...]) -> int:
    """The memory that a command takes where nothing is wrong."""
    return _in_a_folder_of_its_own(lambda base: _ordinary_run(base, words))


def _ordinary_run(base: Path, words: tuple[str, ...]) -> int:
    shutil.copy(base / "project/talk.json", base / "project/named")
    if words[0] in ("watch", "open", "rehearse"):  # these go on for as long as they are let
        words = ("plan", "named")
    return measure_fork(words, base / "project", environment(base)).peak


@cache
def _ordinary_screen() -> int:
    return _in_a_folder_of_its_own(screen_peak)


def _in_a_folder_of_its_own(do: Callable[[Path], int]) -> int:
    with TemporaryDirectory(prefix="hostile-") as base:
        lay_out(Path(base))
        return do(Path(base))
