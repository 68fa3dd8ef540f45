"""Kiro CLI, formerly Amazon Q's: a conversation from `/save` or from its database `data.sqlite3`.

- `history` has entries with a `user` and an `assistant` side; older versions write them as pairs. The user's `content`
  is a `Prompt`, `ToolUseResults`, or `CancelledToolUses` with both; the assistant's is a `Response` or a `ToolUse`.
  Calls without an id, as some exports have them, get one; results are paired in their order.
- A result's `content` is a list of `Text` and `Json`.
- `latest_summary` is the summary by `/compact` of what is not in the file any more.
- The database has a row per folder (`conversations`) or per conversation (`conversations_v2`).
- Not in the file: system prompt, reports. Some versions have `tools`, by their origin.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from workbench.log.events import AssistantMessage, UserMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects
from workbench.traces.reading import Document
from workbench.traces.tables import Tables, TableSession
from workbench.wire.values import dict_in, json_text, list_in, text_in

NAME = format_names.KIRO
_READ = ("history", "conversation_id", "tools", "latest_summary", "model", "model_info", "next_message")
_SIDES = ("Prompt", "ToolUseResults", "CancelledToolUses")
_VALUES = {"conversations_v2": "updated_at", "conversations": "key"}
"""By table: the column that its rows are ordered by."""


def recognises(document: Document) -> bool:
    """Whether the first value is a conversation with turns of a user and an assistant."""
    return any(_is_conversation(value) for value in first_objects(document, 1))


def _is_conversation(value: dict[str, Any]) -> bool:
    entry = next(iter(list_in(value, "history")), None)
    if entry is None:
        return False
    user, assistant = _sides(entry)
    known = not dict_in(user, "content").keys().isdisjoint(_SIDES) or "env_context" in user
    return known or not assistant.keys().isdisjoint(("Response", "ToolUse"))


def _sides(entry: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if isinstance(entry, list) and len(entry) == 2:
        entry = {"user": entry[0], "assistant": entry[1]}
    return dict_in(entry, "user"), dict_in(entry, "assistant")


def read(document: Document, text: str) -> list[Recording]:
    """The conversations; mostly one."""
    found = [_conversation(value, document) for _, value in document.values if isinstance(value, dict)]
    return found or [Builder(NAME, document.broken).finish()]


def recognises_tables(tables: Tables) -> bool:
    """Whether a database has conversations by folder."""
    return any(tables.has_table(name, "key", "value") for name in _VALUES)


def sessions(tables: Tables) -> list[TableSession]:
    """The conversations, those of the folders first, then the others by age."""
    found = []
    for table in reversed(_VALUES):
        if not tables.has_table(table, "key", "value"):
            continue
        order = _VALUES[table] if tables.has_table(table, _VALUES[table]) else "key"
        for row in tables.rows(f"SELECT key, value FROM {table} ORDER BY {order}"):
            try:
                value = json.loads(row["value"])
            except (TypeError, ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                found.append(TableSession(str(row["key"]), partial(_conversation, value)))
    return found


def _conversation(value: dict[str, Any], document: Document | None = None) -> Recording:
    builder = Builder(NAME, document.broken if document is not None else ())
    builder.says_model(text_in(value, "model") or text_in(dict_in(value, "model_info"), "model_id"))
    for tools in dict_in(value, "tools").values():
        for tool in tools if isinstance(tools, list) else ():
            builder.tool(_definition(dict_in(tool, "ToolSpecification")))
    latest = value.get("latest_summary")
    summary = latest[0] if isinstance(latest, list) and latest else latest
    if isinstance(summary, str) and summary:
        builder.compaction(builder.last + 1, builder.last, summary)
    reader = _Reader(builder)
    for entry in list_in(value, "history"):
        reader.entry(entry)
    if dict_in(value, "next_message"):
        reader.user(value["next_message"])
    builder.leave_out_all_but(_READ, value)
    return builder.finish()


def _definition(spec: dict[str, Any]) -> dict[str, Any]:
    schema = dict_in(spec, "input_schema")
    function = {"name": text_in(spec, "name"), "description": text_in(spec, "description")}
    return {"type": "function", "function": {**function, "parameters": dict_in(schema, "json") or schema}}


class _Reader:
    """One conversation, turn by turn."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._calls = 0
        self._replies = 0
        self._open: list[str] = []
        """Calls without an id of their own and without a result."""

    def entry(self, value: Any) -> None:
        user, assistant = _sides(value)
        if not user and not assistant:
            self._builder.unknown("entry", value)
            return
        self.user(user)
        self._assistant(assistant)

    def user(self, value: dict[str, Any]) -> None:
        """Add the user's message, or results of tools."""
        self._builder.when(value.get("timestamp"))
        content = value.get("content")
        if content is None:
            return
        side = next((key for key in _SIDES if isinstance(dict_in(value, "content").get(key), dict)), "")
        inside = dict_in(content, side)
        results = list_in(inside, "tool_use_results")
        for result in results:
            self._result(result, failed=side == "CancelledToolUses")
        message = content if isinstance(content, str) else text_in(inside, "prompt")
        if message:
            self._builder.add(UserMessage(message))
        elif not side:
            self._builder.unknown("user", content)

    def _result(self, value: Any, failed: bool) -> None:
        parts = [_part(part) for part in list_in(value, "content")]
        name = text_in(value, "tool_use_id") or (self._open.pop(0) if self._open else "")
        failed = failed or text_in(value, "status").lower() == "error"
        self._builder.result(name, "\n".join(parts), failed)

    def _assistant(self, value: dict[str, Any]) -> None:
        if not value:
            return
        self._replies += 1
        message = dict_in(value, "Response") or dict_in(value, "ToolUse")
        reply, calls = text_in(message, "message_id") or f"r{self._replies}", list_in(message, "tool_uses")
        if text_in(message, "content") or not calls:
            self._builder.add(AssistantMessage(text_in(message, "content"), reply, model=self._builder.model))
        for call in calls:
            name = text_in(call, "id")
            if not name:
                self._calls += 1
                name = f"call_{self._calls}"
                self._open.append(name)
            tool = text_in(call, "name") or text_in(call, "orig_name")
            self._builder.call(name, tool, call.get("args") if isinstance(call, dict) else None, reply)


def _part(value: Any) -> str:
    if isinstance(value, dict) and len(value) == 1:
        [inside] = value.values()
        return inside if isinstance(inside, str) else json_text(inside)
    return json_text(value)
