"""What a look at a project leaves out: folders nobody means, and what its `.gitignore` files name."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from workbench.config.foreign_files import open_regular_file

SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_MOST_BYTES = 64 * 1024
_MOST_STARS = 3
"""In one name of a pattern, and twice as many in all: with more of them, one hostile line could take for ever."""


class IgnoreRule(NamedTuple):
    """One line of a `.gitignore`."""

    path: re.Pattern[str]
    """Of all that it names, seen from the file's own folder; a folder's path has a `/` behind it."""
    ignored: bool


class RulesAbove(NamedTuple):
    """A `.gitignore`, seen from the folder that is looked at."""

    way: str
    """From the file's own folder to that one: empty, or with a `/` behind each name."""
    rules: tuple[IgnoreRule, ...]
    """The last line first: it decides."""


def read_rules(folder: str) -> tuple[IgnoreRule, ...]:
    """The rules of a folder's own `.gitignore`, the last line first; none where there is no such file."""
    path = os.path.join(folder, ".gitignore")
    if not os.path.lexists(path):
        return ()
    try:
        with open_regular_file(path, follow_links=False) as file:  # git follows no link here either
            text = file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ()
    return tuple(rule for line in reversed(text.splitlines()) if (rule := _rule(line)) is not None)


def _rule(line: str) -> IgnoreRule | None:
    from pathspec.patterns.gitignore import GitIgnorePatternError  # late: many folders have no such file
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    stars = [len(re.findall(r"\*+", name)) for name in line.split("/")]
    if max(stars) > _MOST_STARS or sum(stars) > 2 * _MOST_STARS:
        return None
    # What stands for every name at the end, pathspec shortens to a pattern for paths below as well.
    line = re.sub(r"(?<=/)\*\*(/?)\s*$", r"**/?*\1", line)
    line = re.sub(r"(^!?|/)\*+(/?)\s*$", r"\1?*\2", line)
    try:
        pattern = GitIgnoreSpecPattern(line)
    except (GitIgnorePatternError, re.error):  # `a\`, `[z-a]`: git passes over them as well
        return None
    if pattern.regex is None or pattern.include is None:  # a comment, or nothing
        return None
    return IgnoreRule(pattern.regex, pattern.include)


def is_ignored(name: str, is_folder: bool, above: Sequence[RulesAbove]) -> bool:
    """Whether something in the folder that is looked at is left out; the `.gitignore` nearest to it decides."""
    if name in SKIPPED:
        return True
    for way, rules in reversed(above):
        path = f"{way}{name}/" if is_folder else way + name
        for rule in rules:
            # The whole path: what lies in an ignored folder is never asked for.
            if rule.path.fullmatch(path):
                return rule.ignored
    return False
