"""Grok Build, xAI's agent: `~/.grok/sessions/PROJECT/ID/chat_history.jsonl`.

- A line has a `type`: `system`, `user` (with a `synthetic_reason` if the program wrote it), `assistant` with its
  `tool_calls` and `model_id`, `reasoning` with a `summary` as in OpenAI's Responses, `tool_result` with its
  `tool_call_id`, and `backend_tool_call`, which xAI runs itself: it is kept as a part of the reply.
- Everything of the model without another message in between is one reply.
- Other messages of the program (reminders, notes on a compaction) are sent as the user's.
- Instructions of the project (`project_instructions`) fill the instructions slot.
- Not in these files: tools, reports, times.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from workbench.log.events import AssistantMessage, OtherPart, Reasoning, SystemMessage, UserMessage, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, read_entries
from workbench.traces.reading import Document
from workbench.wire.values import cleaned, content_of, dict_in, list_in, text_in

NAME = format_names.GROK
_TYPED = ("", "interjection", "follow_up", "user")
"""Reasons of messages that the user wrote."""
_MARKS = ("synthetic_reason", "prompt_index", "model_id")


def recognises(document: Document) -> bool:
    """Whether lines have a type where others have a role, and some a mark of Grok's."""
    first = first_objects(document)
    return any(map(_is_line, first)) and not any("message" in value or "role" in value for value in first)


def _is_line(value: dict[str, Any]) -> bool:
    kind = text_in(value, "type")
    if kind in ("user", "assistant"):
        return "content" in value and any(key in value for key in _MARKS)
    return kind == "backend_tool_call" or (kind == "tool_result" and "tool_call_id" in value and "content" in value)


def read(document: Document, text: str) -> list[Recording]:
    return read_entries(document, text, NAME, lambda builder: partial(_read_line, builder))


def _read_line(builder: Builder, value: Any) -> None:
    kind = text_in(value, "type")
    builder.when(value.get("timestamp") or value.get("created_at") if isinstance(value, dict) else None)
    match kind:
        case "system":
            builder.slot("system", "system", text_of(content_of(value.get("content"))))
        case "user":
            _add_user(builder, value)
        case "assistant":
            _add_reply(builder, value)
        case "reasoning":
            parts = [*list_in(value, "summary"), *list_in(value, "content")]
            text = "\n\n".join(filter(None, (text_in(part, "text") for part in parts)))
            builder.add(Reasoning(text, builder.open_reply(), text_in(value, "encrypted_content")))
        case "tool_result":
            builder.end_reply()
            failed = value.get("is_error") is True
            builder.result(text_in(value, "tool_call_id"), content_of(value.get("content")), failed)
        case "backend_tool_call":
            builder.add(AssistantMessage((OtherPart(cleaned(value)),), builder.open_reply()))
        case _:
            builder.unknown(kind or "line", value)


def _add_user(builder: Builder, value: dict[str, Any]) -> None:
    builder.end_reply()
    reason, content = text_in(value, "synthetic_reason"), content_of(value.get("content"))
    if reason == "project_instructions":
        builder.slot("instructions", "project instructions", text_of(content))
    elif reason in _TYPED:
        builder.add(UserMessage(content))
    else:
        builder.add(SystemMessage(content, "user"))


def _add_reply(builder: Builder, value: dict[str, Any]) -> None:
    builder.says_model(text_in(value, "model_id"))
    reply, calls, content = builder.open_reply(), list_in(value, "tool_calls"), content_of(value.get("content"))
    if content or not calls:
        builder.add(AssistantMessage(content, reply, model=builder.model))
    for call in calls:
        function = dict_in(call, "function") or (call if isinstance(call, dict) else {})
        builder.call(text_in(call, "id"), text_in(function, "name"), function.get("arguments"), reply)
    if not calls:
        builder.end_reply()
