"""What a compaction does to the provider's prompt cache.

A provider caches the beginning of a request that it has seen before, and charges less to read it again. A compaction
changes the request where its range began: what comes before stays cached, what follows is written again.
"""

from __future__ import annotations

from workbench.compaction.values import CacheEffect, CompactionPreview
from workbench.context import compare
from workbench.context.plan import ContextPlan
from workbench.models.catalogue import ModelInfo


def cache_effect(before: ContextPlan, after: ContextPlan, info: ModelInfo, once: float | None) -> CacheEffect:
    """What changes from one plan to the other; `once` is the summary's cost in dollars, None if unknown.

    With the prices `read` of a cached token and `write` of one that enters the cache, and the figures

        first_changed = tokens up to the first difference, from `context/compare`
        rewritten     = tokens of `after` - first_changed, both with tokens in no item
        saved         = tokens of `before` - tokens of `after`, at most the size of `before`

    the next request costs `rewritten * (write - read)` more than if it were cached, once, and every request costs
    `saved * read` less. So

        payback = (rewritten * (write - read) + once) / (saved * read)   requests

    If the price of cached tokens is unknown, all are paid in full each time: `read` and `write` are the plain price,
    and only the summary has to be paid back. What costs nothing is paid back at once.
    """
    found = compare.plan_effect(before, after)
    saved, whole = min(found.freed, before.size), after.size
    first = whole if found.first_changed is None else found.first_changed
    read, write = _prices(info)
    payback = None
    if read is not None and write is not None and once is not None and saved > 0:
        payback = _payback((whole - first) * (write - read) + once, saved * read)
    return CacheEffect(first, found.rewritten, saved, payback, read)


def _prices(info: ModelInfo) -> tuple[float | None, float | None]:
    """The price of a token that was sent before, and of one that was not."""
    plain = info.input_price
    if plain is None or info.cached_price is None:
        return plain, plain
    return info.cached_price, plain if info.cache_write_price is None else info.cache_write_price


def _payback(spent: float, gained: float) -> float | None:
    if gained == 0:
        return 0.0 if spent <= 0 else None
    return max(0.0, spent / gained)


def paid_back(preview: CompactionPreview) -> str:
    """When a compaction has paid for itself, in words; in tokens if prices are unknown."""
    cache, saved = preview.cache, preview.cache.saved_per_request
    if saved <= 0:
        return "never: it frees nothing"
    asked = preview.request_tokens / saved
    in_tokens = f"in tokens, {_after(asked)}" if asked else "at once"
    if cache.price is None or preview.cost is None:
        return f"no price is known; {in_tokens}"
    if cache.price == 0:
        return "never: what it saves is free" if cache.payback is None else f"the model costs nothing; {in_tokens}"
    return _after(cache.payback) if cache.payback else "at once: it costs nothing"


def _after(requests: float) -> str:
    return "after less than one request" if requests < 1 else f"after {requests:.1f} requests"
