"""The items that a dialect finds in one message of a request: each can be left out or changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from workbench.log.events import text_of
from workbench.wire.values import content_of, json_text, text_in

Kind = Literal["system", "tool", "user", "assistant", "reasoning", "call", "result", "other"]
THINKING: Final = ("thinking", "redacted_thinking")
_ROLES: Final[dict[str, Kind]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "result",
    "function": "result",
}


class FoundItem(NamedTuple):
    """An item in an entry."""

    key: str
    """The key inside the entry; empty: the item is the entry itself."""
    number: int
    """The index of the element under the key; -1: the item is the whole value."""
    kind: Kind
    text: str = ""
    tool: str = ""
    call_id: str = ""
    is_error: bool = False


def role_kind(role: str) -> Kind:
    """The kind of item that a role stands for."""
    return _ROLES.get(role, "other")


def entry_text(value: Any) -> str:
    return text_of(content_of([value])) if not isinstance(value, dict) or "type" in value else text_in(value, "text")


def content_items(message: dict[str, Any], role: Kind) -> Iterator[FoundItem]:
    """The items in a message's content: its blocks, or its text."""
    content = message.get("content")
    if isinstance(content, str) and content:
        yield FoundItem("content", -1, role, content)
    for index, block in enumerate(content if isinstance(content, list) else ()):
        yield _block(index, block, role)


def _block(index: int, block: Any, role: Kind) -> FoundItem:
    kind = text_in(block, "type")
    if kind in THINKING:
        return FoundItem("content", index, "reasoning", text_in(block, "thinking"))
    if kind.endswith("tool_use"):
        arguments = json_text(block.get("input") or {})
        return FoundItem("content", index, "call", arguments, text_in(block, "name"), text_in(block, "id"))
    if kind.endswith("tool_result"):
        text, failed = text_of(content_of(block.get("content"))), block.get("is_error") is True
        return FoundItem("content", index, "result", text, call_id=text_in(block, "tool_use_id"), is_error=failed)
    return FoundItem("content", index, role, entry_text(block))
