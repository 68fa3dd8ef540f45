"""The known models: window, prices and capabilities of each, and how we know them.

Read from the table in litellm's wheel, without importing litellm; for models that are not in it, derived from the name.
The user's own entries override both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from workbench.config.values import replace
from workbench.models.families import STAND_IN, tokenizer_for
from workbench.models.model_table import (
    LOCAL_PROVIDERS,
    Entry,
    chat_models,
    provider_in_table,
    table_entries,
    without_prefixes,
)
from workbench.models.windows import (
    GUESS,
    has_outdated_entry,
    is_input_only,
    ollama_window,
    output_by_name,
    window_by_name,
)

WindowSource = Literal["built-in", "catalogue", "fallback", "config", "guess", "server", "provider", "agent", "option"]

REHEARSAL = "rehearsal"
"""The rehearsal model that comes with the program."""
REHEARSAL_TOKENIZER = "cl100k_base"
"""It loads in less than half the time of o200k."""
LOCAL = "local"
"""The small model that the program runs itself; `local:PATH` is another GGUF file."""
LOCAL_WINDOW = 4_096
LOCAL_SHARE = 0.9
"""o200k, which is used instead of its tokenizer, finds about a tenth too few tokens in English and code."""

_CAPABILITIES = {"function_calling": "tools", "parallel_function_calling": "parallel_tools"}
"""litellm's words for capabilities, where ours are plainer."""

_PRICE_KEYS = {
    "input_price": "input_cost_per_token",
    "output_price": "output_cost_per_token",
    "cached_price": "cache_read_input_token_cost",
    "cache_write_price": "cache_creation_input_token_cost",
    "cache_hour_price": "cache_creation_input_token_cost_above_1hr",
}

_LONG = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


class LongPrices(NamedTuple):
    """The prices of a longer request, for all of its tokens."""

    above: int
    """In tokens."""
    prices: tuple[tuple[str, float], ...]
    """By field of `ModelInfo`, for the prices that differ."""


class ModelInfo(Struct, frozen=True):
    """What is known about a model."""

    name: str
    window: int
    window_source: WindowSource
    """built-in: our own; catalogue: litellm's table; fallback: by the name; config: the user's entry; guess: unknown.
    While a session runs, server: a server on this machine reported it; provider: an error of the provider named it, or
    another agent reports it; agent: derived from the agent's requests and compactions; option: the user named it for
    this session."""
    input_only: bool
    """The window is for input only; then the output reserve is not subtracted from it."""
    max_output: int | None
    input_price: float | None
    """US dollars per token, like the other prices; None if unknown."""
    output_price: float | None
    cached_price: float | None
    cache_write_price: float | None
    cache_hour_price: float | None
    """For tokens that are written to the cache for an hour instead of minutes."""
    capabilities: frozenset[str]
    """tools, vision, reasoning, prompt_caching, ..."""
    provider: str
    """The provider's name in litellm; empty if unknown."""
    tokenizer: str
    tokenizer_exact: bool
    tokenizer_note: str
    long_prices: tuple[LongPrices, ...] = ()
    """The smallest limit first."""

    def for_request(self, tokens: int) -> ModelInfo:
        """The same model with the prices for a request of this many tokens."""
        if not self.long_prices or tokens <= self.long_prices[0].above:
            return self
        found = [each.prices for each in self.long_prices if tokens > each.above]
        return replace(self, **dict(found[-1]))  # type: ignore[arg-type]  # only prices

    def input_cost(self, plain: int, cached: int, written: int, hour: int = 0) -> float | None:
        """The cost of input tokens by their use of the cache; None if unknown. `hour`: those written for an hour."""
        if self.input_price is None:
            return None
        read = self.input_price if self.cached_price is None else self.cached_price
        write = self.input_price if self.cache_write_price is None else self.cache_write_price
        long = write if self.cache_hour_price is None else self.cache_hour_price
        return plain * self.input_price + cached * read + (written - hour) * write + hour * long

    @property
    def counts_with(self) -> str:
        """The tokenizer's name and the note about it, for people."""
        named = self.tokenizer_note.startswith(self.tokenizer)
        return self.tokenizer_note if named else f"{self.tokenizer}: {self.tokenizer_note}"

    @property
    def served_by(self) -> str:
        """The provider, for people."""
        return "this program" if is_built_in(self.name) else self.provider or "unknown"


class Catalogue:
    """All models, including the user's own."""

    def __init__(
        self, user_models: Mapping[str, Mapping[str, Any]] = MappingProxyType({}), file: str = "config.toml"
    ) -> None:
        """`file`: where the user's models are from. Raises WrongCall for an entry that cannot be used."""
        self._own: dict[str, dict[str, Any]] = {}
        if user_models:
            from workbench.models.model_entries import check_entries  # late: few users have entries of their own

            self._own = check_entries(user_models, file)
        self._own_by_lower = {name.lower(): name for name in self._own}
        self._found: dict[str, ModelInfo] = {}
        self._providers: dict[str, str] = {}

    def find_model(self, name: str) -> ModelInfo:
        """What is known about a model; for an unknown model, a guess that is marked as one."""
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._with_own(_built_in(name) or _look_up(name))
        return found

    def provider_of(self, name: str) -> str:
        """The provider of a model, which is found in a tenth of the time that all of `find_model` takes."""
        provider = self._providers.get(name)
        if provider is None:
            provider = self._providers[name] = provider_in_table(name, next(table_entries(name), {}))
        return provider

    def names(self) -> list[str]:
        """The chat models that are known by name."""
        return sorted(chat_models() | self._own.keys())

    def close_matches(self, name: str) -> list[str]:
        """Known names similar to this one, for a user who mistyped it."""
        from difflib import get_close_matches  # late: few names are mistyped

        wanted = name.lower()
        names = self.names()
        inside = [known for known in names if wanted in known.lower()] if len(wanted) > 2 else []
        by_lower = {known.lower(): known for known in names}
        alike = [by_lower[close] for close in get_close_matches(wanted, by_lower, n=5)]
        return list(dict.fromkeys([*alike, *sorted(inside, key=len)]))[:5]

    def _with_own(self, info: ModelInfo) -> ModelInfo:
        """Apply the user's entry, found by the full name first, then without provider prefixes."""
        for candidate in without_prefixes(info.name):
            if own_name := self._own_by_lower.get(candidate.lower()):
                own = dict(self._own[own_name])
                break
        else:
            return info
        if not _PRICE_KEYS.keys().isdisjoint(own):
            own["long_prices"] = ()
            own.setdefault("cache_hour_price", None)
        if "window" in own:
            own["window_source"] = "config"
        if "tokenizer" in own and own["tokenizer"] != info.tokenizer:
            own["tokenizer_exact"] = own["tokenizer"] != "rough"
            own["tokenizer_note"] = f"{own['tokenizer']}, as the [models] entry says"
        return replace(info, **own)


def _look_up(name: str) -> ModelInfo:
    """What the table and the name say about a model."""
    entries = table_entries(name)
    entry: Entry = next(entries, {})
    # Some entries have prices but no window; then the same model under another name may have one.
    sized = next((found for found in chain([entry], entries) if _number(found, "max_input_tokens")), None)
    max_output = _number(entry, "max_output_tokens") or (_number(sized, "max_output_tokens") if sized else None)
    max_output = max_output or output_by_name(name)
    window, source = _window(name, sized)
    tokenizer, exact, note = tokenizer_for(name)
    provider = provider_in_table(name, entry)
    return ModelInfo(
        name=name,
        window=window,
        window_source=source,
        input_only=is_input_only(name, window, max_output),
        max_output=max_output,
        **{field: _price(entry, key, provider) for field, key in _PRICE_KEYS.items()},
        capabilities=_capabilities(entry),
        provider=provider,
        tokenizer=tokenizer,
        tokenizer_exact=exact,
        tokenizer_note=note,
        long_prices=_long_prices(entry, provider),
    )


def _long_prices(entry: Entry, provider: str) -> tuple[LongPrices, ...]:
    found = []
    for above in sorted(int(named[1]) for named in map(_LONG.fullmatch, entry) if named):
        asked = ((field, _price(entry, f"{key}_above_{above}k_tokens", provider)) for field, key in _PRICE_KEYS.items())
        found.append(LongPrices(above * 1000, tuple((field, price) for field, price in asked if price is not None)))
    return tuple(found)


def _window(name: str, sized: Entry | None) -> tuple[int, WindowSource]:
    known = ollama_window(name) is not None or has_outdated_entry(name)
    outdated = sized is not None and sized.get("mode") == "completion" and known
    if sized is not None and not outdated:
        return int(sized["max_input_tokens"]), "catalogue"
    by_name = window_by_name(name)
    return (by_name, "fallback") if by_name is not None else (GUESS, "guess")


def _number(entry: Entry, key: str) -> int | None:
    """A limit; 0 and anything that is not a number mean that it is unknown."""
    value = entry.get(key)
    return int(value) if isinstance(value, int | float) and value > 0 else None


def _price(entry: Entry, key: str, provider: str) -> float | None:
    """A price per token. In the table 0 may mean unknown; for local providers it is correct."""
    if provider in LOCAL_PROVIDERS:
        return 0.0
    value = entry.get(key)
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _capabilities(entry: Entry) -> frozenset[str]:
    named = (
        key.removeprefix("supports_") for key, value in entry.items() if key.startswith("supports_") and value is True
    )
    return frozenset(_CAPABILITIES.get(word, word) for word in named)


def _built_in(name: str) -> ModelInfo | None:
    """The models that come with the program; they cost nothing."""
    if name.partition("/")[0] == REHEARSAL:
        window, can, tokenizer = GUESS, frozenset({"tools", "parallel_tools"}), REHEARSAL_TOKENIZER
        note = f"{tokenizer}, as the rehearsal model counts"
    elif is_local(name):
        window, can, tokenizer = int(LOCAL_WINDOW * LOCAL_SHARE), frozenset[str](), STAND_IN
        note = f"{tokenizer} is used instead; a window of {LOCAL_WINDOW:,} is taken for {LOCAL_SHARE:.0%} of that"
    else:
        return None
    return ModelInfo(
        name=name,
        window=window,
        window_source="built-in",
        input_only=False,
        max_output=None,
        input_price=0.0,
        output_price=0.0,
        cached_price=0.0,
        cache_write_price=0.0,
        cache_hour_price=0.0,
        capabilities=can,
        provider="openai",
        tokenizer=tokenizer,
        tokenizer_exact=tokenizer == REHEARSAL_TOKENIZER,
        tokenizer_note=note,
    )


def is_local(name: str) -> bool:
    """Whether a name means a model that the program runs itself."""
    return name == LOCAL or name.startswith(f"{LOCAL}:")


def is_built_in(name: str) -> bool:
    """Whether a name means a model that comes with the program: no address, no key, no price."""
    return name.partition("/")[0] == REHEARSAL or is_local(name)


def price_texts(info: ModelInfo) -> tuple[str, str]:
    """The dollars for a million tokens, in and out; a dash if unknown."""
    given = (info.input_price, info.output_price)
    first, second = ("–" if price is None else f"{price * 1_000_000:,.2f}" for price in given)
    return first, second
