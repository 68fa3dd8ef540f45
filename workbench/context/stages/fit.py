"""Fit: if a request is still too large, its longest tool results are cut until it fits.

It is the last resort before a turn fails. All cut results keep the same number of tokens. Nothing is cut if that would
not be enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.context.items import Edit
from workbench.context.stages.truncate import TruncatedText

LEAST = 100
"""The tokens that every result keeps, marker included. With less, only the marker would be left."""


class FittedResult(NamedTuple):
    """A result that was cut so that the request fits."""

    at: int
    """The number of its cell."""
    unit: int
    cut: TruncatedText
    saved: int
    """The tokens that this frees in the request."""

    def edit(self) -> Edit:
        """The edit for the cut."""
        return Edit("fit", "truncated", self.cut.tokens + self.saved, self.cut.tokens, self.cut.why)


def common_cap(sizes: Sequence[int], excess: int) -> int | None:
    """The highest cap under which results of these sizes lose `excess` tokens; None if even `LEAST` is too high."""
    ordered = sorted((size for size in sizes if size > LEAST), reverse=True)
    total = 0
    for count, size in enumerate(ordered, 1):
        total += size
        cap = (total - excess) // count
        if cap >= (ordered[count] if count < len(ordered) else LEAST):
            return cap
    return None


def fit_reason(size: int, room: int, before: int, cut: TruncatedText) -> str:
    """Why a result is cut, with its numbers: the request needs `size` tokens and has `room`."""
    return f"the request has {size:,} tokens and {room:,} fit; {before:,} tokens of this result became {cut.tokens:,}"
