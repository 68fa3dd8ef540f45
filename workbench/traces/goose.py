"""goose: its database `sessions.db`, what `goose session export` writes, and the JSON lines of older versions.

- The database is in `~/.local/share/goose/sessions`: `sessions`, and `messages` with a `role`, `content_json`,
  `created_timestamp` and `metadata_json`. An export has the same messages under `conversation`; JSON lines begin with a
  line about the session.
- Content: `text`, `image`, `thinking`, `toolRequest` (`toolCall`: `status` and `value` with name and arguments), and
  `toolResponse` (`toolResult`: `status` with `value` or `error`), paired by `id`. Confirmations and notifications are
  for the screen.
- A message with `agentVisible` false in its metadata is not sent. After a compaction all earlier ones are so, and the
  summary is the first message after them that the user does not see.
- Tokens are sums of a session: they are no report. Not in the file: system prompt, tools.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from workbench.log.events import AssistantMessage, Override, Part, Reasoning, UserMessage, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.traces.tables import Tables, TableSession, object_in
from workbench.wire.values import content_from, content_of, dict_in, json_text, list_in, part_of, text_in

NAME = format_names.GOOSE
HIDDEN = "hidden from the model by goose"
_OWN = frozenset(("toolRequest", "toolResponse", "toolConfirmationRequest", "frontendToolRequest"))
_SHOWN = ("toolConfirmationRequest", "actionRequired", "systemNotification", "conversationCompacted")


def recognises(document: Document) -> bool:
    """Whether it is an export, or messages with a time and goose's contents."""
    first = first_objects(document)
    if not document.lines and len(first) == 1 and _messages_of(first[0]):
        return any(map(_is_message, _messages_of(first[0])))
    return any(map(_is_message, first))


def _messages_of(value: dict[str, Any]) -> list[Any]:
    inside = list_in(value, "conversation") or list_in(dict_in(value, "conversation"), "messages")
    return inside or list_in(value, "messages")


def _is_message(value: Any) -> bool:
    if text_in(value, "role") not in ("user", "assistant") or "created" not in value:
        return False
    own = any(text_in(part, "type") in _OWN for part in list_in(value, "content"))
    return own or "agentVisible" in dict_in(value, "metadata")


def read(document: Document, text: str) -> list[Recording]:
    builder = Builder(NAME, document.broken)
    reader = _Reader(builder)
    for _, value in log_entries(document, text):
        if isinstance(value, dict) and "role" not in value:
            builder.says_title(text_in(value, "name") or text_in(value, "description"))
            builder.says_model(text_in(dict_in(value, "model_config"), "model_name"))
            for message in _messages_of(value):
                reader.message(message)
        else:
            reader.message(value)
    return [reader.finish()]


def recognises_tables(tables: Tables) -> bool:
    """Whether a database has sessions, and messages whose contents are in a column."""
    columns = ("session_id", "role", "content_json", "created_timestamp")
    return tables.has_table("sessions", "id") and tables.has_table("messages", *columns)


def sessions(tables: Tables) -> list[TableSession]:
    order = "created_at, " if tables.has_table("sessions", "created_at") else ""
    rows = tables.rows(f"SELECT * FROM sessions ORDER BY {order}rowid")
    return [TableSession(_title(row), partial(_session, tables, row)) for row in rows]


def _title(row: dict[str, Any]) -> str:
    return str(row.get("name") or row.get("description") or "")


def _session(tables: Tables, row: dict[str, Any]) -> Recording:
    builder = Builder(NAME)
    builder.says_title(_title(row))
    builder.says_model(text_in(object_in(row, "model_config_json"), "model_name"))
    reader = _Reader(builder)
    query = "SELECT * FROM messages WHERE session_id = ? ORDER BY rowid"
    for found in tables.rows(query, row["id"]):
        each = {column: value for column, value in found.items() if not isinstance(value, bytes)}
        try:
            content = json.loads(each.get("content_json") or "")
        except (TypeError, ValueError, RecursionError):
            content = None
        message = {"role": each.get("role"), "content": content, "created": each.get("created_timestamp")}
        reader.message({**message, "metadata": object_in(each, "metadata_json")})
    return reader.finish()


class _Reader:
    """One session, message by message."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._hidden: list[tuple[int, int]] = []
        """Events that are not sent and have no summary yet."""

    def message(self, value: Any) -> None:
        role, content = text_in(value, "role"), list_in(value, "content")
        if role not in ("user", "assistant") or not isinstance(value.get("content"), list):
            self._builder.unknown("message", value)
            return
        self._builder.when(value.get("created"))
        noted = dict_in(value, "metadata")
        if noted.get("userVisible") is False and noted.get("agentVisible") is not False and self._hidden:
            self._summary(text_of(content_of([part for part in content if text_in(part, "type") == "text"])))
            return
        if noted.get("agentVisible") is not False:
            self._exclude()
        first = self._builder.last + 1
        self._add(role, content)
        if noted.get("agentVisible") is False and self._builder.last >= first:
            self._hidden.append((first, self._builder.last))

    def _summary(self, text: str) -> None:
        hidden, self._hidden = self._hidden, []
        self._builder.compaction(hidden[0][0], hidden[-1][1], text)

    def _exclude(self) -> None:
        hidden, self._hidden = self._hidden, []
        for at, (first, last) in enumerate(hidden):
            self._builder.add(Override("exclude", first, last, HIDDEN, joined=at > 0))

    def _add(self, role: str, content: list[Any]) -> None:
        reply = self._builder.next_reply() if role == "assistant" else ""
        parts: list[Part] = []
        for part in content:
            kind = text_in(part, "type")
            if kind in ("toolRequest", "frontendToolRequest"):
                self._add_message(role, parts, reply)
                called = dict_in(part, "toolCall")
                inside = dict_in(called, "value") or called
                self._builder.call(text_in(part, "id"), text_in(inside, "name"), inside.get("arguments"), reply)
            elif kind == "toolResponse":
                self._add_message(role, parts, reply)
                self._result(part)
            elif kind == "thinking":
                self._builder.add(Reasoning(text_in(part, "thinking"), reply, text_in(part, "signature")))
            elif kind in _SHOWN or kind == "redactedThinking":
                self._builder.leave_out(kind)
            else:
                parts.append(part_of(part))
        self._add_message(role, parts, reply)

    def _add_message(self, role: str, parts: list[Part], reply: str) -> None:
        if parts:
            content = content_from(parts)
            model = self._builder.model
            self._builder.add(
                AssistantMessage(content, reply, model=model) if role == "assistant" else UserMessage(content)
            )
            parts.clear()

    def _result(self, part: dict[str, Any]) -> None:
        given = dict_in(part, "toolResult")
        value = given.get("value")
        inside = value if isinstance(value, list) else dict_in(given, "value").get("content", value)
        failed = text_in(given, "status") == "error" or dict_in(given, "value").get("isError") is True
        inside = inside if isinstance(inside, list | str) or inside is None else json_text(inside)
        content = content_of(inside)
        self._builder.result(text_in(part, "id"), text_in(given, "error") or content, failed)

    def finish(self) -> Recording:
        """Everything that was read."""
        self._exclude()
        return self._builder.finish()
