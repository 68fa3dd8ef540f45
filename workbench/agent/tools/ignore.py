"""What a look at a project leaves out: folders nobody means, and what `.gitignore` names (its common forms)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from workbench.agent.tools.globs import matches

SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
_MOST_BYTES = 64 * 1024


class Rule(NamedTuple):
    """One line of a `.gitignore`."""

    parts: tuple[str, ...]
    """Matched against the path as seen from the file's own folder."""
    negated: bool
    folders_only: bool


Level = tuple[str, tuple[Rule, ...]]
"""A folder and the rules that its own `.gitignore` has."""


def read_rules(folder: str) -> tuple[Rule, ...]:
    """The rules of a folder's own `.gitignore`; none where there is no such file."""
    path = os.path.join(folder, ".gitignore")
    if not os.path.isfile(path):
        return ()
    try:
        with open(path, "rb") as file:
            text = file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ()
    return tuple(rule for line in text.splitlines() if (rule := _rule(line)) is not None)


def _rule(line: str) -> Rule | None:
    line = line.strip()
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = re.sub(r"\\(.)", r"[\1]", line.removeprefix("!"))
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    parts = tuple(line.lstrip("/").split("/")) if "/" in line else ("**", line)
    return Rule(parts, negated, folders_only)


def is_ignored(path: str, is_folder: bool, levels: Sequence[Level]) -> bool:
    """Whether the rules of the folders above leave a path out; the last rule that speaks of it decides."""
    if os.path.basename(path) in SKIPPED:
        return True
    ignored = False
    for folder, rules in levels:
        if not rules:
            continue
        names = os.path.relpath(path, folder).split(os.sep)
        for rule in rules:
            if (is_folder or not rule.folders_only) and matches(rule.parts, names):
                ignored = not rule.negated
    return ignored
