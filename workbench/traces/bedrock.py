"""Amazon Bedrock's Converse: requests and answers in the form of Anthropic's Messages, which is much the same.

- A body has `messages` whose blocks have no `type` but one key (`text`, `image`, `toolUse`, `toolResult`,
  `reasoningContent`), `system`, and tools under `toolConfig`.
- An answer has `output.message`, or is a stream of AWS's binary events, which recorders keep as base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from collections.abc import Iterator
from typing import Any

from workbench.wire.values import dict_in, json_text, list_in, text_in

_BLOCKS = frozenset(("text", "image", "document", "toolUse", "toolResult", "reasoningContent", "cachePoint", "video"))


def is_body(value: Any) -> bool:
    """Whether it is the body of a request for Converse."""
    messages = list_in(value, "messages")
    blocks = [block for message in messages for block in list_in(message, "content")]
    return bool(blocks) and all(
        isinstance(block, dict) and "type" not in block and not _BLOCKS.isdisjoint(block) for block in blocks
    )


def as_anthropic(body: dict[str, Any], model: str) -> dict[str, Any]:
    """A request as Anthropic has it."""
    found: dict[str, Any] = {"model": text_in(body, "modelId") or model}
    system = [text for each in list_in(body, "system") if (text := text_in(each, "text"))]
    tools = [_tool(each) for each in list_in(dict_in(body, "toolConfig"), "tools") if dict_in(each, "toolSpec")]
    found |= {"system": "\n\n".join(system)} if system else {}
    found |= {"tools": tools} if tools else {}
    messages = [message for message in list_in(body, "messages") if isinstance(message, dict)]
    return {**found, "messages": [{**message, "content": _blocks(message)} for message in messages]}


def _tool(value: Any) -> dict[str, Any]:
    spec = dict_in(value, "toolSpec")
    described = {"description": text_in(spec, "description")} if text_in(spec, "description") else {}
    schema = dict_in(dict_in(spec, "inputSchema"), "json")
    return {"name": text_in(spec, "name"), **described, "input_schema": schema}


def _blocks(message: Any) -> list[Any]:
    blocks = [block for block in list_in(message, "content") if isinstance(block, dict)]
    return [_block(block) for block in blocks if "cachePoint" not in block]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    if "text" in block:
        return {"type": "text", "text": text_in(block, "text")}
    if used := dict_in(block, "toolUse"):
        return {
            "type": "tool_use",
            "id": text_in(used, "toolUseId"),
            "name": text_in(used, "name"),
            "input": used.get("input"),
        }
    if result := dict_in(block, "toolResult"):
        content = [_result(each) for each in list_in(result, "content")]
        failed = text_in(result, "status") == "error"
        return {
            "type": "tool_result",
            "tool_use_id": text_in(result, "toolUseId"),
            "content": content,
            "is_error": failed,
        }
    if thought := dict_in(block, "reasoningContent"):
        reasoning = dict_in(thought, "reasoningText")
        return {
            "type": "thinking",
            "thinking": text_in(reasoning, "text"),
            "signature": text_in(reasoning, "signature"),
        }
    if image := dict_in(block, "image"):
        data = text_in(dict_in(image, "source"), "bytes")
        return {"type": "image", "data": data, "mimeType": f"image/{text_in(image, 'format')}"}
    return {"type": next(iter(block), "part"), **block}


def _result(value: Any) -> Any:
    if isinstance(value, dict) and "json" in value:
        return {"type": "text", "text": json_text(value["json"])}
    return _block(value) if isinstance(value, dict) else value


def answer_of(body: dict[str, Any], raw: str) -> dict[str, Any]:
    """An answer as Anthropic has it: from its JSON, or from the base64 of its stream; empty if there is none."""
    message = dict_in(dict_in(body, "output"), "message")
    if not message and raw:
        body = _from_stream(raw)
        message = dict_in(dict_in(body, "output"), "message")
    if not message and not dict_in(body, "usage"):
        return {}
    used = dict_in(body, "usage")
    counted = {
        "input_tokens": used.get("inputTokens"),
        "output_tokens": used.get("outputTokens"),
        "cache_read_input_tokens": used.get("cacheReadInputTokens"),
        "cache_creation_input_tokens": used.get("cacheWriteInputTokens"),
    }
    return {"content": _blocks(message), "stop_reason": text_in(body, "stopReason"), "usage": counted}


def _from_stream(raw: str) -> dict[str, Any]:
    blocks: dict[int, dict[str, Any]] = {}
    found: dict[str, Any] = {}
    for kind, value in _events(raw):
        at = value.get("contentBlockIndex")
        if kind == "contentBlockStart" and isinstance(at, int):
            blocks[at] = {"toolUse": {**dict_in(dict_in(value, "start"), "toolUse"), "input": ""}}
        elif kind == "contentBlockDelta" and isinstance(at, int):
            _add_delta(blocks.setdefault(at, {}), dict_in(value, "delta"))
        elif kind == "messageStop":
            found["stopReason"] = text_in(value, "stopReason")
        elif kind == "metadata":
            found["usage"] = dict_in(value, "usage")
    content = [blocks[at] for at in sorted(blocks) if blocks[at]]
    return {**found, "output": {"message": {"role": "assistant", "content": content}}} if content or found else {}


def _add_delta(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if "text" in delta:
        block["text"] = text_in(block, "text") + text_in(delta, "text")
    elif dict_in(delta, "toolUse"):
        used = block.setdefault("toolUse", {"input": ""})
        used["input"] = text_in(used, "input") + text_in(dict_in(delta, "toolUse"), "input")
    elif thought := dict_in(delta, "reasoningContent"):
        reasoning = block.setdefault("reasoningContent", {"reasoningText": {}})["reasoningText"]
        for key in ("text", "signature"):
            reasoning[key] = text_in(reasoning, key) + text_in(thought, key)


def _events(raw: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a stream: lengths and a check sum, headers, the payload, a check sum."""
    try:
        data = base64.b64decode(raw, validate=True)
    except (binascii.Error, ValueError):
        return
    at = 0
    while at + 16 <= len(data):
        total, size = struct.unpack(">II", data[at : at + 8])
        if total < 16 + size or at + total > len(data):
            return
        kind = _event_type(data[at + 12 : at + 12 + size])
        try:
            value = json.loads(data[at + 12 + size : at + total - 4])
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            yield kind, value
        at += total


def _event_type(head: bytes) -> str:
    """The header `:event-type`; all headers of these streams are texts."""
    at = 0
    while at + 4 <= len(head):
        size = head[at]
        name = head[at + 1 : at + 1 + size]
        at += 1 + size
        if head[at : at + 1] != b"\7" or at + 3 > len(head):
            return ""
        (length,) = struct.unpack(">H", head[at + 1 : at + 3])
        if name == b":event-type":
            return head[at + 3 : at + 3 + length].decode("ascii", "replace")
        at += 3 + length
    return ""
