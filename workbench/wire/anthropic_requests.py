"""Writes requests for Anthropic's Messages API."""

from __future__ import annotations

from typing import Any

from workbench.log.events import ImagePart, Part, TextPart, text_of
from workbench.wire.chat_requests import ChatRequest, UnchangedMessage, function_in, parts_in, picture_data, said_in
from workbench.wire.values import dict_in, list_in, parsed, text_in

Block = dict[str, Any]


def anthropic_request(chat: ChatRequest) -> dict[str, Any]:
    """The system prompt, the messages and the tools. Later system messages become the user's."""
    prompt, entries = chat.prompt()
    messages: list[dict[str, Any]] = []
    for entry in entries:
        _append(messages, entry.value if isinstance(entry, UnchangedMessage) else _message(entry))
    tools = [_tool(function_in(tool)) for tool in chat.tools]
    return {**({"system": prompt} if prompt else {}), "messages": messages, **({"tools": tools} if tools else {})}


def _append(messages: list[dict[str, Any]], message: dict[str, Any]) -> None:
    """Add a message. Results of one reply must be together: they join the user message before them."""
    last = messages[-1] if messages else {}
    if not (_has_result(message) and _has_result(last)):
        messages.append(message)
        return
    blocks = [*list_in(last, "content"), *list_in(message, "content")]
    results = [block for block in blocks if _is_result(block)]
    messages[-1] = {**last, "content": results + [block for block in blocks if not _is_result(block)]}


def _is_result(block: Any) -> bool:
    return text_in(block, "type") == "tool_result"


def _has_result(message: dict[str, Any]) -> bool:
    return any(map(_is_result, list_in(message, "content")))


def _message(message: dict[str, Any]) -> dict[str, Any]:
    role = text_in(message, "role")
    if role == "tool":
        content = said_in(message)
        given = content if isinstance(content, str) else _blocks(content)
        result = {"type": "tool_result", "tool_use_id": text_in(message, "tool_call_id"), "content": given}
        return {"role": "user", "content": [result]}
    if role == "assistant":
        calls = [_call(call) for call in list_in(message, "tool_calls")]
        text = message.get("content")
        if not calls and isinstance(text, str):
            return {"role": "assistant", "content": text}
        return {"role": "assistant", "content": [*_blocks(parts_in(message)), *calls]}
    content = said_in(message)
    return {"role": "user", "content": content if isinstance(content, str) else _blocks(content)}


def _call(call: Any) -> Block:
    function = dict_in(call, "function")
    given = parsed(function.get("arguments") or "{}")
    arguments = given if isinstance(given, dict) else {"arguments": given}
    return {"type": "tool_use", "id": text_in(call, "id"), "name": text_in(function, "name"), "input": arguments}


def _blocks(parts: tuple[Part, ...]) -> list[Block]:
    return [_block(part) for part in parts]


def _block(part: Part) -> Block:
    if isinstance(part, ImagePart):
        kind, data = picture_data(part)
        source = {"type": "base64", "media_type": kind, "data": data} if data else {"type": "url", "url": part.url}
        return {"type": "image", "source": source}
    return {"type": "text", "text": part.text if isinstance(part, TextPart) else text_of((part,))}


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    described = {"description": function["description"]} if function.get("description") else {}
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function.get("name"), **described, "input_schema": schema}
