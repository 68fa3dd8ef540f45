"""An answer that was streamed, put together again from its events as they went over the wire."""

from __future__ import annotations

import io
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from workbench.log.codec import clean
from workbench.log.events import DialectName
from workbench.wire.values import dict_in, list_in, text_in

_SAID = frozenset(("content", "reasoning_content", "reasoning", "refusal"))
_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


def from_stream(dialect: DialectName, text: str | bytes) -> dict[str, Any]:
    """The body that the answer would have been without streaming; as much of it as the stream held."""
    events = _events(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    match dialect:
        case "chat":
            return _chat(events)
        case "anthropic":
            return _anthropic(events)
        case "responses":
            return _responses(list(events))
        case "gemini":
            return _gemini(events)


def _events(text: bytes) -> Iterator[dict[str, Any]]:
    if text[:100].lstrip().startswith(b"["):  # Gemini without events: a list of what would have been in them
        listed = loaded(text)
        yield from (value for value in (listed if isinstance(listed, list) else ()) if isinstance(value, dict))
    for line in io.BytesIO(text):  # which holds no second copy of all lines
        if line.startswith(b"data:"):
            value = loaded(line[5:])  # `[DONE]`, or cut off, is none
            value = loaded(line[5:].decode(errors="replace")) if value is None else value
            if isinstance(value, dict):
                yield value


def loaded(text: str | bytes) -> Any:
    """A JSON value; None where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    try:
        # takes half a surrogate pair, and what others write; a number that none of ours can be stays as it is written
        return json.loads(text, parse_float=_finite, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _finite(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits


def _chat(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    said: defaultdict[str, list[str]] = defaultdict(list, content=[])
    calls: dict[Any, dict[str, Any]] = {}
    finish = ""
    for event in events:
        for key in ("id", "model", "usage"):
            if event.get(key):
                found[key] = event[key]
        for choice in list_in(event, "choices")[:1]:
            delta = dict_in(choice, "delta")
            for key, text in delta.items():
                if key in _SAID and text and isinstance(text, str):
                    said[key].append(text)
            for piece in list_in(delta, "tool_calls"):
                index = _index(piece)
                call = calls.setdefault(index, {"id": "", "name": [], "arguments": []})
                call["id"] = call["id"] or text_in(piece, "id")
                for key in ("name", "arguments"):
                    call[key].append(text_in(dict_in(piece, "function"), key))
            finish = text_in(choice, "finish_reason") or finish
    message: dict[str, Any] = {"role": "assistant", **{key: _joined(texts) for key, texts in said.items()}}
    if calls:
        message["tool_calls"] = [_call(**call) for call in calls.values()]
    is_empty = len(message) == 2 and not message["content"]
    return found if is_empty else {**found, "choices": [{"message": message, "finish_reason": finish}]}


def _index(piece: Any) -> Any:
    """Which call or block a piece belongs to, as a key of a dict."""
    index = piece.get("index") if isinstance(piece, dict) else None
    return index if isinstance(index, (int, float, str)) else None


def _call(id: str, name: list[str], arguments: list[str]) -> dict[str, Any]:  # noqa: A002 - as it is called there
    return {"id": id, "type": "function", "function": {"name": _joined(name), "arguments": _joined(arguments)}}


def _joined(texts: list[str]) -> str:
    """A pair of surrogates may come in two pieces."""
    return clean("".join(texts))


def _anthropic(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    blocks: dict[Any, dict[str, Any]] = {}
    written: defaultdict[tuple[Any, str], list[str]] = defaultdict(list)
    for event in events:
        kind, index, delta = event.get("type"), _index(event), dict_in(event, "delta")
        if kind == "message_start":
            found = dict(dict_in(event, "message"))
        elif kind == "content_block_start":
            blocks[index] = dict(dict_in(event, "content_block"))
        elif kind == "content_block_delta" and index in blocks:
            key = _DELTAS.get(text_in(delta, "type"), "partial_json")
            if isinstance(delta.get(key), str):
                written[index, key].append(delta[key])
        elif kind == "message_delta":
            used = {key: each for key, each in dict_in(event, "usage").items() if each is not None}
            edited = {"context_management": event["context_management"]} if event.get("context_management") else {}
            found = {**found, **delta, **edited, "usage": {**dict_in(found, "usage"), **used}}
    for (index, key), texts in written.items():
        if key == "partial_json":
            blocks[index]["input"] = _input(_joined(texts))
        else:
            blocks[index][key] = text_in(blocks[index], key) + _joined(texts)
    return {**found, "content": list(blocks.values())} if blocks else found


def _input(written: str) -> Any:
    try:
        return json.loads(written or "{}")
    except (ValueError, RecursionError):
        return written


def _responses(events: list[dict[str, Any]]) -> dict[str, Any]:
    last = next((dict_in(event, "response") for event in reversed(events) if dict_in(event, "response")), {})
    done = [event["item"] for event in events if event.get("type") == "response.output_item.done" and "item" in event]
    return {**last, "output": list_in(last, "output") or done}


def _gemini(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    parts: list[Any] = []
    texts: list[list[str]] = []
    """Of each part: the pieces of its text, put together once at the end."""
    finish: dict[str, Any] = {}
    for event in events:
        found.update({key: event[key] for key in ("modelVersion", "usageMetadata") if event.get(key)})
        for candidate in list_in(event, "candidates")[:1]:
            reason = text_in(candidate, "finishReason")
            finish = {"finishReason": reason} if reason else finish
            for part in list_in(dict_in(candidate, "content"), "parts"):
                last: Any = parts[-1] if parts else None
                if _is_text(part) and _is_text(last) and part.get("thought") == last.get("thought"):
                    parts[-1] = {**last, **part}
                    texts[-1].append(part["text"])
                else:
                    parts.append(part)
                    texts.append([part["text"]] if _is_text(part) else [])
    whole = [{**part, "text": "".join(said)} if said else part for part, said in zip(parts, texts, strict=True)]
    return {**found, "candidates": [{"content": {"role": "model", "parts": whole}, **finish}]} if parts else found


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)
