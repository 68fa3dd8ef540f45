"""Walks through a folder: in order, limited in depth and time, without ignored entries. Never follows links."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from workbench.agent.tools.ignore import RulesAbove, is_ignored, read_rules

Above = tuple[RulesAbove, ...]
"""The rules that apply in a folder, those of the outermost folder first."""


class FoundPath(NamedTuple):
    """An entry of a folder."""

    path: str
    """Relative to the start of the walk, with `/` between its names."""
    is_folder: bool
    is_file: bool
    """Whether it is a regular file; a link or a pipe is not."""


class OutOfTime(Exception):
    """The walk took longer than allowed."""


def walk_folder(start: str, root: str, depth: int, deadline: float) -> Iterator[FoundPath]:
    """Everything below `start`; the entries of a folder come before those of its sub-folders.

    `.gitignore` files count from `root` downwards. `deadline` is a time of the monotonic clock; after it, OutOfTime is
    raised.
    """
    yield from _walk(start, "", _rules_above(start, root), depth, deadline)


def _rules_above(start: str, root: str) -> Above:
    """The rules of the folders from the root down to the start, without the start's own."""
    below = os.path.relpath(start, root)
    if below == os.curdir or below.startswith(os.pardir):
        return ()
    above: Above = ()
    folder = root
    for name in below.split(os.sep):
        above = _seen_below(_with_own(folder, above), name)
        folder = os.path.join(folder, name)
    return above


def _with_own(folder: str, above: Above) -> Above:
    rules = read_rules(folder)
    return (*above, RulesAbove("", rules)) if rules else above


def _seen_below(above: Above, name: str) -> Above:
    """The same rules, as seen from a sub-folder."""
    return tuple(RulesAbove(f"{path}{name}/", rules) for path, rules in above)


def _walk(folder: str, prefix: str, above: Above, depth: int, deadline: float) -> Iterator[FoundPath]:
    above = _with_own(folder, above)
    folders: list[str] = []
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return  # no permission, or deleted meanwhile
    for entry in entries:
        if time.monotonic() > deadline:
            raise OutOfTime
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_ignored(entry.name, is_folder, above):
            continue
        if is_folder:
            folders.append(entry.name)
        yield FoundPath(prefix + entry.name, is_folder, entry.is_file(follow_symlinks=False))
    if depth > 1:
        for name in folders:
            yield from _walk(
                os.path.join(folder, name), f"{prefix}{name}/", _seen_below(above, name), depth - 1, deadline
            )
