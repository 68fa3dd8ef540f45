"""A mark for the provider's cache on one value, and texts in the shape of the value that they replace."""

from __future__ import annotations

from typing import Any, Final

from workbench.wire.values import list_in

MARK: Final = "cache_control"
"""The key under which an object has a mark for the cache."""
COPILOT_MARK: Final = "copilot_cache_control"
"""The same on messages that go to GitHub's own service."""


def mark_in(value: Any) -> Any:
    """The last mark on a value or inside it; None if it has none."""
    inside = value if isinstance(value, list) else list_in(value, "content")
    found = next(filter(None, map(mark_in, reversed(inside))), None)
    own = value.get(MARK) if isinstance(value, dict) else None
    return own if isinstance(own, dict) else found


def shaped_like(value: Any, text: str) -> Any:
    """A text in the shape of the result that it replaces: a list stays a list, with one text part."""
    if isinstance(value, list):
        first = next((part for part in value if isinstance(part, dict) and isinstance(part.get("text"), str)), None)
        mark = mark_in(value)
        kept = {key: each for key, each in (first or {"type": "text"}).items() if key != MARK}
        return [{**kept, "text": text, **({MARK: mark} if mark else {})}]
    if isinstance(value, dict):
        key = "content_items" if "content_items" in value and "content" not in value else "content"
        return {**value, key: shaped_like(value.get(key), text)}
    return text
