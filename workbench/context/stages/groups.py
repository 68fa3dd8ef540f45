"""Groups: the oldest iteration groups of the current turn are dropped, but never the last one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from msgspec import Struct

from workbench.context.items import Edit


class GroupCut(Struct, frozen=True):
    """The turn's units before `first` are left out, except for its user message."""

    first: int
    need: int = 0
    """The tokens of all that may be left out; 0: nothing is."""
    room: int = 0
    """The tokens that are left for it."""

    @property
    def why(self) -> str:
        """The reason, with its numbers; empty if nothing is left out."""
        if not self.need:
            return ""
        needed, left = f"{self.need:,} tokens", f"{self.room:,} are left"
        return f"the turn's earlier iterations need {needed} and {left}; the oldest give way"

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
    room = max(room, 0)
    return GroupCut(min(bisect_left(cost, cost[last] - room, first, last + 1), last), need, room)
