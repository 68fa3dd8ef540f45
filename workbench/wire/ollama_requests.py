"""Writes requests for Ollama's chat API."""

from __future__ import annotations

from typing import Any

from workbench.log.events import ImagePart, text_of
from workbench.wire.chat_requests import ChatRequest, UnchangedMessage, parts_in, picture_data, said_in
from workbench.wire.values import dict_in, list_in, parsed, text_in


def ollama_request(chat: ChatRequest) -> dict[str, Any]:
    messages = [each.value if isinstance(each, UnchangedMessage) else _message(each, chat) for each in chat.entries]
    return {"messages": messages, **({"tools": list(chat.tools)} if chat.tools else {})}


def _message(message: dict[str, Any], chat: ChatRequest) -> dict[str, Any]:
    role = text_in(message, "role")
    if role == "tool":
        tool = chat.names.get(text_in(message, "tool_call_id"), "")
        return {"role": "tool", "tool_name": tool, "content": text_of(said_in(message))}
    parts = parts_in(message)
    text = "\n".join(text_of((part,)) for part in parts if not isinstance(part, ImagePart))
    written = {"role": "system" if role == "developer" else role, "content": text}
    pictures = [picture_data(part)[1] for part in parts if isinstance(part, ImagePart)]
    calls = [_call(call) for call in list_in(message, "tool_calls")]
    return {**written, **({"images": pictures} if pictures else {}), **({"tool_calls": calls} if calls else {})}


def _call(call: Any) -> dict[str, Any]:
    function = dict_in(call, "function")
    given = parsed(function.get("arguments") or "{}")
    arguments = given if isinstance(given, dict) else {"arguments": given}
    return {"function": {"name": text_in(function, "name"), "arguments": arguments}}
