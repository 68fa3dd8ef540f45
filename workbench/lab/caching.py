"""How much of each request a provider's prompt cache would have held, by the published rules, and what it costs.

A provider keeps the beginning of a request for some minutes after it was last read. The next request reads from the
cache as far as both begin with the same tokens; the rest is written to it. Anthropic charges for writing, and charges
more where an agent asks to keep it for an hour, as Claude Code may. OpenAI and the others do not charge for it. OpenAI
counts in steps of 128 tokens. No provider keeps a beginning of fewer than 1,024 tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from workbench.log.events import Usage
from workbench.models.catalogue import ModelInfo

LEAST: Final = 1_024
"""The fewest tokens that a provider caches."""
MINUTES: Final = 5
"""How long a provider keeps a cache that is not read."""
HOUR: Final = 60
"""The same in minutes, where the agent asks for an hour."""
_STEPS: Final = {"openai": 128, "azure": 128, "deepseek": 64}
"""By provider: the cached part is a multiple of this many tokens."""


class CacheUse(NamedTuple):
    """How the tokens of a request divide: read from the cache, written to it, or neither."""

    read: int
    written: int
    """Written to the cache."""
    plain: int = 0
    """Neither read nor written: too short to be cached, or not marked for it."""
    hour: int = 0
    """The part of `written` that is kept for an hour."""


class CacheRules(NamedTuple):
    """The rules of one provider."""

    step: int = 1
    minutes: int = MINUTES

    def cache_use(self, size: int, same: int, idle_ms: int) -> CacheUse:
        """For a request that shares its first `same` tokens with the one before, sent `idle_ms` milliseconds later."""
        kept = same // self.step * self.step if same >= LEAST and idle_ms <= self.minutes * 60_000 else 0
        kept = min(kept, size)
        hour = size - kept if self.minutes == HOUR else 0
        return CacheUse(kept, size - kept, 0, hour) if size >= LEAST else CacheUse(0, 0, size)


def cache_rules(info: ModelInfo, minutes: int = MINUTES) -> CacheRules:
    """The rules of the provider that serves a model."""
    return CacheRules(_STEPS.get(info.provider, 1), minutes)


def minutes_kept(reports: Iterable[Usage]) -> int:
    """How many minutes an agent keeps its cache: 60 if most of what it wrote is kept for an hour, else 5."""
    written = hour = 0
    for report in reports:
        written, hour = written + report.cache_write, hour + report.cache_hour
    return HOUR if hour * 2 > written else MINUTES


def request_price(info: ModelInfo, use: CacheUse, output: int) -> float | None:
    """The cost of a request in dollars; None where no price is known."""
    spent = info.input_cost(use.plain, use.read, use.written, use.hour)
    return None if spent is None else spent + output * (info.output_price or 0.0)
