"""Crush: its database, `.crush/crush.db` in the working folder.

- `sessions` has a row per session, with the `parent_session_id` if it is a sub-agent's. `messages` has the `role`, the
  `model`, and in `parts` a JSON list of `{"type", "data"}`: `text`, `reasoning` (`thinking`, `signature`), `tool_call`
  (`id`, `name`, `input`), `tool_result` (`tool_call_id`, `content`, `is_error`), `image_url`, `binary`, and `finish`,
  whose reason may be an error.
- `summary_message_id` names the message that replaces everything before it: it is a compaction, and Crush sends it as
  the user's. In some versions messages are marked (`is_summary_message`).
- Tokens are recorded by session: those of the last request, mixed with cached ones. They are no report.
- Not in the file: system prompt, tools.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from workbench.log.events import AssistantMessage, ImagePart, Part, Reasoning, TextPart, UserMessage, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording
from workbench.traces.tables import Tables, TableSession
from workbench.wire.values import content_from, dict_in, other_part, text_in

NAME = format_names.CRUSH
_FINISH = {"max_tokens": "length", "tool_use": "tool_calls", "canceled": "cancelled", "error": "broken"}


def recognises_tables(tables: Tables) -> bool:
    """Whether a database has sessions, and messages whose parts are in a column."""
    return tables.has_table("sessions", "id", "title", "created_at") and tables.has_table(
        "messages", "id", "session_id", "role", "parts", "created_at"
    )


def sessions(tables: Tables) -> list[TableSession]:
    """The sessions, oldest first, including those of sub-agents."""
    rows = tables.rows("SELECT * FROM sessions ORDER BY created_at, rowid")
    return [TableSession(str(row.get("title") or ""), partial(_session, tables, row)) for row in rows]


def _session(tables: Tables, session: dict[str, Any]) -> Recording:
    builder = Builder(NAME)
    builder.says_title(str(session.get("title") or ""))
    reader = _Reader(builder, str(session.get("summary_message_id") or ""))
    query = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid"
    for row in tables.rows(query, session["id"]):
        reader.message(row)
    return builder.finish()


def _parts(row: dict[str, Any]) -> list[Any] | None:
    try:
        found = json.loads(row.get("parts") or "")
    except (TypeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


class _Reader:
    """One session, message by message."""

    def __init__(self, builder: Builder, summary: str) -> None:
        self._builder = builder
        self._summary = summary

    def message(self, row: dict[str, Any]) -> None:
        name, role, parts = str(row.get("id") or ""), row.get("role"), _parts(row)
        self._builder.when(row.get("created_at"))
        if parts is None or role not in ("user", "assistant", "tool", "system"):
            shown = {key: each if isinstance(each, str | int | float) else None for key, each in row.items()}
            self._builder.unknown("message", {"role": role, **shown})
            return
        model = row.get("model")
        if role == "assistant":
            self._builder.says_model(model if isinstance(model, str) else "")
        if row.get("is_summary_message") or (name and name == self._summary):
            summary = text_of(content_from(part for part in map(self._part, parts) if part is not None))
            self._builder.compaction(1, self._builder.last if self._builder.has_talk else 0, summary)
            return
        self._add(role == "assistant", parts, name)

    def _add(self, is_models: bool, parts: list[Any], name: str) -> None:
        found_parts: list[Part] = []
        finish = dict_in(next((part for part in parts if text_in(part, "type") == "finish"), None), "data")
        reason = text_in(finish, "reason")
        for part in parts:
            kind, data = text_in(part, "type"), dict_in(part, "data")
            if kind == "reasoning":
                self._thought(data, name)
            elif kind == "tool_call":
                self._flush(found_parts, is_models, name, "tool_calls")
                self._builder.call(text_in(data, "id"), text_in(data, "name"), data.get("input"), name)
            elif kind == "tool_result":
                failed, call = data.get("is_error") is True, text_in(data, "tool_call_id")
                self._builder.result(call, text_in(data, "content"), failed, text_in(data, "name"))
            elif kind == "finish":
                self._builder.leave_out(kind)
            elif (found := self._part(part)) is not None:
                found_parts.append(found)
        self._flush(found_parts, is_models, name, _FINISH.get(reason, "stop"))
        if reason == "error":
            messages = [text for key in ("message", "details") if (text := text_in(finish, key))]
            self._builder.failure(": ".join(messages) or "the reply broke off")

    def _thought(self, data: dict[str, Any], name: str) -> None:
        if text_in(data, "thinking") or text_in(data, "signature"):
            self._builder.add(Reasoning(text_in(data, "thinking"), name, text_in(data, "signature")))

    def _part(self, part: Any) -> Part | None:
        kind, data = text_in(part, "type"), dict_in(part, "data")
        if kind == "text":
            return TextPart(text_in(data, "text")) if text_in(data, "text") else None
        if kind == "image_url":
            return ImagePart(text_in(data, "url"), text_in(data, "detail") or "auto")
        return None if kind in ("finish", "reasoning", "tool_call", "tool_result") else other_part(part)

    def _flush(self, found_parts: list[Part], is_models: bool, name: str, finish: str) -> None:
        if not found_parts:
            return
        content = content_from(found_parts)
        model = self._builder.model
        self._builder.add(
            AssistantMessage(content, name, finish=finish, model=model) if is_models else UserMessage(content)
        )
        found_parts.clear()
