"""Walks through a folder: in order, limited in depth and time, without folders like `.git` and the entries of
`.gitignore` files. Never follows links."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workbench.config.foreign_files import open_regular_file

SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_MOST_BYTES = 64 * 1024
"""How much of a `.gitignore` is read."""
_MOST_STARS = 3
"""Limit for one name of a pattern; the whole pattern may have twice as many. With more, one hostile line could take
forever to match."""


class IgnoreRule(NamedTuple):
    """One line of a `.gitignore`."""

    path: re.Pattern[str]
    """Matches the paths that the line names, relative to the file's own folder; a folder's path ends with a `/`."""
    ignored: bool


class RulesAbove(NamedTuple):
    """A `.gitignore`, seen from the folder that is being read."""

    path: str
    """The path from the `.gitignore`'s folder to the folder being read: empty, or with a `/` after each name."""
    rules: tuple[IgnoreRule, ...]
    """The last line first, because it decides."""


def read_rules(folder: str) -> tuple[IgnoreRule, ...]:
    """The rules of a folder's own `.gitignore`, the last line first; none if the file does not exist."""
    path = os.path.join(folder, ".gitignore")
    if not os.path.lexists(path):
        return ()
    try:
        with open_regular_file(path, follow_links=False) as file:  # git does not follow a link here either
            data = file.read(_MOST_BYTES)
    except OSError:
        return ()
    if len(data) == _MOST_BYTES:  # the last line may be cut
        data = data[: data.rfind(b"\n") + 1]
    text = data.decode("utf-8-sig", errors="replace")
    return tuple(rule for line in reversed(text.splitlines()) if (rule := _rule(line)) is not None)


def _rule(line: str) -> IgnoreRule | None:
    from pathspec.patterns.gitignore import GitIgnorePatternError  # imported late: many folders have no such file
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    stars = [len(re.findall(r"\*+", name)) for name in line.split("/")]
    if max(stars) > _MOST_STARS or sum(stars) > 2 * _MOST_STARS:
        return None
    # pathspec lets a trailing `*` or `**` match whole paths below. `?*` matches just one name.
    line = re.sub(r"(?<=/)\*\*(/?)\s*$", r"**/?*\1", line)
    line = re.sub(r"(^!?|/)\*+(/?)\s*$", r"\1?*\2", line)
    try:
        pattern = GitIgnoreSpecPattern(line)
    except (GitIgnorePatternError, re.error):  # `a\`, `[z-a]`: git skips them as well
        return None
    if pattern.regex is None or pattern.include is None:  # a comment, or an empty line
        return None
    return IgnoreRule(pattern.regex, pattern.include)


def is_ignored(name: str, is_folder: bool, above: Sequence[RulesAbove]) -> bool:
    """Whether an entry of the folder that is being read is left out; the nearest `.gitignore` decides."""
    if name in SKIPPED:
        return True
    for above_path, rules in reversed(above):
        path = f"{above_path}{name}/" if is_folder else above_path + name
        for rule in rules:
            # Match the whole path: entries of an ignored folder are never checked.
            if rule.path.fullmatch(path):
                return rule.ignored
    return False


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
    if below == os.curdir or below.split(os.sep, 1)[0] == os.pardir:
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
