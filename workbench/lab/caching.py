"""What a provider's prompt cache would have had of each request, by the rules that providers publish, and the price.

A provider keeps what a request begins with for some minutes after it was last read. The next request reads from there
as far as both begin with the same; all behind it is written anew. Anthropic charges for writing, OpenAI and the others
do not; OpenAI counts in steps of 128 tokens. A beginning of fewer than 1,024 tokens is kept by none of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from workbench.models.catalogue import ModelInfo

LEAST: Final = 1_024
"""Tokens that a beginning has to have before it is kept."""
MINUTES: Final = 5
"""A cache that nobody reads is gone after so many."""
_STEPS: Final = {"openai": 128, "azure": 128, "deepseek": 64}
"""In which steps the cached part is counted, by provider."""


class CacheUse(NamedTuple):
    """What of a request came from the cache."""

    read: int
    written: int
    """What enters it."""
    plain: int = 0
    """All else: too short for it, or not marked for it."""


class CacheRules(NamedTuple):
    """The rules of one provider."""

    step: int = 1

    def use(self, size: int, same: int, idle_ms: int) -> CacheUse:
        """Of a request that begins with `same` tokens of the one before, sent `idle_ms` milliseconds after it."""
        kept = same // self.step * self.step if same >= LEAST and idle_ms <= MINUTES * 60_000 else 0
        kept = min(kept, size)
        return CacheUse(kept, size - kept) if size >= LEAST else CacheUse(0, 0, size)


def rules_for(info: ModelInfo) -> CacheRules:
    """The rules of whoever serves a model."""
    return CacheRules(_STEPS.get(info.provider, 1))


def price(info: ModelInfo, use: CacheUse, output: int) -> float | None:
    """What a request costs in dollars; None where no price is known."""
    if info.input_price is None:
        return None
    plain = info.input_price
    read = plain if info.cached_price is None else info.cached_price
    write = plain if info.cached_price is None or info.cache_write_price is None else info.cache_write_price
    return use.read * read + use.written * write + use.plain * plain + output * (info.output_price or 0.0)
