"""Patterns for paths: `*` and `?` within a name, `**` across folders. Matching needs at most linearly many tries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

_MOST_ALTERNATIVES = 64


def glob_matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Whether the parts of a path match the parts of a pattern. A `**` at the end matches at least one name."""
    parts = [*pattern, "*"] if pattern and pattern[-1] == "**" else list(pattern)
    reached = _past_stars(parts, {0})
    for name in path:
        onward = set()
        for at in reached:
            if at == len(parts):
                continue
            if parts[at] == "**":
                onward.add(at)
            elif fnmatchcase(name, parts[at]):
                onward.add(at + 1)
        reached = _past_stars(parts, onward)
    return len(parts) in reached


def _past_stars(parts: Sequence[str], reached: set[int]) -> set[int]:
    """The positions reached, including those where a `**` matches nothing."""
    found = set()
    for at in reached:
        found.add(at)
        while at < len(parts) and parts[at] == "**":
            at += 1
            found.add(at)
    return found


class Glob:
    """A pattern as a model writes it: `*.py` matches names anywhere, `src/**/*.py` matches paths; `{a,b}` is either."""

    def __init__(self, text: str) -> None:
        self._patterns = [_parts(each) for each in _expanded(text)]

    def __call__(self, path: str) -> bool:
        """Whether a path with `/` between its names matches."""
        names = path.split("/")
        return any(glob_matches(pattern, names) for pattern in self._patterns)


def _parts(text: str) -> list[str]:
    text = text.removeprefix("./")
    return text.strip("/").split("/") if "/" in text else ["**", text]


def _expanded(text: str) -> list[str]:
    """The alternatives of `{a,b}`. If there would be too many, the braces are taken literally."""
    found, count = [text], 1
    for group in re.findall(r"\{[^{}]*,[^{}]*\}", text):
        options = group[1:-1].split(",")
        count *= len(options)
        if count > _MOST_ALTERNATIVES:
            return [text]
        found = [each.replace(group, option, 1) for each in found for option in options]
    return found
