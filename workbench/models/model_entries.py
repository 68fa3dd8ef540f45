"""The user's own `[models."name"]` entries: checked once, with errors that name the key."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, structs

from workbench.config.tables import Table, escaped_name, read_table
from workbench.models.encoders import TOKENIZERS

PER_MILLION = 1_000_000
"""Prices in the config are per million tokens, as in price lists."""

_Tokens = Annotated[int, Meta(gt=0, description="a number of tokens above 0")]
_Price = Annotated[float, Meta(ge=0, le=sys.float_info.max, description="dollars per million tokens, 0 or more")]
_Words = Annotated[frozenset[str], Meta(description='a list of words such as ["tools", "vision"]')]
_KNOWN = Meta(pattern=rf"\A({'|'.join(TOKENIZERS)})\Z", description=f"one of {', '.join(TOKENIZERS)}")


class ModelEntry(Table, frozen=True):
    """The fields of an entry; None if a field is not set."""

    window: _Tokens | None = None
    max_output: _Tokens | None = None
    input_only: Annotated[bool, Meta(description="true or false")] | None = None
    input_price: _Price | None = None
    output_price: _Price | None = None
    cached_price: _Price | None = None
    cache_write_price: _Price | None = None
    cache_hour_price: _Price | None = None
    tokenizer: Annotated[str, _KNOWN] | None = None
    capabilities: _Words | None = None
    knobs: Any = None
    """Policy knobs for this model only; the settings check them and policies are loaded with them."""
    api_base: Annotated[str, Meta(description="an address")] | None = None
    """Where the model is served; used by the gateway, not by the catalogue."""
    fallback: Any = None
    """The models to ask if this model cannot answer; the settings check it."""


def check_entries(entries: Mapping[str, Any], file: str) -> dict[str, dict[str, Any]]:
    """The fields of the entries that the catalogue uses, with prices in dollars per token."""
    return {
        name: _known(read_table(ModelEntry, entry, file, f'models."{escaped_name(name)}"'))
        for name, entry in entries.items()
    }


def _known(entry: ModelEntry) -> dict[str, Any]:
    return {
        key: value / PER_MILLION if key.endswith("_price") else value
        for key, value in structs.asdict(entry).items()
        if value is not None and key not in ("knobs", "api_base", "fallback")
    }
