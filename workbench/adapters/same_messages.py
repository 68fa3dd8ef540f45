"""Whether two messages say the same: what a provider answered, and how a program repeats it in its next request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_BY_THE_WAY: Final = frozenset({"annotations", "caller", "citations", "index", "logprobs", "status"})
"""Keys of an answer that programs leave out when they repeat it."""


def same_message(one: Any, other: Any) -> bool:
    """Whether two messages have the same author, texts, calls and results, whatever empty fields they have."""
    return bool(one == other) or _meaning(one) == _meaning(other)


def _meaning(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        # A call is known by its id; a whole message or an item with a `call_id` has its id for the provider alone.
        own = ("id",) if "role" in value or "call_id" in value else ()
        left = {name: each for name, each in value.items() if name not in _BY_THE_WAY and name not in own}
        if left.get("type") == "message":  # of an item, which needs no type if it is a message
            del left["type"]
        found = {name: _meaning(each, name) for name, each in left.items()}
        return {name: each for name, each in found.items() if each not in (None, "", [], {})}
    if isinstance(value, list | tuple):
        if (
            key == "content"
            and len(value) == 1
            and isinstance(value[0], Mapping)
            and isinstance(value[0].get("text"), str)
        ):
            return value[0]["text"]
        return [_meaning(each) for each in value]
    return _parsed(value) if key == "arguments" and isinstance(value, str) else value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
