"""The log of llm, as its versions have written it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from workbench.config.errors import WrongCall
from workbench.log.events import (
    AssistantMessage,
    ImagePart,
    Reasoning,
    Setting,
    SlotContent,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations, read_file

SHARED = """
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, source TEXT);
CREATE TABLE tools (id INTEGER PRIMARY KEY, hash TEXT, name TEXT, description TEXT, input_schema TEXT);
INSERT INTO tools VALUES (1, '', 'read', 'Read.', '{"type": "object"}'), (2, '', 'run', 'Run.', '{}');
INSERT INTO fragments VALUES (1, '', 'all of it', NULL);
INSERT INTO attachments VALUES ('a', 'image/png', NULL, NULL, X'00'), ('b', 'audio/wav', 'x.wav', NULL, NULL);
"""
THREADS = (
    SHARED
    + """
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT, text TEXT, payload TEXT);
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, tip_message_hash TEXT, model TEXT, resolved_model TEXT,
    input_tokens INTEGER, output_tokens INTEGER, token_details TEXT, datetime_utc TEXT);
CREATE TABLE turn_tools (turn_id TEXT, tool_id INTEGER, PRIMARY KEY (turn_id, tool_id));
"""
)
RESPONSES = (
    SHARED
    + """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT, conversation_id TEXT,
    datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER, token_details TEXT);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE tool_responses (tool_id INTEGER, response_id TEXT);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, output TEXT, tool_call_id TEXT,
    exception TEXT);
"""
)
CALLED = {"name": "read", "arguments": {"path": "x"}, "tool_call_id": "c1"}
DEFINED = SlotContent("tools", "read", '{"name": "read", "description": "Read.", "parameters": {"type": "object"}}')


def chain(made: sqlite3.Connection, *messages: tuple[str, list[tuple[str, str | None, Any]]]) -> None:
    """Messages `m1`, `m2` and so on, each the parent of the next."""
    for at, (role, parts) in enumerate(messages, 1):
        parent = f"m{at - 1}" if at > 1 else None
        made.execute("INSERT INTO messages VALUES (?, ?, ?)", (f"m{at}", parent, role))
        for position, (kind, text, payload) in enumerate(parts):
            row = (f"m{at}", position, kind, text, json.dumps(payload) if payload else None)
            made.execute("INSERT INTO parts VALUES (NULL, ?, ?, ?, ?, ?)", row)


def read(path: Path, number: int = 1) -> Recording:
    return read_conversations(*read_file(str(path)))[number - 1]


@pytest.fixture
def log(tmp_path: Path) -> sqlite3.Connection:
    made = sqlite3.connect(tmp_path / "logs.db", isolation_level=None)
    made.executescript(THREADS)
    return made


def test_a_thread_with_its_system_prompt_tools_thoughts_and_reports(log: sqlite3.Connection, tmp_path: Path) -> None:
    chain(
        log,
        ("system", [("text", "be brief", None)]),
        ("user", [("text", None, {"text_ref": [{"fragment": 1}, {"literal": "\nlook"}]})]),
        ("assistant", [("reasoning", "hm", None), ("text", "I look.", None), ("tool_call", None, CALLED)]),
        ("tool", [("tool_result", None, {"name": "read", "output": "no", "tool_call_id": "c1", "exception": "E"})]),
        ("assistant", [("text", "none.", None)]),
        ("user", [("text", "this?", None), ("attachment", None, {"attachment": {"id": "a"}})]),
    )
    log.execute("INSERT INTO threads VALUES ('t', 'A talk', 'm6', NULL)")
    cached = '{"prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 2}}'
    log.execute(
        "INSERT INTO turns VALUES ('u1', 't', 'm3', 'm', 'm-1', 70, 9, ?, '2026-11-15T20:48:02.5+00:00')", (cached,)
    )
    log.execute("INSERT INTO turns VALUES ('u2', 't', 'm5', 'm', 'm-1', 99, 4, NULL, '2026-11-15T20:48:03+00:00')")
    log.execute("INSERT INTO turn_tools VALUES ('u1', 1), ('u2', 2)")
    found = read(tmp_path / "logs.db")
    assert found == [
        Setting("title", "A talk"),
        Setting("model", "m-1"),
        DEFINED,
        SystemMessage("be brief"),
        UserMessage("all of it\nlook"),
        Reasoning("hm", "r1"),
        AssistantMessage("I look.", "r1", model="m-1"),
        ToolCall("c1", "read", '{"path": "x"}', "r1"),
        Usage("m-1", 0, 70, 64, 0, 9, 2),
        SlotContent("tools", "read", ""),
        SlotContent("tools", "run", '{"name": "run", "description": "Run.", "parameters": {}}'),
        ToolResult("c1", "no", "read", is_error=True),
        AssistantMessage("none.", "r2", model="m-1"),
        Usage("m-1", 0, 99, completion=4),
        UserMessage((TextPart("this?"), ImagePart("data:image/png;base64,AA=="))),
    ]
    assert found.times[:3] == [0, 1_794_775_682_500, 1_794_775_682_500]


def test_a_fork_has_the_reports_of_what_it_shares(log: sqlite3.Connection, tmp_path: Path) -> None:
    chain(
        log, ("user", [("text", "one", None)]), ("assistant", [("text", "1", None)]), ("user", [("text", "left", None)])
    )
    log.execute("INSERT INTO messages VALUES ('other', 'm2', 'user')")
    log.execute("INSERT INTO parts VALUES (NULL, 'other', 0, 'text', 'two', NULL)")
    log.execute("INSERT INTO threads VALUES ('t', 'A', 'm3', NULL), ('v', 'B', 'other', 't')")
    log.execute("INSERT INTO turns VALUES ('u1', 't', 'm2', 'm', NULL, 70, 9, NULL, '2026-11-15T20:48:02+00:00')")
    assert read(tmp_path / "logs.db", 2)[2:] == [
        UserMessage("one"),
        AssistantMessage("1", "r1", model="m"),
        Usage("m", 0, 70, completion=9),
        UserMessage("two"),
    ]


def test_a_chain_that_bites_its_tail_ends(log: sqlite3.Connection, tmp_path: Path) -> None:
    chain(log, ("user", [("text", "one", None)]), ("user", [("text", "two", None)]))
    log.execute("UPDATE messages SET parent_hash = 'm2' WHERE hash = 'm1'")
    log.execute("INSERT INTO threads VALUES ('t', 'A', 'm2', NULL)")
    assert UserMessage("one") in read(tmp_path / "logs.db")


@pytest.mark.parametrize(("table", "column"), [("messages", "role"), ("parts", "type"), ("parts", "payload")])
def test_bytes_in_the_place_of_a_text_break_nothing(
    table: str, column: str, log: sqlite3.Connection, tmp_path: Path
) -> None:
    asked: list[tuple[str, list[tuple[str, str | None, Any]]]] = [
        ("user", [("text", f"{at}", None)]) for at in range(10)
    ]
    chain(log, *asked, ("user", [("text", "odd", None), ("dream", None, None)]))
    log.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = (SELECT max(rowid) FROM {table})", (b"\0x",))
    log.execute("INSERT INTO threads VALUES ('t', 'A', 'm11', NULL)")
    found = read(tmp_path / "logs.db")
    assert UserMessage("5") in found
    assert any(isinstance(body, Unknown) for body in found)


def test_responses_of_older_versions(tmp_path: Path) -> None:
    made = sqlite3.connect(tmp_path / "logs.db", isolation_level=None)
    made.executescript(RESPONSES)
    made.execute("INSERT INTO conversations VALUES ('01a', 'A talk', 'm')")
    first = ("r1", "m", "look", "be brief", "", "01a", "2026-11-15T20:48:02", 70, 9, None)
    used = '{"cache_read_input_tokens": 30, "cache_creation_input_tokens": 5}'
    second = ("r2", "m", "", "be brief", "none.", "01a", "2026-11-15T20:48:03", 99, 4, used)
    made.executemany("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [first, second])
    made.execute("INSERT INTO prompt_fragments VALUES ('r1', 1, 0)")
    made.execute("INSERT INTO prompt_attachments VALUES ('r1', 'b', 0)")
    made.execute("INSERT INTO tool_responses VALUES (1, 'r1'), (1, 'r2')")
    made.execute("""INSERT INTO tool_calls VALUES (1, 'r1', 'read', '{"path": "x"}', 'c1')""")
    made.execute("INSERT INTO tool_results VALUES (1, 'r2', 'read', 'no', 'c1', NULL)")
    found = read(tmp_path / "logs.db")
    assert found[:4] == [Setting("title", "A talk"), Setting("model", "m"), DEFINED, SystemMessage("be brief")]
    asked = found[4]
    assert isinstance(asked, UserMessage)
    assert asked.content[0] == TextPart("all of it\nlook")
    assert found[5:] == [
        ToolCall("c1", "read", '{"path": "x"}', "r1"),
        Usage("m", 0, 70, completion=9),
        ToolResult("c1", "no", "read"),
        AssistantMessage("none.", "r2", model="m"),
        Usage("m", 0, 134, 30, 5, 4),
    ]


@pytest.mark.parametrize(
    "tables",
    [
        "CREATE TABLE conversations (id, name, model); CREATE TABLE responses (id, prompt, response)",
        "CREATE TABLE threads (id, name); CREATE TABLE messages (hash, role); CREATE TABLE parts (id, type, text)",
    ],
)
def test_tables_of_the_same_names_are_not_enough(tmp_path: Path, tables: str) -> None:
    with sqlite3.connect(tmp_path / "logs.db") as made:
        made.executescript(tables)
    with pytest.raises(WrongCall, match="which is no transcript of a known format"):
        read(tmp_path / "logs.db")
