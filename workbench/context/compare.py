"""Two plans side by side: what the second frees, and from which token on the provider has to read it anew.

Providers keep a prompt's beginning in a cache. So what counts is the first token that differs: all behind it is
written again, however little of it changed. What is only added at the end costs nothing of the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Literal, NamedTuple

from workbench.context.fixed_slots import is_merged
from workbench.context.items import Item
from workbench.context.measure import framing
from workbench.context.plan import ContextPlan
from workbench.models.framing import REPLY_PRIMING

Mark = Literal["added", "changed", "gone"]


class Effect(NamedTuple):
    """What going from one plan to another does to the request."""

    freed: int
    """Tokens that the second request has less; below 0 where it has more."""
    first_changed: int | None
    """Tokens before the first difference, as near as whole rows tell; None: the requests are the same. What is in no
    row counts as the beginning of the request: it is the system prompt and the tools."""
    rewritten: int
    """Tokens of the first request from there on: what a prompt cache has of it and cannot use any more."""


class ItemTotal(NamedTuple):
    """Some items and their tokens."""

    items: int = 0
    tokens: int = 0

    def plus(self, tokens: int) -> ItemTotal:
        """One item more."""
        return ItemTotal(self.items + 1, self.tokens + tokens)


class RequestChanges(NamedTuple):
    """What is different between two requests, item by item."""

    marks: Mapping[str, Mark]
    """By the item's id; what is the same has none."""
    added: ItemTotal
    changed: ItemTotal
    """Its tokens are the difference: below 0 where what was changed got smaller."""
    gone: ItemTotal
    effect: Effect
    beside: int = 0
    """How many more tokens were reported than the rows account for. Below 0: fewer, for example because an earlier
    turn's thinking is no longer sent. 0 where one of the two requests has no report."""


def effect(before: ContextPlan, after: ContextPlan) -> Effect:
    """What the second plan does to the request of the first."""
    freed = before.totals.tokens - after.totals.tokens
    found = _same_tokens(before, after)
    if found is None:
        return Effect(freed, None, 0)
    same = min(found, before.totals.tokens, after.totals.tokens)
    ahead = max(0, min(before.unattributed, after.unattributed))
    return Effect(freed, ahead + same, max(0, before.totals.tokens - REPLY_PRIMING - same))


def same_tokens(before: ContextPlan, after: ContextPlan) -> int:
    """The tokens that both requests begin with."""
    found, least = _same_tokens(before, after), min(before.totals.tokens, after.totals.tokens) - REPLY_PRIMING
    return least if found is None else min(found, least)


def changes(before: ContextPlan, after: ContextPlan) -> RequestChanges:
    """Which items the second request has, has changed, or has no longer."""
    old = {row.id: row for row in before.rows.in_request()}
    marks: dict[str, Mark] = {}
    added = changed = gone = ItemTotal()
    for row in after.rows.in_request():
        was = old.pop(row.id, None)
        if was is None:
            marks[row.id] = "added"
            added = added.plus(row.tokens)
        elif _said(was) != _said(row):
            marks[row.id] = "changed"
            changed = changed.plus(row.tokens - was.tokens)
    for row in old.values():
        marks[row.id] = "gone"
        gone = gone.plus(row.tokens)
    reported = before.reported is not None and after.reported is not None
    beside = after.unattributed - before.unattributed if reported else 0
    return RequestChanges(marks, added, changed, gone, effect(before, after), beside)


def _same_tokens(before: ContextPlan, after: ContextPlan) -> int | None:
    """The tokens that both requests begin with; None where there is no difference."""
    tokens = 0
    for old, new in zip_longest(_framed(before), _framed(after)):
        if old is None or new is None:
            return min(before.totals.tokens, after.totals.tokens) - REPLY_PRIMING
        (was, _), (row, around) = old, new
        if _said(was) != _said(row):
            return tokens + _same_part(was, row)
        tokens += row.tokens + around
    return None


def _framed(plan: ContextPlan) -> Iterator[tuple[Item, int]]:
    """The rows of a request, each with the framing it brings; headings and authors are left out, which is little."""
    last: Item | None = None
    for row in plan.rows.in_request():
        if row.kind == "tool_definition":
            begins = False
        elif is_merged(row):
            begins = last is None
        else:
            goes_on = last is not None and row.role == last.role == "assistant" and row.unit == last.unit >= 0
            begins = not goes_on
        yield row, framing(row.kind, begins, 0, plan.framing)
        last = row


def _said(row: Item) -> tuple[object, ...]:
    """What of a row goes over the wire."""
    return row.role, row.kind, row.tool, row.call_id, row.name, row.content if row.content is not None else row.text


def _same_part(was: Item, row: Item) -> int:
    """Of two rows that differ: the tokens of the text both begin with, in proportion to its length."""
    old, new = was.text or "", row.text or ""
    if was.role != row.role or not old or not new:
        return 0
    return row.tokens * same_start(old, new) // len(new)


def same_start(one: str, other: str) -> int:
    """How many characters two texts begin with in common. By halves, because a text may have a million of them."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
