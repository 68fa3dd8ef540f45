"""Groups: the oldest iteration groups of the current turn are dropped, but never the last one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from workbench.context.items import Edit


class GroupCut(NamedTuple):
    """The turn's units before `first` are left out, except for its user message."""

    first: int
    why: str = ""
    """The reason, with its numbers; empty if nothing is left out."""

    def drop(self, tokens: int) -> Edit:
        """The edit for an item of a dropped group."""
        return Edit("groups", "dropped", tokens, 0, self.why)


def cut_groups(cost: Sequence[int], first: int, last: int, room: int) -> GroupCut:
    """Keep as many of the turn's latest units as cost at most `room` up to `last` (not counting it).

    `cost` is a running sum over units; `first` is the unit after the turn's user message and `last` its last iteration
    group.
    """
    need = cost[last] - cost[first]
    if need <= room or first >= last:
        return GroupCut(first)
    start = min(bisect_left(cost, cost[last] - max(room, 0), first, last + 1), last)
    why = f"the turn's earlier iterations need {need:,} tokens and {max(room, 0):,} are left; the oldest give way"
    return GroupCut(start, why)
