"""Whether two messages say the same: what a provider answered, and how a program repeats it in its next request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_NOT_REPEATED: Final = frozenset({"annotations", "caller", "citations", "index", "logprobs", "status"})
"""Keys of an answer that programs leave out when they repeat it."""


def same_message(one: Any, other: Any) -> bool:
    """Whether two messages have the same author, texts, calls and results, whatever empty fields they have."""
    return bool(one == other) or _meaning(one) == _meaning(other)


def _meaning(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        # The id of a call says which one it is; that of a message, or of an item with a `call_id`, says nothing.
        own = ("id",) if "role" in value or "call_id" in value else ()
        kept = {name: each for name, each in value.items() if name not in _NOT_REPEATED and name not in own}
        if kept.get("type") == "message":  # in Responses, a message may leave its type out
            del kept["type"]
        found = {name: _meaning(each, name) for name, each in kept.items()}
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
