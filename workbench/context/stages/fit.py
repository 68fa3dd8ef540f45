"""Fit: where a request is still too large, its longest tool results are cut until it fits.

It is the last resort before a turn fails. All results that are cut keep the same number of tokens. Nothing is cut where
that would not be enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.context.items import Edit
from workbench.context.stages.truncate import TruncatedText

LEAST = 100
"""The tokens that every result keeps, marker included. With less, little but the marker would be left."""


class FittedResult(NamedTuple):
    """A result that was cut so that the request fits."""

    at: int
    """The number of its cell."""
    unit: int
    cut: TruncatedText
    saved: int
    """Tokens that the request is smaller."""

    def edit(self) -> Edit:
        """The decision to cut it."""
        return Edit("fit", "truncated", self.cut.tokens + self.saved, self.cut.tokens, self.cut.why)


def common_cap(sizes: Sequence[int], excess: int) -> int | None:
    """The highest cap under which results of these sizes lose `excess` tokens; None where `LEAST` is not low enough."""
    ordered = sorted((size for size in sizes if size > LEAST), reverse=True)
    total = 0
    for count, size in enumerate(ordered, 1):
        total += size
        cap = (total - excess) // count
        if cap >= (ordered[count] if count < len(ordered) else LEAST):
            return cap
    return None


def reason(size: int, room: int, before: int, cut: TruncatedText) -> str:
    """Why a result is cut, with its numbers: the request needs `size` tokens and has `room`."""
    return f"the request has {size:,} tokens and {room:,} fit; {before:,} tokens of this result became {cut.tokens:,}"
