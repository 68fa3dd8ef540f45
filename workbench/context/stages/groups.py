"""Groups: the oldest iteration groups of the current turn give way; the last one never does."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from workbench.context.items import Edit


def reason(need: int, room: int) -> str:
    """Why iteration groups are left out."""
    return f"the turn's earlier iterations need {need:,} tokens and {max(room, 0):,} are left; the oldest give way"


def leave_out(tokens: int, why: str) -> Edit:
    """Leave out an item of a group that gives way."""
    return Edit("groups", "dropped", tokens, 0, why)


def drop(cost: Sequence[int], first: int, last: int, room: int) -> int:
    """The first unit of the turn that stays, so that the units up to `last` (not counting it) cost at most `room`.

    `cost` is a running sum over units; `first` is the unit behind the turn's user message and `last` its last
    iteration group.
    """
    return min(bisect_left(cost, cost[last] - max(room, 0), first, last + 1), last) if first < last else first
