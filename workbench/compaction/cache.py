"""What a compaction does to the provider's prompt cache.

A provider keeps the beginning of a request that it has seen before, and charges less for reading it again. A compaction
changes the request where its range began: what stands before stays cached, what follows is written anew.
"""

from __future__ import annotations

from itertools import takewhile

from workbench.compaction.values import CacheEffect
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.models.catalogue import ModelInfo


def effect(before: ContextPlan, after: ContextPlan, info: ModelInfo, once: float | None) -> CacheEffect:
    """What changes from one plan to the other; `once` is what the summary costs in dollars, None where unknown.

    With the prices `read` of a cached token, `write` of one that enters the cache and the figures

        first_changed = tokens of `after` up to the first row that `before` does not have in that place
        rewritten     = tokens of `after` - first_changed
        saved         = tokens of `before` - tokens of `after`

    the next request costs `rewritten * (write - read)` more than if it were cached, once, and every request costs
    `saved * read` less. So

        payback = (rewritten * (write - read) + once) / (saved * read)   requests

    Where nobody knows a price for cached tokens, all are paid in full each time: `read` and `write` are the plain
    price, and only the summary has to be paid back. What costs nothing is paid back at once.
    """
    first = shared_tokens(before, after)
    rewritten = after.totals.tokens - first
    saved = before.totals.tokens - after.totals.tokens
    return CacheEffect(first, rewritten, saved, _payback(rewritten, saved, info, once))


def _payback(rewritten: int, saved: int, info: ModelInfo, once: float | None) -> float | None:
    plain = info.input_price
    if plain is None or once is None or saved <= 0:
        return None
    read, write = plain, plain
    if info.cached_price is not None:
        read = info.cached_price
        write = plain if info.cache_write_price is None else info.cache_write_price
    spent, gained = rewritten * (write - read) + once, saved * read
    if gained == 0:
        return 0.0 if spent <= 0 else None
    return max(0.0, spent / gained)


def shared_tokens(before: ContextPlan, after: ContextPlan) -> int:
    """Tokens at the beginning that both requests have in common; framing is taken in proportion to the rows."""
    new = list(after.rows.in_request())
    same = list(
        takewhile(lambda pair: _sent(pair[0]) == _sent(pair[1]), zip(before.rows.in_request(), new, strict=False))
    )
    if not new:
        return 0
    framing = after.totals.framing * len(same) // len(new)
    return sum(row.tokens for _, row in same) + framing


def _sent(row: Item) -> tuple[object, ...]:
    """What of a row stands in the request."""
    return row.role, row.kind, row.tool, row.text, row.call_id, row.name
