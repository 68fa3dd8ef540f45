"""History: the newest messages that fit the budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from workbench.config.text import counted
from workbench.context.items import Edit
from workbench.context.policy import HistoryPolicy

NO_CAP = 1 << 60
NEAR = 16
"""How many units a cut mostly moves from one request to the next, at most."""


class HistoryCut(Struct, frozen=True):
    """Units before `start` are left out, except for `opener`."""

    start: int
    opener: int = -1
    """The user message of the turn that is cut; it stays. -1: none."""
    need: int = 0
    """The tokens of all history, and how many of them there is room for."""
    budget: int = 0
    messages: int = 0
    """The messages of all history, and how many may be resident."""
    resident: int = 0

    @property
    def why(self) -> str:
        """The reason for what is left out, with its numbers."""
        if self.messages > self.resident and self.need <= self.budget:
            return f"history has {self.messages:,} messages and {self.resident:,} may be resident; this one is older"
        room = max(self.budget, 0)
        return f"history needs {self.need:,} tokens and {room:,} are left for it; this one is too old to fit"

    def drop(self, tokens: int) -> Edit:
        """The edit for an item of a unit before the cut."""
        return Edit("history", "dropped", tokens, 0, self.why)


WHOLE_HISTORY: Final = HistoryCut(0)


def history_notice(count: int) -> str:
    """The note to the model that something is missing."""
    return f"[conversation truncated — {count} older message{'s' * (count != 1)} omitted]"


def notice_reason(count: int) -> str:
    """Why there is a notice."""
    return f"{counted(count, 'message')} of history {'is' if count == 1 else 'are'} left out"


def resident_limit(policy: HistoryPolicy, limit: int, known: bool) -> int:
    """How many messages of history may be kept: two per 200 tokens of input limit, between 100 and 2,000."""
    if policy.resident_auto:
        return min(max(limit // 200 * 2, 100), 2_000) if known else 1_000
    return policy.resident_messages or NO_CAP


def cut_history(
    cost: Sequence[int],
    messages: Sequence[int],
    end: int,
    budget: int,
    max_messages: int,
    opener_of: Callable[[int], tuple[int, int]],
    near: int = 0,
) -> HistoryCut:
    """Fill `budget` from the newest unit to the oldest with whole units.

    `cost` and `messages` are running sums over units (`cost[i]` is the cost before unit i). A turn that is kept in part
    keeps its user message, within the same budget: a request must not begin with an answer to nothing, which some
    providers refuse. `opener_of(unit)` gives that message's unit (-1: none is needed) and the first unit of the next
    turn. `near` is any unit; one near the cut saves time.
    """
    need, count = cost[end], messages[end]
    tokens_out, messages_out = need - budget, count - max_messages  # what has to be left out, at least
    start = _first_from(cost, tokens_out, near, end)
    if messages[start] < messages_out:
        start = _first_from(messages, messages_out, start, end)
    opener = -1
    if start < end:
        opener, following = opener_of(start)
        if opener >= 0:
            behind = opener + 1
            tokens_out += cost[behind] - cost[opener]
            if cost[start] < tokens_out:
                start = _first_from(cost, tokens_out, start, end)
            if messages_out > 0:
                messages_out += messages[behind] - messages[opener]
                if messages[start] < messages_out:
                    start = _first_from(messages, messages_out, start, end)
            if start >= following:
                opener, start = -1, following
    return HistoryCut(start, opener, need, budget, count, max_messages)


def _first_from(sums: Sequence[int], least: int, near: int, end: int) -> int:
    """The first unit up to `end` before which the sum is at least `least`, or else `end`."""
    if near >= end:
        return bisect_left(sums, least, 0, end)
    if sums[near] >= least:
        return near if near and sums[near - 1] < least else bisect_left(sums, least, 0, near)
    low, high = near + 1, near + NEAR
    return bisect_left(sums, least, low, high if high < end and sums[high] >= least else end)
