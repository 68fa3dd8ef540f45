"""Factory's Droid: the JSON lines of a session, or what `droid exec --output-format stream-json` prints.

- A session is `~/.factory/sessions/PROJECT/ID.jsonl`: `session_start` with the title, then `message` lines with a
  `timestamp` and a `message` of Anthropic's blocks. `compaction_state` has the summary of everything before, and may
  name the last message that it covers. Model and tokens are in `ID.settings.json` next to it, as sums of the session.
- The printed lines have a `session_id`: `system`, `message` (`role`, `text`), `reasoning`, `tool_call` (`toolName`,
  `parameters`), `tool_result` (`value`, `isError`) and `completion` with the last message, which is read only if no
  `message` had it.
- Not in these files: system prompt, tools, reports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.log.events import AssistantMessage, Reasoning, UserMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, read_entries
from workbench.traces.reading import Document
from workbench.wire.anthropic import AnthropicReader
from workbench.wire.values import content_of, dict_in, json_text, text_in

NAME = format_names.DROID
_PRINTED = {"message": "text", "tool_call": "toolName", "tool_result": "value", "completion": "finalText"}
_NOISE = ("todo_state", "session_end", "agent_turn_completed", "agent_turn_outcome")
_SUMMARIES = ("summaryText", "summary", "systemSummary")


def recognises(document: Document) -> bool:
    """Whether it begins a session of Droid, or lines near the beginning are of the kinds that it prints."""
    first = first_objects(document)
    return any(_begins(value) for value in first[:3]) or any(map(_is_printed, first))


def _begins(value: dict[str, Any]) -> bool:
    return text_in(value, "type") == "session_start" and "id" in value and "payload" not in value


def _is_printed(value: dict[str, Any]) -> bool:
    key = _PRINTED.get(text_in(value, "type"), "")
    return bool(key) and key in value and ("session_id" in value or "sessionId" in value) and "message" not in value


def read(document: Document, text: str) -> list[Recording]:
    return read_entries(document, text, NAME, lambda builder: _Reader(builder).line)


class _Reader:
    """One session, line by line."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._wire = AnthropicReader(builder)
        self._ends: dict[str, int] = {}
        """The last event of each message."""
        self._last = ""
        """The last text of the model."""
        self._kinds: dict[str, Callable[[dict[str, Any]], None]] = {
            "session_start": self._start,
            "system": self._start,
            "message": self._message,
            "compaction_state": self._compaction,
            "reasoning": self._reasoning,
            "tool_call": self._tool_call,
            "tool_result": self._tool_result,
            "completion": self._completion,
            "error": lambda value: builder.failure(text_in(value, "message") or json_text(value)),
        }

    def line(self, value: Any) -> None:
        kind = text_in(value, "type")
        self._builder.when(value.get("timestamp") if isinstance(value, dict) else None)
        if kind in self._kinds:
            self._kinds[kind](value)
        elif kind in _NOISE:
            self._builder.leave_out(kind)
        else:
            self._builder.unknown(kind or "line", value)

    def _start(self, value: dict[str, Any]) -> None:
        self._builder.says_title(text_in(value, "title") or text_in(value, "sessionTitle"))
        self._builder.says_model(text_in(value, "model"))

    def _message(self, value: dict[str, Any]) -> None:
        message = dict_in(value, "message")
        if message:
            self._builder.says_model(text_in(message, "model") or text_in(value, "model"))
            self._wire.message(message)
            self._ends[text_in(value, "id")] = self._builder.last
            return
        content = content_of(value.get("text", value.get("content")))
        if text_in(value, "role") == "user":
            self._builder.end_reply()
            self._builder.add(UserMessage(content))
        elif text_in(value, "role") == "assistant":
            self._last = text_in(value, "text")
            self._builder.add(AssistantMessage(content, self._builder.open_reply(), model=self._builder.model))
        else:
            self._builder.unknown("message", value)

    def _compaction(self, value: dict[str, Any]) -> None:
        noted = dict_in(value, "summary")
        summary = next(filter(None, (text_in(value, key) for key in _SUMMARIES)), "")
        summary = summary or "\n\n".join(filter(None, (text_in(noted, "title"), text_in(noted, "body"))))
        if not summary:
            self._builder.unknown("compaction_state", value, is_talk=False)
            return
        anchor = dict_in(value, "anchorMessage") or value
        name = text_in(anchor, "id" if anchor is not value else "anchorMessageId")
        last = self._ends.get(name, self._builder.last)
        self._builder.compaction(1, last if self._builder.has_talk else 0, summary)

    def _reasoning(self, value: dict[str, Any]) -> None:
        self._builder.add(Reasoning(text_in(value, "text"), self._builder.open_reply()))

    def _tool_call(self, value: dict[str, Any]) -> None:
        tool = text_in(value, "toolName") or text_in(value, "toolId")
        self._builder.call(_call_id(value), tool, value.get("parameters"), self._builder.open_reply())

    def _tool_result(self, value: dict[str, Any]) -> None:
        self._builder.end_reply()
        given = value.get("value", value.get("content"))
        failed = value.get("isError") is True or bool(text_in(value, "error"))
        content = content_of(given if isinstance(given, str | list) else json_text(given))
        self._builder.result(_call_id(value), content if given is not None else text_in(value, "error"), failed)

    def _completion(self, value: dict[str, Any]) -> None:
        message = text_in(value, "finalText")
        if message and message.strip() != self._last.strip():
            self._builder.add(AssistantMessage(message, self._builder.open_reply(), model=self._builder.model))
        self._builder.leave_out("completion")


def _call_id(value: dict[str, Any]) -> str:
    """The id of a line's call; newer versions name the call `id`, and the tool `toolId`."""
    return text_in(value, "toolCallId") or text_in(value, "id") or text_in(value, "toolId")
