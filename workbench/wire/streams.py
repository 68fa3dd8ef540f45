"""The events of a streamed answer, and what puts their pieces together."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from workbench.log.codec import clean


def stream_events(text: bytes) -> Iterator[dict[str, Any]]:
    """The objects in the events of a stream; those that are cut off are left out."""
    if text[:100].lstrip().startswith(b"["):  # Gemini without events: a list of what would have been in them
        listed = loaded(text)
        yield from (value for value in (listed if isinstance(listed, list) else ()) if isinstance(value, dict))
    for line in io.BytesIO(text):  # which holds no second copy of all lines
        if line.startswith(b"data:"):
            value = loaded(line[5:])  # `[DONE]`, or cut off, is none
            value = loaded(line[5:].decode(errors="replace")) if value is None else value
            if isinstance(value, dict):
                yield value


def loaded(text: str | bytes) -> Any:
    """A JSON value; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    try:
        # takes half a surrogate pair, and what others write; a number that none of ours can be stays as it is written
        return json.loads(text, parse_float=_finite, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _finite(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits


def piece_index(piece: Any) -> Any:
    """Which call or block a piece belongs to, as a key of a dict."""
    index = piece.get("index") if isinstance(piece, dict) else None
    return index if isinstance(index, (int, float, str)) else None


def joined(texts: list[str]) -> str:
    """Pieces as one text: a pair of surrogates may come in two of them."""
    return clean("".join(texts))
