"""The difference between an item's original text and what is sent."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from workbench.context.compare import same_start

CONTEXT = 3
"""Lines of context around a change."""
MOST = 400
"""Up to this many lines on either side are compared line by line; the time grows with their product."""
SNAP = 200
"""If a cut is at most this many characters after the start of a line, the whole line is shown."""


class DiffPiece(NamedTuple):
    """A part of both texts, or of one."""

    kind: Literal["same", "removed", "added"]
    text: str


def text_difference(original: str, sent: str) -> list[DiffPiece]:
    """The original as pieces that were kept, removed and added.

    The common beginning and end are found first. For a truncation that is enough, however long the text is. Only a
    short rest is compared line by line.
    """
    start = _line_start(original, same_start(original, sent))
    end = same_start(original[start:][::-1], sent[start:][::-1])
    end = _line_end(original, end)
    old, new = original[start : len(original) - end], sent[start : len(sent) - end]
    pieces = [
        DiffPiece("same", original[:start]),
        *_middle(old, new),
        DiffPiece("same", original[len(original) - end :]),
    ]
    return [piece for piece in pieces if piece.text]


def _line_start(text: str, at: int) -> int:
    line = text.rfind("\n", 0, at) + 1
    return line if at < len(text) and at - line <= SNAP else at


def _line_end(text: str, size: int) -> int:
    """The length of the common end, from the start of a line on if one is near."""
    at = len(text) - size
    line = text.find("\n", at) + 1
    return len(text) - line if line and line - at <= SNAP and at else size


def _middle(old: str, new: str) -> Iterator[DiffPiece]:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if len(before) > MOST or len(after) > MOST:
        yield from _long(before, after)
        return
    for tag, low, high, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield DiffPiece("same", "".join(before[low:high]))
        else:
            yield DiffPiece("removed", "".join(before[low:high]))
            yield DiffPiece("added", "".join(after[first:last]))


def _long(before: list[str], after: list[str]) -> Iterator[DiffPiece]:
    """Texts too long to compare: find an added header, and show the rest as one piece."""
    header = 1 if len(after) > 1 and before[:1] == after[1:2] else 0
    kept = 0
    while header and kept < min(len(before), len(after) - header) and before[kept] == after[header + kept]:
        kept += 1
    if header:
        yield DiffPiece("added", "".join(after[:header]))
        yield DiffPiece("same", "".join(before[:kept]))
    yield DiffPiece("removed", "".join(before[kept:]))
    yield DiffPiece("added", "".join(after[header + kept :]))
