"""pydantic-ai: messages as `ModelMessagesTypeAdapter.dump_json` and `all_messages_json()` write them.

- A list of messages with a `kind`, `request` or `response`, and `parts` with a `part_kind`. Parts of a request:
  `system-prompt`, `user-prompt` (a text, or a list with pictures and files), `tool-return`, and what asks the model to
  try again: a `tool-return` with the `outcome` `retried`, or `retry-prompt` in older versions. A request may have
  `instructions`; those of the newest are the system prompt.
- Parts of a response: `text`, `thinking`, `tool-call`. It names the model and has a `usage`; its `input_tokens` (older
  `request_tokens`) include the cache.
- Results that are not text are sent as JSON, errors as `{"error": ...}` if the dialect has no place for them; arguments
  are sent without the spaces that the model wrote.
- Exact: messages, system prompt, reports. Missing: tools, and the settings of the model.
"""

from __future__ import annotations

import json
from typing import Any

from workbench.config.text import without_surrogates
from workbench.log.events import AssistantMessage, Content, Part, Reasoning, SlotContent, SystemMessage, UserMessage
from workbench.models.known_costs import known_cost
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.values import content_from, dict_in, list_in, number_in, part_of, text_in

NAME = format_names.PYDANTIC_AI
_FINISH = {"tool_call": "tool_calls", "length": "length", "content_filter": "refused", "error": "broken"}
_NOISE = ("-delta", "-digest", "-baseline", "builtin-tool-call", "builtin-tool-return")
_AGAIN = "\n\nFix the errors and try again."


def recognises(document: Document) -> bool:
    """Whether the first values are messages in this format."""
    first = first_objects(document)
    return bool(first) and all(_is_message(value) for value in first) and any(value["parts"] for value in first)


def _is_message(value: dict[str, Any]) -> bool:
    parts = value.get("parts")
    return (
        value.get("kind") in ("request", "response")
        and isinstance(parts, list)
        and all(text_in(part, "part_kind") for part in parts)
    )


def read(document: Document, text: str) -> list[Recording]:
    builder = Builder(NAME, document.broken)
    instructions, replies = "", 0
    for _, value in log_entries(document, text):
        if not isinstance(value, dict) or value.get("kind") not in ("request", "response"):
            builder.unknown("message", value)
            continue
        builder.when(value.get("timestamp"))
        if value["kind"] == "response":
            replies += 1
            _response(builder, value, f"r{replies}")
            continue
        found = text_in(value, "instructions")
        if found and found != instructions:
            instructions = found
            builder.add(SlotContent("system", "instructions", found))
        for part in list_in(value, "parts"):
            _asked(builder, part)
    return [builder.finish()]


def _asked(builder: Builder, part: Any) -> None:
    kind, content = text_in(part, "part_kind"), part.get("content") if isinstance(part, dict) else None
    builder.when(part.get("timestamp") if isinstance(part, dict) else None)
    match kind:
        case "system-prompt":
            builder.add(SystemMessage(_content(content)))
        case "user-prompt":
            builder.add(UserMessage(_content(content)))
        case "tool-return":
            failed = text_in(part, "outcome") in ("failed", "retried")
            given = _text({"error": content}) if failed else _content(content)
            builder.result(text_in(part, "tool_call_id"), given, failed, text_in(part, "tool_name"))
        case "retry-prompt" if text_in(part, "tool_name"):
            again = _text(content) + _AGAIN
            builder.result(text_in(part, "tool_call_id"), again, True, text_in(part, "tool_name"))
        case "retry-prompt" | "retry-feedback":
            builder.add(UserMessage(f"Validation feedback:\n{_text(content)}{_AGAIN}"))
        case _:
            _other(builder, kind, part)


def _response(builder: Builder, value: dict[str, Any], reply: str) -> None:
    builder.says_model(text_in(value, "model_name"))
    finish = _FINISH.get(text_in(value, "finish_reason"), "stop")
    for part in list_in(value, "parts"):
        kind, content = text_in(part, "part_kind"), text_in(part, "content")
        if kind == "text":
            builder.add(AssistantMessage(content, reply, finish=finish, model=builder.model))
        elif kind == "thinking":
            builder.add(Reasoning(content, reply, text_in(part, "signature")))
        elif kind == "tool-call":
            builder.call(text_in(part, "tool_call_id"), text_in(part, "tool_name"), _arguments(part.get("args")), reply)
        else:
            _other(builder, kind, part)
    used = dict_in(value, "usage")
    builder.usage(
        number_in(used, "input_tokens") or number_in(used, "request_tokens"),
        number_in(used, "output_tokens") or number_in(used, "response_tokens"),
        cached=number_in(used, "cache_read_tokens"),
        cache_write=number_in(used, "cache_write_tokens"),
        reasoning=number_in(dict_in(used, "details"), "reasoning_tokens"),
        cost=known_cost(used.get("cost")),
    )


def _other(builder: Builder, kind: str, part: Any) -> None:
    if kind.endswith(_NOISE):
        builder.leave_out(kind)
    else:
        builder.unknown(kind or "part", part)


def _arguments(value: Any) -> str:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return without_surrogates(str(value))
    return _text({} if found is None else found)


def _text(value: Any) -> str:
    return without_surrogates(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    )


def _content(value: Any) -> Content:
    """A text, or a list of texts, pictures and files; anything else becomes JSON."""
    items = value if isinstance(value, list) else [value]
    if not any(isinstance(item, str) or "kind" in dict_in({"": item}, "") for item in items):
        return "" if value is None else _text(value)
    return content_from(part for item in items if (part := _part(item)) is not None)


def _part(item: Any) -> Part | None:
    kind = text_in(item, "kind")
    if kind == "cache-point":
        return None
    if kind == "image-url":
        return part_of({"type": "image_url", "image_url": text_in(item, "url")})
    if kind == "binary" and text_in(item, "media_type").startswith("image/"):
        # Its Base64 is the URL-safe one, which data: URLs do not take.
        data = text_in(item, "data").replace("-", "+").replace("_", "/")
        return part_of({"type": "image", "mimeType": text_in(item, "media_type"), "data": data})
    if kind:
        return part_of({**item, "type": kind})
    return part_of(_text(item))
