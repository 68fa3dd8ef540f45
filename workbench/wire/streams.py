"""Reads the events of a streamed answer, and joins their pieces."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import msgspec

from workbench.config.text import without_surrogates
from workbench.wire.values import json_value


def stream_events(text: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects in the events of a stream. Truncated ones are left out."""
    if text[:100].lstrip().startswith(b"["):  # Gemini without events: one list of objects
        listed = parsed_json(text)
        yield from (value for value in (listed if isinstance(listed, list) else ()) if isinstance(value, dict))
    for line in io.BytesIO(text):  # avoids a second copy of all lines
        if line.startswith(b"data:"):
            value = parsed_json(line[5:])  # None for `[DONE]` and for a truncated line
            value = parsed_json(line[5:].decode(errors="replace")) if value is None else value
            if isinstance(value, dict):
                yield value


def parsed_json(text: str | bytes) -> Any:
    """Decode JSON; None if the text is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    try:
        return json_value(text)  # accepts half a surrogate pair and what other programs write
    except (ValueError, RecursionError):
        return None


def piece_index(piece: Any) -> Any:
    """The index of the call or block that a piece belongs to, for use as a key of a dict."""
    index = piece.get("index") if isinstance(piece, dict) else None
    return index if isinstance(index, (int, float, str)) else None


def joined_pieces(texts: list[str]) -> str:
    """Join pieces to one text. A surrogate pair may be split between two of them."""
    return without_surrogates("".join(texts))
