"""How many lines a change adds and removes."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

MOST_COMPARED = 40_000
"""Pairs of lines up to which two texts are compared line by line; a larger change counts as a replacement."""

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_UNIFIED = re.compile(r"^\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_BLOCK = re.compile(
    r"^[<-]{5,9} SEARCH\b[^\n]*\n(?:(?::start_line:[^\n]*\n)*-{5,9}\n)?(.*?)^={5,9}\n(.*?)^[>+]{5,9} REPLACE",
    re.MULTILINE | re.DOTALL,
)


def changed_lines(old: str, new: str) -> tuple[int, int]:
    """Lines added and removed when one text replaces another."""
    before, after = old.splitlines(), new.splitlines()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    before, after = before[start:], after[start:]
    while before and after and before[-1] == after[-1]:
        before.pop()
        after.pop()
    same = 0
    if len(before) * len(after) <= MOST_COMPARED:
        matched = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        same = sum(block.size for block in matched)
    return len(after) - same, len(before) - same


def patch_changes(patch: str) -> tuple[list[str], int, int]:
    """The files of a patch and its lines added and removed; Codex's format, a unified diff, or blocks to replace."""
    blocks = _BLOCK.findall(patch)
    if blocks:
        counted = [changed_lines(old, new) for old, new in blocks]
        return [], sum(added for added, _ in counted), sum(removed for _, removed in counted)
    paths = list(dict.fromkeys([*_PATCHED.findall(patch), *_UNIFIED.findall(patch)]))
    lines = patch.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return paths, added, removed
