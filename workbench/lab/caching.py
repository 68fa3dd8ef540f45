"""What a provider's prompt cache would have had of each request, by the rules that providers publish, and the price.

A provider keeps what a request begins with for some minutes after it was last read. The next request reads from there
as far as both begin with the same; all behind it is written anew. Anthropic charges for writing, and more where an
agent asks to have it kept for an hour, as Claude Code may; OpenAI and the others do not. OpenAI counts in steps of 128
tokens. A beginning of fewer than 1,024 tokens is kept by none of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from workbench.log.events import Usage
from workbench.models.catalogue import ModelInfo

LEAST: Final = 1_024
"""Tokens that a beginning has to have before it is kept."""
MINUTES: Final = 5
"""A cache that nobody reads is gone after so many."""
HOUR: Final = 60
"""As many, where the agent asks for it."""
_STEPS: Final = {"openai": 128, "azure": 128, "deepseek": 64}
"""In which steps the cached part is counted, by provider."""


class CacheUse(NamedTuple):
    """What of a request came from the cache."""

    read: int
    written: int
    """What enters it."""
    plain: int = 0
    """All else: too short for it, or not marked for it."""
    hour: int = 0
    """Of what was written, what stays for an hour."""


class CacheRules(NamedTuple):
    """The rules of one provider."""

    step: int = 1
    minutes: int = MINUTES

    def use(self, size: int, same: int, idle_ms: int) -> CacheUse:
        """Of a request that begins with `same` tokens of the one before, sent `idle_ms` milliseconds after it."""
        kept = same // self.step * self.step if same >= LEAST and idle_ms <= self.minutes * 60_000 else 0
        kept = min(kept, size)
        hour = size - kept if self.minutes == HOUR else 0
        return CacheUse(kept, size - kept, 0, hour) if size >= LEAST else CacheUse(0, 0, size)


def rules_for(info: ModelInfo, minutes: int = MINUTES) -> CacheRules:
    """The rules of whoever serves a model."""
    return CacheRules(_STEPS.get(info.provider, 1), minutes)


def minutes_kept(reports: Iterable[Usage]) -> int:
    """How long an agent has its cache kept: for an hour, where most of what it wrote is."""
    written = hour = 0
    for report in reports:
        written, hour = written + report.cache_write, hour + report.cache_hour
    return HOUR if hour * 2 > written else MINUTES


def price(info: ModelInfo, use: CacheUse, output: int) -> float | None:
    """What a request costs in dollars; None where no price is known."""
    spent = info.input_cost(use.plain, use.read, use.written, use.hour)
    return None if spent is None else spent + output * (info.output_price or 0.0)
