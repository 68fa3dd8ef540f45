"""Files that are watched while they grow, shrink, are replaced, vanish, or become a pipe, a link, a folder or huge.

A fault: a look that raises or hangs, that shows something else than the file holds, or that does not see that a file
is whole again.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from hostile.foreign_files import KINDS
from hostile.tally import Tally
from workbench.log.events import UserMessage
from workbench.log.store import Store
from workbench.session.following import GONE, UNREADABLE, Follower, follow_file
from workbench.sources.source import Source, read_source


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: files, each changed a dozen times."""
    tally = Tally("files that change while they are watched")
    changes = 0
    for number in range(tries):
        path = folder / f"w{number}" / "1.jsonl"
        path.parent.mkdir()
        watched = _Watched(path, chance)
        for _ in range(12):
            change = chance.choice(CHANGES)
            changes += 1
            with tally.watching(f"file {number}, {change.__name__}"):
                change(watched)
        with tally.watching(f"file {number}, whole again"):
            _replaced(watched)
        shutil.rmtree(path.parent)
    tally.told = f"{changes:,} changes"
    return tally


class _Watched:
    """A file, what it should say, and who follows it."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path = path
        self.chance = chance
        self.said: list[str] = []
        self._clock = 0.0
        self._follower: Follower = follow_file(str(path), clock=lambda: self._clock)
        self._shown: list[str] | None = None

    def write(self, said: list[str]) -> None:
        """Put a whole file in place, as another one or into the same."""
        self.clear(keep=self.chance.random() < 0.5)
        self.said = said
        self.path.write_bytes(b"".join(map(_line, said)))
        self._touch()

    def clear(self, *, keep: bool = False) -> None:
        """Take away whatever is there; `keep`: not if it is a file."""
        if self.path.is_dir() and not self.path.is_symlink():
            self.path.rmdir()
        elif os.path.lexists(self.path) and not (keep and self.path.is_file() and not self.path.is_symlink()):
            self.path.unlink()
        self.path.with_name("a-pipe").unlink(missing_ok=True)

    def _touch(self) -> None:
        """Two changes within one tick of the disk's clock look the same."""
        os.utime(self.path, ns=(0, self.chance.randrange(-(10**18), 10**19)))

    def look(self) -> tuple[str, list[str] | None]:
        """The sign, and what is shown now."""
        self._clock += 1.0
        found = self._follower.read_if_changed(lambda: read_source(str(self.path), _no_store, growing=True))
        if found.read is not None:
            self._shown = _said(found.read)
        return found.sign, self._shown

    def expect_whole(self) -> None:
        """What is shown is what the file says."""
        sign, shown = self.look()
        assert shown == self.said, f"{shown} is shown, {self.said} is in the file ({sign})"

    def expect_sign(self, *signs: str) -> None:
        """What was shown stays, and the sign says why."""
        before = self._shown
        sign, shown = self.look()
        assert sign in signs, sign
        assert shown == before


def _no_store() -> Store:
    raise AssertionError("no session was meant")


def _line(text: str) -> bytes:
    asked = {"role": "user", "content": text}
    names = {"sessionId": "s", "cwd": "/srv/bakery", "uuid": text}
    return json.dumps({"type": "user", **names, "message": asked}).encode() + b"\n"


def _said(source: Source) -> list[str]:
    return [str(event.body.content) for event in source.events if isinstance(event.body, UserMessage)]


def _grown(watched: _Watched) -> None:
    watched.write([*watched.said, f"more {watched.chance.random()}"])
    watched.expect_whole()


def _half_a_line(watched: _Watched) -> None:
    _replaced(watched)
    with watched.path.open("ab") as file:
        file.write(_line("not whole yet")[: watched.chance.randrange(1, 30)])
    watched.expect_whole()


def _shrunk(watched: _Watched) -> None:
    _replaced(watched)
    watched.write(watched.said[:1])
    watched.expect_whole()


def _replaced(watched: _Watched) -> None:
    watched.write([f"{number} {watched.chance.random()}" for number in range(watched.chance.randrange(1, 20))])
    watched.expect_whole()


def _emptied(watched: _Watched) -> None:
    _replaced(watched)
    watched.path.write_bytes(b"")
    watched.expect_sign(UNREADABLE)
    watched.said = []


def _gone(watched: _Watched) -> None:
    watched.clear()
    watched.expect_sign(GONE)
    watched.said = []


def _another_kind(watched: _Watched) -> None:
    watched.clear()
    KINDS[watched.chance.choice(list(KINDS))](watched.path)
    watched.expect_sign(GONE, UNREADABLE)
    watched.said = []


CHANGES: tuple[Callable[[_Watched], None], ...] = (
    *(_grown, _half_a_line, _shrunk, _replaced, _emptied, _gone, _another_kind, _another_kind),
)
