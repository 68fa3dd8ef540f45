"""Writes requests for Gemini's API."""

from __future__ import annotations

import re
from typing import Any

from workbench.log.events import ImagePart, Part, TextPart, text_of
from workbench.wire.chat_requests import ChatRequest, UnchangedMessage, function_in, parts_in, picture_data, said_in
from workbench.wire.values import dict_in, list_in, parsed, text_in

MADE_UP = re.compile(r"call-\d+")
"""The ids that the reader gives to calls without one: they are not sent."""


def gemini_request(chat: ChatRequest) -> dict[str, Any]:
    """The system instruction, the contents and the tools. Later system messages become the user's."""
    prompt, entries = chat.prompt()
    contents: list[dict[str, Any]] = []
    for entry in entries:
        _append(contents, entry.value if isinstance(entry, UnchangedMessage) else _content(entry, chat))
    declared = [_declaration(function_in(tool)) for tool in chat.tools]
    return {
        **({"systemInstruction": {"parts": [{"text": prompt}]}} if prompt else {}),
        "contents": contents,
        **({"tools": [{"functionDeclarations": declared}]} if declared else {}),
    }


def _append(contents: list[dict[str, Any]], content: dict[str, Any]) -> None:
    """Add a content. The results of one reply must be in one content."""
    last = contents[-1] if contents else {}
    if _has_results(last) and _has_results(content):
        contents[-1] = {**last, "parts": [*list_in(last, "parts"), *list_in(content, "parts")]}
    else:
        contents.append(content)


def _has_results(content: dict[str, Any]) -> bool:
    parts = list_in(content, "parts")
    return any(isinstance(part, dict) and ("functionResponse" in part or "function_response" in part) for part in parts)


def _content(message: dict[str, Any], chat: ChatRequest) -> dict[str, Any]:
    role = text_in(message, "role")
    if role == "tool":
        call_id = text_in(message, "tool_call_id")
        response = {"name": chat.names.get(call_id, ""), "response": {"output": text_of(said_in(message))}}
        return {"role": "user", "parts": [{"functionResponse": {**_with_id(call_id), **response}}]}
    parts = [_part(part) for part in parts_in(message)]
    if role == "assistant":
        calls = [_call(call) for call in list_in(message, "tool_calls")]
        return {"role": "model", "parts": [*parts, *calls]}
    return {"role": "user", "parts": parts or [{"text": ""}]}


def _call(call: Any) -> dict[str, Any]:
    function = dict_in(call, "function")
    given = parsed(function.get("arguments") or "{}")
    arguments = given if isinstance(given, dict) else {"arguments": given}
    return {"functionCall": {**_with_id(text_in(call, "id")), "name": text_in(function, "name"), "args": arguments}}


def _with_id(call_id: str) -> dict[str, str]:
    return {} if not call_id or MADE_UP.fullmatch(call_id) else {"id": call_id}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, ImagePart):
        kind, data = picture_data(part)
        if data:
            return {"inlineData": {"mimeType": kind, "data": data}}
        return {"fileData": {"mimeType": "image/*", "fileUri": part.url}}
    return {"text": part.text if isinstance(part, TextPart) else text_of((part,))}


def _declaration(function: dict[str, Any]) -> dict[str, Any]:
    described = {"description": function["description"]} if function.get("description") else {}
    schema = {"parametersJsonSchema": function["parameters"]} if function.get("parameters") else {}
    return {"name": function.get("name"), **described, **schema}
