"""Render: the plan as a request. Nothing is decided here: the request has exactly what the items say is sent."""

from __future__ import annotations

import json
from typing import Any

from workbench.context.fixed_slots import is_merged, slot_heading
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.context.stages.chat_form import chat_parts, chat_tool
from workbench.log.events import Content, ImagePart, OtherPart, TextPart

Message = dict[str, Any]
_DETAILS = ("low", "high")


def render_request(plan: ContextPlan) -> dict[str, Any]:
    """The request's body in OpenAI's format, which litellm translates for every provider."""
    body: dict[str, Any] = {"model": plan.model} if plan.model else {}
    body["messages"] = render_messages(plan)
    tools = render_tools(plan)
    if tools:
        body["tools"] = tools
    if plan.max_output is not None:
        body["max_tokens"] = plan.max_output
    return body


def render_tools(plan: ContextPlan) -> list[dict[str, Any]]:
    definitions = [item.text for item in plan.items.fixed if item.kind == "tool_definition" and item.in_request]
    return [tool for tool, _ in map(chat_tool, map(json.loads, filter(None, definitions))) if tool is not None]


def render_messages(plan: ContextPlan) -> list[Message]:
    made = MessageList()
    for item in plan.items.without_reasons().sent_items():
        made.add_item(item)
    return made.finish()


class MessageList:
    """The messages of a request, made item by item."""

    def __init__(self) -> None:
        self._found: list[Any] = []
        self._merged: list[str] = []
        self._unit = -1
        self._pictures: list[Message] = []
        """The pictures of the last results: they follow when all results of a reply are added."""

    def add_item(self, item: Item) -> None:
        """Add an item that is sent."""
        if item.kind == "tool_definition":
            return
        if self._pictures:
            self._show_pictures(item)
        if is_merged(item):
            self._merged.append(slot_heading(item.slot, item.name) + (item.text or ""))
            return
        role, unit = item.role, item.unit
        if role == "assistant" and unit >= 0 and unit == self._unit:
            _extend(self._found[-1], item)
        else:
            self._found.append(_message(item, self._pictures))
        self._unit = unit if role == "assistant" else -1

    def add_as_given(self, entry: Any, first: Item) -> None:
        """Add a message that needs no rendering; `first`: its first item."""
        self._show_pictures(first)
        self._found.append(entry)
        self._unit = -1

    def _show_pictures(self, next_item: Item) -> None:
        if next_item.role != "tool":
            self._found += self._pictures
            self._pictures = []

    def finish(self) -> list[Any]:
        system = [{"role": "system", "content": "\n\n".join(self._merged)}] if self._merged else []
        return system + self._found + self._pictures


def _message(item: Item, pictures: list[Message]) -> Message:
    if item.kind == "tool_call":
        return {"role": "assistant", "content": None, "tool_calls": [_call(item)]}
    content = _sent(item)
    if item.role == "tool":
        if not isinstance(content, str):
            shown = tuple(part for part in content if isinstance(part, ImagePart))
            if shown:
                pictures.append({"role": "user", "content": content_json(shown)})
                content = tuple(part for part in content if not isinstance(part, ImagePart))
        return {"role": "tool", "tool_call_id": item.call_id, "content": content_json(content)}
    message: Message = {"role": item.role, "content": content_json(content)}
    if item.name:
        message["name"] = item.name
    return message


def _extend(message: Message, item: Item) -> None:
    """Add one more item to the same assistant message: a call, or text that the reply gave in several pieces."""
    if item.kind == "tool_call":
        message.setdefault("tool_calls", []).append(_call(item))
    else:
        message["content"] = _parts(message["content"]) + _parts(content_json(_sent(item)))


def _call(item: Item) -> dict[str, Any]:
    return {"id": item.call_id, "type": "function", "function": {"name": item.tool, "arguments": item.text}}


def content_json(content: Content) -> str | list[dict[str, Any]]:
    """A content in OpenAI's format."""
    if isinstance(content, str):
        return content
    found: list[dict[str, Any]] = []
    for part in content:
        match part:
            case TextPart(text):
                found.append({"type": "text", "text": text})
            case ImagePart(url, detail):
                image = {"url": url, "detail": detail} if detail in _DETAILS else {"url": url}
                found.append({"type": "image_url", "image_url": image})
            case OtherPart(data):
                found.append(dict(data))
    return found


def _sent(item: Item) -> Content:
    """What an item sends. Providers refuse a blank text among the parts of a message, so it is left out.

    What another agent sent in its own format, and the recorded view shows so, is converted to this one.
    """
    content = item.content or ""
    if isinstance(content, str):
        return content
    parts, _ = chat_parts(content, item.role)
    return tuple(part for part in parts if not (isinstance(part, TextPart) and not part.text.strip()))


def _parts(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
