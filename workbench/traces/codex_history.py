"""A rollout of Codex that continues another one: what came before it, and what its user went back from.

- From 0.169 on, a user who goes back begins a new file, `rollout-TIME-THREAD_SEGMENT.jsonl`, with the thread's `id` in
    its `session_meta` again. `history_base` there names the file that it continues (`thread_id`: its segment, or the
    thread if it is the thread's first file) and the `ordinal` of the first line in it that does not count any more
    (`end_ordinal_exclusive`). Without a `history_base` the user went back to the beginning.
- A fork has a `history_base` as well, and its own `id`: it begins with the messages of the other thread.
- All of a thread's files are read up to the one that was opened. They are in the folder of their day, which is known
  from the ids: they begin with the time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from workbench.config.errors import WrongCall
from workbench.traces.companion_files import MOST, read_files
from workbench.traces.reading import Document
from workbench.wire.values import dict_in, number_in, text_in

_ROLLOUT = "rollout-"
_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([^_]+)(?:_(.+))?\.jsonl")
_NAMES = 100_000
"""Files of a folder that are checked."""
_HOURS = 12, -12
"""Codex names files by the local time."""


class CodexThread(NamedTuple):
    """The lines of a thread, from its beginning."""

    lines: list[Any]
    went_back: dict[int, int]
    """By the index of a file's first line: the index of the first line that its user went back from."""
    first_file: str
    """The path of the thread's first file."""
    broken: tuple[WrongCall, ...] = ()


class _File(NamedTuple):
    path: str
    lines: Sequence[Any]

    @property
    def header(self) -> dict[str, Any]:
        return dict_in(self.lines[0] if self.lines else None, "payload")

    @property
    def segment(self) -> str:
        return _named(os.path.basename(self.path))[1]

    @property
    def base(self) -> tuple[str, int]:
        base = dict_in(self.header, "history_base")
        return text_in(base, "thread_id"), number_in(base, "end_ordinal_exclusive")


def thread_history(path: str, lines: list[Any]) -> CodexThread:
    """The lines of a rollout's thread since its beginning; only its own lines if it continues nothing."""
    own = _File(path, lines)
    thread, segment = _named(os.path.basename(path))
    if not own.base[0] and segment == thread:
        return CodexThread(lines, {}, path)
    known = {segment: own}
    broken = _read_before(own, known)
    in_order = sorted(known.values(), key=lambda each: os.path.basename(each.path))
    mine = [each for each in in_order if _named(os.path.basename(each.path))[0] == thread]
    found = _inherited(mine[0], known)
    places: dict[str, tuple[int, int]] = {}
    """The range of the lines of each segment."""
    went_back: dict[int, int] = {}
    for each in mine:
        base, end = each.base
        if each is not mine[0]:
            went_back[len(found)] = _place(found, places.get(base, (0, 0)), end)
        places[each.segment] = (len(found), len(found) + len(each.lines))
        found = [*found, *each.lines]
    return CodexThread(found, went_back, mine[0].path, tuple(broken))


def _place(lines: Sequence[Any], file: tuple[int, int], end: int) -> int:
    """The index of the first line of a file that does not count any more."""
    first, last = file
    return next((at for at in range(first, last) if number_in(lines[at], "ordinal") >= end), last)


def _inherited(first: _File, known: dict[str, _File]) -> list[Any]:
    """What a fork begins with: the lines of other threads that count."""
    base, end = first.base
    before = known.get(base)
    if before is None or before is first:
        return []
    rest = {segment: each for segment, each in known.items() if segment != first.segment}
    return [*_inherited(before, rest), *(value for value in before.lines if number_in(value, "ordinal") < end)]


def _read_before(own: _File, known: dict[str, _File]) -> list[WrongCall]:
    """Read the files that it continues, and those that its user went back from; returns what is wrong with them."""
    folder, name = os.path.split(own.path)
    thread, broken = _named(name)[0], []
    same = [each for each in _rollouts(folder or ".") if each < name and thread and _named(each)[0] == thread]
    waiting = [os.path.join(folder, each) for each in same[-MOST:]]
    while True:
        documents, wrong = read_files(waiting, _sessions(folder))
        broken.extend(wrong)
        known.update((file.segment, file) for file in map(_file, documents))
        bases = (each.base[0] for each in known.values())
        missing = next((base for base in bases if base and base not in known), "")
        if not missing:
            return broken
        found = _find(missing, folder)
        waiting = [found] if found else []
        known[missing] = _File(found, ())
        if not found:
            broken.append(WrongCall(f"{own.path}: goes on from the rollout {missing}, which is not beside it"))


def _file(document: Document) -> _File:
    return _File(document.name, [value for _, value in document.values])


def _find(segment: str, folder: str) -> str:
    for place in (folder or ".", *_days(segment, folder)):
        for name in _rollouts(place):
            if _named(name)[1] == segment:
                return os.path.join(place, name)
    return ""


def _days(segment: str, folder: str) -> Iterator[str]:
    """The folders of the days on which a file may have begun, after the one of its thread's last file."""
    try:
        began = datetime.fromtimestamp(int(segment.replace("-", "")[:12], 16) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return
    for hours in _HOURS:
        yield os.path.join(_sessions(folder), (began + timedelta(hours=hours)).strftime("%Y/%m/%d"))


def _sessions(folder: str) -> str:
    """The folder with those of the years, which have those of the months, which have those of the days."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(folder or "."))))


def _rollouts(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(islice((each.name for each in entries if each.name.startswith(_ROLLOUT)), _NAMES))
    except OSError:
        return []


def _named(name: str) -> tuple[str, str]:
    """The thread and the segment in a file's name; they are the same in a thread's first file."""
    found = _NAME.fullmatch(name)
    return (found[1], found[2] or found[1]) if found else ("", "")
