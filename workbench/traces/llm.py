"""llm: its log, `logs.db`.

- Today (0.36), `messages` form chains by `parent_hash`, with their content in `parts`; a row of `threads` names the end
  of a chain, and a row of `turns` is one request, which names the last message of its answer. Texts may be in
  `fragments`, pictures and files in `attachments`; `turn_tools` lists the `tools` on offer.
- Before, `responses` had one request each with its prompt and its answer, and `conversations` joined them. Such rows
  stay in the database when llm is updated; each conversation is a separate one here.
- Exact: messages with the system prompt, tools, calls, results, and the report of every request. Missing: the options
  of the model; what Python code sends is logged only if it asks for that.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from workbench.log.events import (
    AssistantMessage,
    Content,
    ImagePart,
    Part,
    Reasoning,
    SlotContent,
    SystemMessage,
    UserMessage,
)
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording
from workbench.traces.tables import Tables, TableSession, object_in
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.values import content_from, dict_in, json_text, list_in, number_in, other_part, part_of, text_in

NAME = format_names.LLM
_LONGEST = 86_400_000
"""Milliseconds that an answer may take; a longer time in a log is ignored."""


def recognises_tables(tables: Tables) -> bool:
    """Whether it is the log of llm, by any version."""
    return _has_threads(tables) or (
        tables.has_table("conversations", "id", "name", "model")
        and tables.has_table("responses", "id", "model", "prompt", "response", "conversation_id", "datetime_utc")
    )


def _has_threads(tables: Tables) -> bool:
    return (
        tables.has_table("threads", "id", "name", "tip_message_hash")
        and tables.has_table("turns", "id", "thread_id", "tip_message_hash", "model", "input_tokens")
        and tables.has_table("messages", "hash", "parent_hash", "role")
        and tables.has_table("parts", "message_hash", "position", "type", "text", "payload")
    )


def sessions(tables: Tables) -> list[TableSession]:
    """The conversations of both kinds, oldest first; ids begin with their time."""
    found: list[tuple[str, TableSession]] = []
    if _has_threads(tables):
        for row in tables.rows("SELECT id, name, tip_message_hash FROM threads"):
            found.append((str(row["id"]), TableSession(str(row["name"] or ""), partial(_thread, tables, row))))
    threads = {name for name, _ in found}
    if tables.has_table("conversations", "id", "name"):
        for row in tables.rows("SELECT id, name FROM conversations"):
            if str(row["id"]) not in threads:
                read = partial(_conversation, tables, row)
                found.append((str(row["id"]), TableSession(str(row["name"] or ""), read)))
    return [session for _, session in sorted(found, key=lambda each: each[0])]


class LastRequest(NamedTuple):
    """A conversation and its last request, for a list of sessions."""

    id: str
    title: str
    model: str
    at: int
    """When it was answered, in milliseconds since 1970. llm notes when it began, which is before it sends anything."""
    prompt: int
    cached: int
    completion: int


def last_requests(tables: Tables) -> list[LastRequest]:
    """The last request of each conversation, in the order of `sessions`."""
    found: dict[str, LastRequest] = {}
    for table, requests, key in (("threads", "turns", "thread_id"), ("conversations", "responses", "conversation_id")):
        if tables.has_table(table, "id", "name") and tables.has_table(requests, key, "model", "datetime_utc"):
            # With max(), SQLite takes the other columns from the row that has it.
            query = (
                f"SELECT r.*, s.id AS session, s.name AS title, max(r.datetime_utc) AS last FROM {table} s"
                f" LEFT JOIN {requests} r ON r.{key} = s.id GROUP BY s.id"
            )
            for row in tables.rows(query):
                session, model = str(row["session"]), text_in(row, "resolved_model") or text_in(row, "model")
                tokens = {key: count for key, count in _reported(row).items() if key in LastRequest._fields}
                at = epoch_milliseconds(row["last"]) + min(number_in(row, "duration_ms"), _LONGEST)
                made = LastRequest(session, text_in(row, "title"), model, at, **tokens)
                found.setdefault(session, made)
    return sorted(found.values(), key=lambda each: each.id)


def _thread(tables: Tables, thread: dict[str, Any]) -> Recording:
    reader = _Reader(tables, text_in(thread, "name"))
    chain = tables.rows(
        "WITH RECURSIVE chain (hash, parent, role, depth) AS (SELECT hash, parent_hash, role, 0 FROM messages"
        " WHERE hash = ? UNION SELECT m.hash, m.parent_hash, m.role, depth + 1 FROM messages m JOIN chain"
        " ON m.hash = chain.parent WHERE depth < (SELECT count(*) FROM messages))"
        " SELECT hash, role FROM chain ORDER BY depth DESC",
        thread["tip_message_hash"],
    )
    # A fork has messages that another thread got first: their requests belong to that one.
    query = "SELECT * FROM turns ORDER BY thread_id = ?, datetime_utc"
    turns = {row["tip_message_hash"]: row for row in tables.rows(query, thread["id"])}
    ahead: dict[str, Any] = {}
    planned = []
    for row in reversed(chain):
        ahead = turns.get(row["hash"], ahead)
        planned.append((row, ahead))
    for row, turn in reversed(planned):
        reader.turn(turn)
        reader.message(text_in(row, "role"), row["hash"])
        if row["hash"] in turns:
            reader.report(turns[row["hash"]])
    return reader.builder.finish()


def _conversation(tables: Tables, conversation: dict[str, Any]) -> Recording:
    reader = _Reader(tables, text_in(conversation, "name"))
    query = "SELECT * FROM responses WHERE conversation_id = ? ORDER BY datetime_utc, id"
    for row in tables.rows(query, conversation["id"]):
        reader.response(row)
    return reader.builder.finish()


class _Reader:
    """One conversation."""

    def __init__(self, tables: Tables, title: str) -> None:
        self.builder = Builder(NAME)
        self.builder.says_title(title)
        self._tables = tables
        self._replies = 0
        self._turn: str | None = None
        self._offered: set[str] = set()
        self._system = ""

    def turn(self, turn: dict[str, Any]) -> None:
        """Begin a request: its time, and the tools on offer."""
        if turn and turn["id"] != self._turn:
            self._turn = turn["id"]
            self.builder.when(turn["datetime_utc"])
            self.builder.says_model(text_in(turn, "resolved_model") or text_in(turn, "model"))
            self._offer("turn_tools", "turn_id", turn["id"])

    def _offer(self, table: str, column: str, key: str) -> None:
        if not self._tables.has_table(table, column, "tool_id"):
            return
        tools = self._tables.rows(
            f"SELECT t.name, description, input_schema FROM {table} u JOIN tools t ON t.id = u.tool_id"
            f" WHERE u.{column} = ? ORDER BY u.rowid",
            key,
        )
        names = {str(tool["name"]) for tool in tools}
        self.builder.add(*(SlotContent("tools", name, "") for name in sorted(self._offered - names)))
        for tool in tools:
            if str(tool["name"]) not in self._offered:
                schema, about = object_in(tool, "input_schema"), text_in(tool, "description")
                self.builder.tool({"name": text_in(tool, "name"), "description": about, "parameters": schema})
        self._offered = names

    def message(self, role: str, message: str) -> None:
        """Add a message of a chain, from its parts."""
        rows = self._tables.rows("SELECT * FROM parts WHERE message_hash = ? ORDER BY position", message)
        parts: list[Part] = []
        self._replies += role == "assistant"
        for row in rows:
            part = object_in(row, "payload")
            match row["type"]:
                case "text" | "reasoning" if role == "assistant":
                    self._say(row["type"], self._text(row, part))
                case "text":
                    parts.append(part_of(self._text(row, part)))
                case "attachment":
                    parts += self._attachments([dict_in(part, "attachment")])
                case "tool_call":
                    name, given = text_in(part, "name"), part.get("arguments")
                    self.builder.call(text_in(part, "tool_call_id"), name, given, self._reply)
                case "tool_result":
                    attached = self._attachments(list_in(part, "attachments"))
                    self._result(part, text_in(part, "output"), attached)
                case _:
                    known = {column: value for column, value in row.items() if not isinstance(value, bytes)}
                    self.builder.unknown("part", {"content": {**known, "text": self._text(row, part)}})
        if parts:
            self._add_message(role, content_from(parts))

    @property
    def _reply(self) -> str:
        return f"r{self._replies}"

    def _say(self, kind: str, text: str) -> None:
        if kind == "reasoning":
            self.builder.add(Reasoning(text, self._reply))
        elif text:
            self.builder.add(AssistantMessage(text, self._reply, model=self.builder.model))

    def _add_message(self, role: str, content: Content) -> None:
        if role == "user":
            self.builder.add(UserMessage(content))
        elif role in ("system", "developer"):
            self.builder.add(SystemMessage(content, role))
        else:
            self.builder.unknown(f"message of {role}", {"role": role})

    def _result(self, value: dict[str, Any], output: str, attached: Iterable[Part] = ()) -> None:
        failed = bool(value.get("exception"))
        content = content_from([part_of(output), *attached])
        self.builder.result(text_in(value, "tool_call_id"), content, failed, text_in(value, "name"))

    def _text(self, row: dict[str, Any], part: dict[str, Any]) -> str:
        """A part's text, which may be assembled from fragments."""
        if isinstance(row["text"], str):
            return text_in(row, "text")
        pieces = []
        for piece in list_in(part, "text_ref"):
            found = self._tables.rows("SELECT content FROM fragments WHERE id = ?", number_in(piece, "fragment"))
            pieces.append(text_in(piece, "literal") or "".join(text_in(each, "content") for each in found))
        return "".join(pieces)

    def _attachments(self, named: Iterable[Any]) -> list[Part]:
        query = "SELECT type, path, url, content FROM attachments WHERE id = ?"
        return [_attachment(row) for each in named for row in self._tables.rows(query, text_in(each, "id"))]

    def response(self, row: dict[str, Any]) -> None:
        """Add a request and its answer as older versions wrote them."""
        self.builder.when(row["datetime_utc"])
        self.builder.says_model(text_in(row, "resolved_model") or text_in(row, "model"))
        self._offer("tool_responses", "response_id", row["id"])
        system = self._with_fragments("system_fragments", row["id"], text_in(row, "system"))
        if system and system != self._system:
            self._system = system
            self.builder.add(SystemMessage(system))
        prompt = self._with_fragments("prompt_fragments", row["id"], text_in(row, "prompt"))
        attached = self._of("prompt_attachments", "attachments", "attachment_id", row["id"])
        parts: list[Part] = [part_of(prompt)] if prompt else []
        if parts or attached:
            self.builder.add(UserMessage(content_from([*parts, *map(_attachment, attached)])))
        for result in self._rows("tool_results", row["id"]):
            self._result(result, text_in(result, "output"))
        self._replies += 1
        if text_in(row, "reasoning"):
            self._say("reasoning", text_in(row, "reasoning"))
        self._say("text", text_in(row, "response"))
        for call in self._rows("tool_calls", row["id"]):
            given = json_text(text_in(call, "arguments") or {})
            self.builder.call(text_in(call, "tool_call_id"), text_in(call, "name"), given, self._reply)
        self.report(row)

    def _rows(self, table: str, response: str) -> list[dict[str, Any]]:
        if not self._tables.has_table(table, "id", "response_id"):
            return []
        return self._tables.rows(f"SELECT * FROM {table} WHERE response_id = ? ORDER BY id", response)

    def _of(self, table: str, other: str, column: str, response: str) -> list[dict[str, Any]]:
        """The rows of another table that a response names, in order."""
        if not self._tables.has_table(table, "response_id", column, "order"):
            return []
        query = f'SELECT o.* FROM {table} t JOIN {other} o ON o.id = t.{column} WHERE response_id = ? ORDER BY "order"'
        return self._tables.rows(query, response)

    def _with_fragments(self, table: str, response: str, text: str) -> str:
        found = [text_in(row, "content") for row in self._of(table, "fragments", "fragment_id", response)]
        return "\n".join(each for each in (*found, text) if each)

    def report(self, row: dict[str, Any]) -> None:
        """Add the report on a request."""
        self.builder.usage(**_reported(row))


def _reported(row: dict[str, Any]) -> dict[str, int]:
    """The report on a request. Anthropic counts cached tokens separately, OpenAI inside the prompt."""
    more = object_in(row, "token_details")
    cache_read, written = number_in(more, "cache_read_input_tokens"), number_in(more, "cache_creation_input_tokens")
    return {
        "prompt": number_in(row, "input_tokens") + cache_read + written,
        "completion": number_in(row, "output_tokens"),
        "cached": cache_read or number_in(dict_in(more, "prompt_tokens_details"), "cached_tokens"),
        "cache_write": written,
        "reasoning": number_in(dict_in(more, "completion_tokens_details"), "reasoning_tokens"),
    }


def _attachment(row: dict[str, Any]) -> Part:
    """A picture by its address or with its bytes; anything else by its name."""
    kind, raw = text_in(row, "type"), row["content"]
    if kind.startswith("image/") and (text_in(row, "url") or isinstance(raw, bytes)):
        encoded = f"data:{kind};base64,{b64encode(raw).decode()}" if isinstance(raw, bytes) else ""
        return ImagePart(text_in(row, "url") or encoded)
    return other_part({"type": "file", "file": {"mime": kind, "name": text_in(row, "url") or text_in(row, "path")}})
