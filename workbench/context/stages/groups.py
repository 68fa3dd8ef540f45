"""Groups: the oldest iteration groups of the current turn give way; the last one never does."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def drop(cost: Sequence[int], first: int, last: int, room: int) -> int:
    """The first unit of the turn that stays, so that the units up to `last` (not counting it) cost at most `room`.

    `cost` is a running sum over units; `first` is the unit behind the turn's user message and `last` its last
    iteration group.
    """
    return min(bisect_left(cost, cost[last] - max(room, 0), first, last + 1), last) if first < last else first
