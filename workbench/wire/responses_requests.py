"""Writes requests for OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.log.events import ImagePart, OtherPart, Part, TextPart, text_of
from workbench.wire.chat_requests import ChatRequest, UnchangedMessage, function_in, said_in
from workbench.wire.values import dict_in, list_in, text_in


def responses_request(chat: ChatRequest) -> dict[str, Any]:
    """The instructions, the input and the tools."""
    prompt, entries = chat.prompt()
    items: list[Any] = []
    for entry in entries:
        items += [entry.value] if isinstance(entry, UnchangedMessage) else _items(entry)
    tools = [{"type": "function", **_function(function_in(tool))} for tool in chat.tools]
    return {**({"instructions": prompt} if prompt else {}), "input": items, **({"tools": tools} if tools else {})}


def _items(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    role, content = text_in(message, "role"), said_in(message)
    if role == "tool":
        given = content if isinstance(content, str) else text_of(content)
        yield {"type": "function_call_output", "call_id": text_in(message, "tool_call_id"), "output": given}
        return
    if content:
        written = content if isinstance(content, str) else [_part(part, role) for part in content]
        yield {"role": role, "content": written}
    for call in list_in(message, "tool_calls"):
        function = dict_in(call, "function")
        yield {
            "type": "function_call",
            "call_id": text_in(call, "id"),
            "name": text_in(function, "name"),
            "arguments": text_in(function, "arguments"),
        }


def _part(part: Part, role: str) -> dict[str, Any]:
    match part:
        case TextPart(text):
            return {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        case ImagePart(url, detail):
            return {"type": "input_image", "image_url": url, "detail": detail}
        case OtherPart():
            return {"type": "input_text", "text": text_of((part,))}


def _function(function: dict[str, Any]) -> dict[str, Any]:
    """A function's definition. The API wants to know whether its schema is strict."""
    return {"strict": False, **function}
