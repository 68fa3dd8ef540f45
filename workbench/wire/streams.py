"""An answer that was streamed, put together again from its events as they went over the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from workbench.log.events import Dialect
from workbench.wire.values import dict_in, list_in, text_in

_DELTAS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def from_stream(dialect: Dialect, text: str) -> dict[str, Any]:
    """The body that the answer would have been without streaming; as much of it as the stream held."""
    events = list(_events(text))
    match dialect:
        case "chat":
            return _chat(events)
        case "anthropic":
            return _anthropic(events)
        case "responses":
            return _responses(events)
        case "gemini":
            return _gemini(events)


def _events(text: str) -> Iterator[dict[str, Any]]:
    if text.lstrip().startswith("["):  # Gemini without events: a list of what would have been in them
        listed = loaded(text)
        yield from (value for value in (listed if isinstance(listed, list) else ()) if isinstance(value, dict))
    for line in text.split("\n"):
        if line.startswith("data:"):
            value = loaded(line.removeprefix("data:"))  # `[DONE]`, or cut off, is none
            if isinstance(value, dict):
                yield value


def loaded(text: str | bytes) -> Any:
    """A JSON value; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError):
        pass
    try:
        return json.loads(text)  # takes half a surrogate pair, and what others write
    except (ValueError, RecursionError):
        return None


def _chat(events: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[Any, dict[str, Any]] = {}
    finish = ""
    for event in events:
        found.update({key: event[key] for key in ("id", "model", "usage") if event.get(key)})
        for choice in list_in(event, "choices")[:1]:
            delta = dict_in(choice, "delta")
            for key in ("content", "reasoning_content", "reasoning", "refusal"):
                if text_in(delta, key):
                    message[key] = message.get(key, "") + text_in(delta, key)
            for piece in list_in(delta, "tool_calls"):
                function = {"name": "", "arguments": ""}
                call = calls.setdefault(dict(piece).get("index"), {"id": "", "type": "function", "function": function})
                call["id"] = call["id"] or text_in(piece, "id")
                for key in function:
                    call["function"][key] += text_in(dict_in(piece, "function"), key)
            finish = text_in(choice, "finish_reason") or finish
    if calls:
        message["tool_calls"] = list(calls.values())
    said = len(message) > 2 or message["content"]
    return {**found, "choices": [{"message": message, "finish_reason": finish}]} if said else found


def _anthropic(events: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    blocks: dict[Any, dict[str, Any]] = {}
    inputs: dict[Any, str] = {}
    for event in events:
        kind, index, delta = text_in(event, "type"), event.get("index"), dict_in(event, "delta")
        if kind == "message_start":
            found = dict(dict_in(event, "message"))
        elif kind == "content_block_start":
            blocks[index] = dict(dict_in(event, "content_block"))
        elif kind == "content_block_delta" and index in blocks:
            key = _DELTAS.get(text_in(delta, "type"))
            if key:
                blocks[index][key] = text_in(blocks[index], key) + text_in(delta, key)
            elif "partial_json" in delta:
                inputs[index] = inputs.get(index, "") + text_in(delta, "partial_json")
        elif kind == "message_delta":
            used = {key: each for key, each in dict_in(event, "usage").items() if each is not None}
            found = {**found, **delta, "usage": {**dict_in(found, "usage"), **used}}
    for index, written in inputs.items():
        try:
            blocks[index]["input"] = json.loads(written or "{}")
        except (ValueError, RecursionError):
            blocks[index]["input"] = written
    return {**found, "content": list(blocks.values())} if blocks else found


def _responses(events: list[dict[str, Any]]) -> dict[str, Any]:
    last = next((dict_in(event, "response") for event in reversed(events) if dict_in(event, "response")), {})
    done = [event["item"] for event in events if event.get("type") == "response.output_item.done" and "item" in event]
    return {**last, "output": list_in(last, "output") or done}


def _gemini(events: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    parts: list[Any] = []
    finish: dict[str, Any] = {}
    for event in events:
        found.update({key: event[key] for key in ("modelVersion", "usageMetadata") if event.get(key)})
        for candidate in list_in(event, "candidates")[:1]:
            finish = {key: candidate[key] for key in ("finishReason",) if candidate.get(key)} or finish
            for part in list_in(dict_in(candidate, "content"), "parts"):
                last: Any = parts[-1] if parts else None
                if _is_text(part) and _is_text(last) and part.get("thought") == last.get("thought"):
                    parts[-1] = {**last, **part, "text": last["text"] + part["text"]}
                else:
                    parts.append(part)
    return {**found, "candidates": [{"content": {"role": "model", "parts": parts}, **finish}]} if parts else found


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)
