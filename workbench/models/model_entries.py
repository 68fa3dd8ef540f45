"""The user's own `[models."name"]` entries: checked once, with errors that name the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.config.errors import WrongCall
from workbench.models.encoders import TOKENIZERS

PER_MILLION = 1_000_000
"""Prices stand in the config per million tokens, as price lists give them."""

PRICES = ("input_price", "output_price", "cached_price", "cache_write_price")

KNOBS = "knobs"
"""Policy knobs for this model alone; the settings check them and policies are loaded with them."""

API_BASE = "api_base"
"""Where the model is served; it concerns the gateway, not the catalogue."""

FALLBACK = "fallback"
"""Whom to ask where this model cannot answer; the settings check it."""

_NOT_OURS = (KNOBS, API_BASE, FALLBACK)

KEYS = ("window", "max_output", "input_only", *PRICES, "tokenizer", "capabilities")


def check_entries(entries: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The entries with their values checked and prices turned into dollars per token."""
    return {name: _check_entry(name, entry) for name, entry in entries.items()}


def _check_entry(name: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise WrongCall(f'[models."{name}"]: expected a table with the keys {", ".join(KEYS)}')
    if not isinstance(entry.get(API_BASE, ""), str):
        raise WrongCall(f'[models."{name}"] {API_BASE} = {entry[API_BASE]!r}: expected an address')
    return {key: _check_value(name, key, value) for key, value in entry.items() if key not in _NOT_OURS}


def _check_value(name: str, key: str, value: Any) -> Any:
    """One value as the catalogue keeps it, or an error that names it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if key in ("window", "max_output"):
        if isinstance(value, int) and is_number and value > 0:
            return value
        expected = "a number of tokens above 0"
    elif key in PRICES:
        if is_number and 0 <= value < float("inf"):
            return value / PER_MILLION
        expected = "dollars per million tokens, 0 or more"
    elif key == "input_only":
        if isinstance(value, bool):
            return value
        expected = "true or false"
    elif key == "tokenizer":
        if value in TOKENIZERS:
            return value
        expected = f"one of {', '.join(TOKENIZERS)}"
    elif key == "capabilities":
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return frozenset(value)
        expected = 'a list of words such as ["tools", "vision"]'
    else:
        raise WrongCall(f'[models."{name}"] {key}: unknown key, expected one of {", ".join((*KEYS, *_NOT_OURS))}')
    raise WrongCall(f'[models."{name}"] {key} = {value!r}: expected {expected}')
