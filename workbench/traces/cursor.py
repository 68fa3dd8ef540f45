"""Cursor: the transcripts of its agent, and what `cursor-agent -p --output-format stream-json` prints.

- A transcript is `~/.cursor/projects/PROJECT/agent-transcripts/ID.jsonl` or `ID/ID.jsonl`. A line has a `role` and a
  `message` with Anthropic's blocks. Calls have no ids, and their results are not in the file. `[REDACTED]` replaces
  thinking that Cursor does not record: it is counted.
- The printed lines have a `type` and a `session_id`: `system` with the model, `user` and `assistant` with a `message`,
  `thinking`, `tool_call` (`started`, `completed`) with the `call_id` and an object named after the tool that has `args`
  and `result`, and a `result` at the end, with the sum of the tokens if Cursor knows it.
- Not in these files: system prompt, tools, reports on single requests; in transcripts results, model and times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.log.events import Reasoning
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, read_entries
from workbench.traces.reading import Document
from workbench.wire.anthropic import AnthropicReader
from workbench.wire.values import content_of, dict_in, json_text, list_in, number_in, text_in

NAME = format_names.CURSOR
_REDACTED = "[REDACTED]"
_ENDS = ("started", "completed")
_OUTSIDE = frozenset(("uuid", "parent_tool_use_id", "tools", "sessionId"))
"""Keys of Claude Code's lines, which look much the same."""


def recognises(document: Document) -> bool:
    """Whether the lines are a transcript's, or some are of a kind that only Cursor prints."""
    first = first_objects(document)
    return bool(first) and (all(map(_is_transcript, first)) or any(map(_is_printed, first)))


def _is_transcript(value: dict[str, Any]) -> bool:
    message = dict_in(value, "message")
    return text_in(value, "role") in ("user", "assistant") and "content" in message and "content" not in value


def _is_printed(value: dict[str, Any]) -> bool:
    if "session_id" not in value or not _OUTSIDE.isdisjoint(value):
        return False
    if text_in(value, "type") == "tool_call":
        return text_in(value, "subtype") in _ENDS and isinstance(value.get("tool_call"), dict)
    return text_in(value, "type") == "system" and text_in(value, "subtype") == "init" and "permissionMode" in value


def read(document: Document, text: str) -> list[Recording]:
    return read_entries(document, text, NAME, lambda builder: _Reader(builder).line)


class _Reader:
    """One session, line by line."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._wire = AnthropicReader(builder)
        self._thought = ""
        self._called: set[str] = set()
        self._kinds: dict[str, Callable[[dict[str, Any]], None]] = {
            "system": self._system,
            "user": self._user,
            "assistant": self._assistant,
            "thinking": self._thinking,
            "tool_call": self._tool_call,
            "result": self._result,
        }

    def line(self, value: Any) -> None:
        kind = text_in(value, "type") or text_in(value, "role")
        self._builder.when(value.get("timestamp_ms") or value.get("timestamp") if isinstance(value, dict) else None)
        if kind in ("user", "assistant") and not dict_in(value, "message"):
            self._builder.unknown(kind, value)
        elif kind in self._kinds:
            self._kinds[kind](value)
        else:
            self._builder.unknown(kind or "line", value)

    def _system(self, value: dict[str, Any]) -> None:
        self._builder.says_model(text_in(value, "model"))
        self._builder.leave_out(f"system {text_in(value, 'subtype')}".rstrip())

    def _user(self, value: dict[str, Any]) -> None:
        self._builder.end_reply()
        self._wire.user(dict_in(value, "message").get("content"))

    def _assistant(self, value: dict[str, Any]) -> None:
        message = dict_in(value, "message")
        blocks = list_in(message, "content") or [{"type": "text", "text": text_in(message, "content")}]
        self._wire.reply(
            [each for each in map(self._readable, blocks) if each is not None], self._builder.open_reply(), "stop"
        )
        if text_in(value, "role"):  # a line of a transcript is a whole reply
            self._builder.end_reply()

    def _readable(self, block: Any) -> Any:
        """A block without the mark for missing thinking; None if nothing is left."""
        if text_in(block, "type") != "text" or _REDACTED not in text_in(block, "text"):
            return block
        kept = [each for each in text_in(block, "text").split("\n\n") if each.strip() != _REDACTED]
        self._builder.leave_out("thinking that is redacted")
        return {**block, "text": "\n\n".join(kept)} if kept else None

    def _thinking(self, value: dict[str, Any]) -> None:
        self._thought += text_in(value, "text")
        if text_in(value, "subtype") != "delta" and self._thought:
            self._builder.add(Reasoning(self._thought, self._builder.open_reply()))
            self._thought = ""

    def _tool_call(self, value: dict[str, Any]) -> None:
        call, used = text_in(value, "call_id"), dict_in(value, "tool_call")
        name = next((key for key, each in used.items() if isinstance(each, dict)), "")
        inside = dict_in(used, name)
        tool = text_in(inside, "name") or text_in(dict_in(inside, "args"), "toolName") or name.removesuffix("ToolCall")
        if call not in self._called:
            self._called.add(call)
            self._builder.call(call, tool, inside.get("args", inside.get("arguments")), self._builder.open_reply())
        if text_in(value, "subtype") == "completed":
            content, failed = _outcome(inside.get("result"))
            self._builder.result(call, content_of(content), failed)
            self._builder.end_reply()

    def _result(self, value: dict[str, Any]) -> None:
        """The end: the last message again, and the tokens of all requests, which are the report if there was one."""
        used = dict_in(value, "usage")
        cached, written = number_in(used, "cacheReadTokens"), number_in(used, "cacheWriteTokens")
        if used and self._builder.replies == 1 and not self._called:
            prompt = number_in(used, "inputTokens") + cached + written
            self._builder.usage(prompt, number_in(used, "outputTokens"), cached=cached, cache_write=written)
        else:
            self._builder.leave_out("result")
        if value.get("is_error") is True:
            self._builder.failure(text_in(value, "result"))


def _outcome(value: Any) -> tuple[Any, bool]:
    """The result of a tool, and whether it failed: under `success`, or under a word that says why not."""
    if not isinstance(value, dict) or len(value) != 1:
        return value if isinstance(value, str) else json_text(value if value is not None else ""), False
    [(key, inside)] = value.items()
    content = text_in(inside, "content") or text_in(inside, "contents") or text_in(inside, "output")
    parts = list_in(inside, "content")
    return content or parts or json_text(inside), key not in ("success", "completed")
