"""History: the newest messages that fit the budget."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbench.config.text import counted
from workbench.context.items import Edit
from workbench.context.policy import HistoryPolicy

NO_CAP = 1 << 60


class HistoryCut(NamedTuple):
    """Units before `start` are left out, except for `opener`."""

    start: int
    opener: int = -1
    """The user message of the turn that is cut; it stays. -1: none."""
    why: str = ""
    """The reason for what is left out, with its numbers."""

    def drop(self, tokens: int) -> Edit:
        """The edit for an item of a unit before the cut."""
        return Edit("history", "dropped", tokens, 0, self.why)


def _reason(whole: int, budget: int, count: int, resident: int) -> str:
    """Why something is left out of history: too many messages, or too many tokens."""
    if count > resident and whole <= budget:
        return f"history has {count:,} messages and {resident:,} may be resident; this one is older"
    return f"history needs {whole:,} tokens and {max(budget, 0):,} are left for it; this one is too old to fit"


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
) -> HistoryCut:
    """Fill `budget` from the newest unit to the oldest with whole units.

    `cost` and `messages` are running sums over units (`cost[i]` is the cost before unit i). A turn that is kept in part
    keeps its user message, within the same budget: a request must not begin with an answer to nothing, which some
    providers refuse. `opener_of(unit)` gives that message's unit (-1: none is needed) and the first unit of the next
    turn.
    """

    def first(tokens: int, count: int, low: int) -> int:
        by_cost = bisect_left(cost, cost[end] - tokens, low, end + 1)
        by_count = bisect_left(messages, messages[end] - count, low, end + 1)
        return max(by_cost, by_count)

    why = _reason(cost[end], budget, messages[end], max_messages)
    start = min(first(budget, max_messages, 0), end)
    if start == end:
        return HistoryCut(end, why=why)
    opener, following = opener_of(start)
    if opener < 0:
        return HistoryCut(start, why=why)
    opener_cost = cost[opener + 1] - cost[opener]
    opener_count = messages[opener + 1] - messages[opener]
    start = first(budget - opener_cost, max_messages - opener_count, start)
    return HistoryCut(following, why=why) if start >= following else HistoryCut(start, opener, why)
