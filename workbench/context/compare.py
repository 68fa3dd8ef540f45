"""Compares two plans: what the second one frees, and from which token on the provider has to read it again.

Providers cache the beginning of a prompt. So the first token that differs counts: everything after it is processed
again, however little of it changed. What is only added at the end costs nothing of the cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Literal, NamedTuple

from workbench.context.fixed_slots import is_merged
from workbench.context.items import Item
from workbench.context.measure import framing_tokens
from workbench.context.plan import ContextPlan
from workbench.models.framing import REPLY_PRIMING

Mark = Literal["added", "changed", "gone"]


class Effect(NamedTuple):
    """The effect on the request of going from one plan to another."""

    freed: int
    """Tokens that the second request has less; below 0 if it has more."""
    first_changed: int | None
    """Tokens before the first difference, to the precision of whole items; None: the requests are the same. Tokens in
    no item count as the beginning of the request: they are the system prompt and the tools."""
    rewritten: int
    """Tokens of the first request from there on: the part of the prompt cache that is lost."""


class ItemTotal(NamedTuple):
    """Some items and their tokens."""

    items: int = 0
    tokens: int = 0

    def plus(self, tokens: int) -> ItemTotal:
        """With one more item."""
        return ItemTotal(self.items + 1, self.tokens + tokens)


class RequestChanges(NamedTuple):
    """The differences between two requests, item by item."""

    marks: Mapping[str, Mark]
    """By the item's id; unchanged items have none."""
    added: ItemTotal
    changed: ItemTotal
    """Its tokens are the difference: below 0 if the changed items got smaller."""
    gone: ItemTotal
    effect: Effect
    outside_items: int = 0
    """How many more tokens were reported than the items account for. Below 0: fewer, for example because an earlier
    turn's thinking is no longer sent. 0 if one of the two requests has no report."""


def plan_effect(before: ContextPlan, after: ContextPlan) -> Effect:
    """What the second plan does to the request of the first."""
    return _effect(before, after, _same_tokens(before, after, _in_request(before), _in_request(after)))


def _effect(before: ContextPlan, after: ContextPlan, found: int | None) -> Effect:
    """`found`: the tokens of the common beginning; None if nothing differs."""
    freed = before.totals.tokens - after.totals.tokens
    if found is None:
        return Effect(freed, None, 0)
    same = min(found, before.totals.tokens, after.totals.tokens)
    ahead = max(0, min(before.unattributed, after.unattributed))
    return Effect(freed, ahead + same, max(0, before.totals.tokens - REPLY_PRIMING - same))


def same_tokens(before: ContextPlan, after: ContextPlan) -> int:
    """The tokens of the common beginning of both requests."""
    found = _same_tokens(before, after, _in_request(before), _in_request(after))
    least = min(before.totals.tokens, after.totals.tokens) - REPLY_PRIMING
    return least if found is None else min(found, least)


def request_changes(before: ContextPlan, after: ContextPlan) -> RequestChanges:
    """Which items the second request adds, changes or lacks."""
    earlier, later = list(_in_request(before)), list(_in_request(after))
    old = {item.id: item for item in earlier}
    marks: dict[str, Mark] = {}
    added = changed = gone = ItemTotal()
    for item in later:
        was = old.pop(item.id, None)
        if was is None:
            marks[item.id] = "added"
            added = added.plus(item.tokens)
        elif _on_the_wire(was) != _on_the_wire(item):
            marks[item.id] = "changed"
            changed = changed.plus(item.tokens - was.tokens)
    for item in old.values():
        marks[item.id] = "gone"
        gone = gone.plus(item.tokens)
    reported = before.reported is not None and after.reported is not None
    outside = after.unattributed - before.unattributed if reported else 0
    effect = _effect(before, after, _same_tokens(before, after, earlier, later))
    return RequestChanges(marks, added, changed, gone, effect, outside)


def _in_request(plan: ContextPlan) -> Iterator[Item]:
    """The items that are sent; why they are sent so makes no difference to the request."""
    return plan.items.without_reasons().sent_items()


def _same_tokens(before: ContextPlan, after: ContextPlan, earlier: Iterable[Item], later: Iterable[Item]) -> int | None:
    """The tokens of the common beginning of their items; None if nothing differs."""
    tokens = 0
    for old, new in zip_longest(_framed(earlier, before.framing), _framed(later, after.framing)):
        if old is None or new is None:
            return min(before.totals.tokens, after.totals.tokens) - REPLY_PRIMING
        (was, _), (item, around) = old, new
        if _on_the_wire(was) != _on_the_wire(item):
            return tokens + _same_part(was, item)
        tokens += item.tokens + around
    return None


def _framed(items: Iterable[Item], times: float) -> Iterator[tuple[Item, int]]:
    """The items of a request, each with its framing, without headings and authors, which are small."""
    last: Item | None = None
    for item in items:
        if item.kind == "tool_definition":
            begins = False
        elif is_merged(item):
            begins = last is None
        else:
            continues = last is not None and item.role == last.role == "assistant" and item.unit == last.unit >= 0
            begins = not continues
        yield item, framing_tokens(item.kind, begins, 0, times)
        last = item


def _on_the_wire(item: Item) -> tuple[object, ...]:
    """The parts of an item that go over the wire."""
    return (
        item.role,
        item.kind,
        item.tool,
        item.call_id,
        item.name,
        item.content if item.content is not None else item.text,
    )


def _same_part(was: Item, item: Item) -> int:
    """For two items that differ: the tokens of their common beginning, in proportion to its length."""
    old, new = was.text or "", item.text or ""
    if was.role != item.role or not old or not new:
        return 0
    return item.tokens * same_start(old, new) // len(new)


def same_start(one: str, other: str) -> int:
    """The length of the common beginning of two texts. By bisection, because a text may have a million characters."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
