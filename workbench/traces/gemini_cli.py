"""Gemini CLI: a recorded chat, `{"sessionId", "projectHash", "messages": [...]}`.

- A message has a `type`: `user` or `gemini`, with `content` as text or Gemini's parts; one of `gemini` may have
  `thoughts` (`subject`, `description`), `toolCalls` (`id`, `name`, `args`, and their `result` as parts with a
  `functionResponse`), `tokens` and its `model`. What a tool gave stands with its call, and comes behind all of them.
- A call that was cancelled or is not over has no result. Its `status` tells an error.
- `info`, `warning` and `error` are the program's own words: counted, errors as failures.
- The other keys of the file are counted. System prompt and tools are not in these files.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import AssistantMessage, Reasoning, UserMessage, text_of
from workbench.traces.building import (
    Builder,
    Recording,
    as_json,
    beginning,
    content_of,
    dict_in,
    entries,
    list_in,
    number_in,
    text_in,
)
from workbench.traces.reading import Document

NAME = "Gemini CLI"


def recognises(document: Document) -> bool:
    """Whether it is a chat with messages that have a type and no role."""
    return any(_is_chat(value) for value in beginning(document))


def _is_chat(value: Any) -> bool:
    return bool(text_in(value, "sessionId")) and any(
        text_in(message, "type") in ("user", "gemini") and "content" in message and "role" not in message
        for message in list_in(value, "messages")[:40]
    )


def read(document: Document, text: str) -> list[Recording]:
    """One conversation per chat."""
    chats = [value for _, value in entries(document, text) if _is_chat(value)]
    return [_chat(chat, () if number else document.broken) for number, chat in enumerate(chats)]


def _chat(chat: dict[str, Any], broken: Any) -> Recording:
    builder = Builder(NAME, broken)
    builder.says_title(text_in(chat, "summary"))
    for number, message in enumerate(list_in(chat, "messages"), 1):
        kind = text_in(message, "type")
        if kind == "user":
            builder.add(UserMessage(_content(message.get("content"))))
        elif kind == "gemini":
            _reply(builder, message, text_in(message, "id") or f"r{number}")
        elif kind == "error":
            builder.failure(text_of(_content(message.get("content"))))
        elif kind in ("info", "warning"):
            builder.leave_out(kind)
        else:
            builder.unknown("message", message)
    builder.leave_out_all_but(("messages", "summary"), chat)
    return builder.finish()


def _content(value: Any) -> Any:
    """Parts of Gemini have no type; those of text become the parts of text that all have."""
    parts = value if isinstance(value, list) else [value]
    bare = [{"type": "text", "text": part["text"]} if isinstance(_text_part(part), str) else part for part in parts]
    return content_of(bare if value is not None else None)


def _text_part(part: Any) -> Any:
    """The text of a part that has nothing else to tell its kind by."""
    return part.get("text") if isinstance(part, dict) and "type" not in part else None


def _reply(builder: Builder, message: dict[str, Any], reply: str) -> None:
    builder.says_model(text_in(message, "model"))
    thoughts = [
        ": ".join(filter(None, (text_in(thought, "subject"), text_in(thought, "description"))))
        for thought in list_in(message, "thoughts")
    ]
    if any(thoughts):
        builder.add(Reasoning("\n\n".join(filter(None, thoughts)), reply))
    content, calls = _content(message.get("content")), list_in(message, "toolCalls")
    if content or not calls:
        builder.add(AssistantMessage(content, reply, model=builder.model))
    for call in calls:
        builder.call(text_in(call, "id"), text_in(call, "name"), dict_in(call, "args"), reply)
    for call in calls:
        if isinstance(call, dict) and call.get("result"):
            failed = text_in(call, "status") == "error"
            builder.result(text_in(call, "id"), _result(call["result"]), failed, text_in(call, "name"))
    used = dict_in(message, "tokens")
    cached, thought = number_in(used, "cached"), number_in(used, "thoughts")
    builder.usage(number_in(used, "input"), number_in(used, "output"), cached=cached, reasoning=thought)


def _result(value: Any) -> Any:
    """What a tool gave: the output or error of its response, or the parts as they are."""
    parts = value if isinstance(value, list) else [value]
    said = [dict_in(dict_in(part, "functionResponse"), "response") for part in parts]
    if not all(said):
        return _content(value)
    return "\n".join(text_in(each, "output") or text_in(each, "error") or as_json(each) for each in said)
