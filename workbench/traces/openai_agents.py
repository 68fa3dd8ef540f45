"""The SQLite sessions of OpenAI's Agents SDK: `SQLiteSession`, also by way of SQLAlchemy, and `AdvancedSQLiteSession`.

- `agent_sessions` has the sessions, `agent_messages` their items in order: `message_data` is an item of the Responses
  API as JSON, whatever dialect was spoken. `provider_data` of an item names the model.
- An advanced session has branches in `message_structure`; the last written one is read. Its `turn_usage` has the tokens
  of a whole turn: if that was one request, it is the request's report.
- Exact: messages, calls, results. Missing: instructions, tools, and without `turn_usage` all reports. Items are written
  together when a turn ends: that is their time. An encrypted session cannot be read.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from workbench.config.text import without_surrogates
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording
from workbench.traces.tables import Tables, TableSession, object_in
from workbench.wire.responses import ResponsesReader
from workbench.wire.values import dict_in, number_in, text_in

NAME = format_names.OPENAI_AGENTS


def recognises_tables(tables: Tables) -> bool:
    """Whether it has the tables of these sessions."""
    return tables.has_table("agent_sessions", "session_id", "created_at") and tables.has_table(
        "agent_messages", "id", "session_id", "message_data", "created_at"
    )


def sessions(tables: Tables) -> list[TableSession]:
    found = tables.rows("SELECT session_id FROM agent_sessions ORDER BY created_at, rowid")
    return [TableSession(str(row["session_id"]), partial(_read, tables, row["session_id"])) for row in found]


def _read(tables: Tables, session: Any) -> Recording:
    builder = Builder(NAME)
    builder.says_title(without_surrogates(str(session)))
    reader = ResponsesReader(builder)
    rows, reports = _branch(tables, session)
    turns = [row["turn"] for row in rows]
    for row, after in zip(rows, [*turns[1:], None], strict=False):
        item = object_in(row, "message_data")
        builder.when(row["created_at"])
        builder.says_model(text_in(dict_in(item, "provider_data"), "model"))
        if "__enc__" in item:
            builder.unknown("encrypted", {"content": item})
        else:
            reader.message(item)
        if row["turn"] != after and row["turn"] in reports:
            _report(builder, reports[row["turn"]])
    return builder.finish()


def _branch(tables: Tables, session: Any) -> tuple[list[dict[str, Any]], dict[Any, dict[str, Any]]]:
    """The items with their turns, and the reports by turn."""
    if not tables.has_table("message_structure", "message_id", "branch_id", "sequence_number", "user_turn_number"):
        query = "SELECT message_data, created_at, NULL AS turn FROM agent_messages WHERE session_id = ? ORDER BY id"
        return tables.rows(query, session), {}
    newest = "SELECT branch_id FROM message_structure WHERE session_id = ? ORDER BY id DESC LIMIT 1"
    branch = next((row["branch_id"] for row in tables.rows(newest, session)), "main")
    items = tables.rows(
        "SELECT message_data, m.created_at, user_turn_number AS turn FROM message_structure s JOIN agent_messages m"
        " ON m.id = s.message_id WHERE s.session_id = ? AND branch_id = ? ORDER BY sequence_number",
        session,
        branch,
    )
    reports = "SELECT * FROM turn_usage WHERE session_id = ? AND branch_id = ?"
    used = (
        tables.rows(reports, session, branch) if tables.has_table("turn_usage", "user_turn_number", "requests") else []
    )
    return items, {row["user_turn_number"]: row for row in used}


def _report(builder: Builder, used: dict[str, Any]) -> None:
    if used["requests"] != 1:
        builder.leave_out("reports of turns with several requests")
        return
    given, got = object_in(used, "input_tokens_details"), object_in(used, "output_tokens_details")
    builder.usage(
        number_in(used, "input_tokens"),
        number_in(used, "output_tokens"),
        cached=number_in(given, "cached_tokens"),
        cache_write=number_in(given, "cache_write_tokens"),
        reasoning=number_in(got, "reasoning_tokens"),
    )
