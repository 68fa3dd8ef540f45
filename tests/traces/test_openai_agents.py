"""The SQLite sessions of OpenAI's Agents SDK."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from workbench.config.errors import WrongCall
from workbench.log.events import AssistantMessage, Body, Setting, ToolCall, ToolResult, Usage, UserMessage
from workbench.traces.formats import read_conversations, read_file

TABLES = """
CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, message_data TEXT,
    created_at TIMESTAMP);
"""
ADVANCED = """
CREATE TABLE message_structure (id INTEGER PRIMARY KEY, session_id TEXT, message_id INTEGER, branch_id TEXT,
    sequence_number INTEGER, user_turn_number INTEGER);
CREATE TABLE turn_usage (id INTEGER PRIMARY KEY, session_id TEXT, branch_id TEXT, user_turn_number INTEGER,
    requests INTEGER, input_tokens INTEGER, output_tokens INTEGER, input_tokens_details TEXT,
    output_tokens_details TEXT);
"""
AT = 1_794_776_239_000
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "x"}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "found"}


def asked(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content, "provider_data": {"model": "gpt"}}


def store(path: Path, items: list[dict[str, Any]]) -> sqlite3.Connection:
    made = sqlite3.connect(path)
    made.executescript(TABLES)
    made.execute("INSERT INTO agent_sessions VALUES ('talk', '2026-11-15 20:57:19', '2026-11-15 20:57:19')")
    for item in items:
        row = ("talk", json.dumps(item), "2026-11-15 20:57:19")
        made.execute("INSERT INTO agent_messages (session_id, message_data, created_at) VALUES (?, ?, ?)", row)
    made.commit()
    return made


def read(path: Path) -> list[Body]:
    [found] = read_conversations(*read_file(str(path)))
    assert found[0] == Setting("title", "talk")
    assert set(found.times[1:]) == {AT}
    return found[1:]


def test_the_items_of_a_session_are_its_conversation(tmp_path: Path) -> None:
    store(tmp_path / "talk.db", [asked("look"), said("I look."), CALL, RESULT, said("x is there.")])
    assert read(tmp_path / "talk.db") == [
        UserMessage("look"),
        Setting("model", "gpt"),
        AssistantMessage("I look.", "r1", model="gpt"),
        ToolCall("c1", "read", '{"path": "x"}', "r1"),
        ToolResult("c1", "found", "read"),
        AssistantMessage("x is there.", "r2", model="gpt"),
    ]


def test_an_advanced_session_is_its_last_branch_and_a_turn_of_one_request_has_its_report(
    tmp_path: Path,
) -> None:
    items = [asked("one"), said("1"), asked("left"), asked("two"), CALL, RESULT, said("2")]
    made = store(tmp_path / "talk.db", items)
    made.executescript(ADVANCED)
    rows = [(1, "main", 1, 1), (2, "main", 2, 1), (3, "main", 3, 2)]
    rows += [(1, "b", 1, 1), (2, "b", 2, 1), (4, "b", 3, 2), (5, "b", 4, 2), (6, "b", 5, 2), (7, "b", 6, 2)]
    made.executemany("INSERT INTO message_structure VALUES (NULL, 'talk', ?, ?, ?, ?)", rows)
    used = [(1, 1, 70, 9, '{"cached_tokens": 64}', '{"reasoning_tokens": 3}'), (2, 2, 200, 8, None, None)]
    made.executemany("INSERT INTO turn_usage VALUES (NULL, 'talk', 'b', ?, ?, ?, ?, ?, ?)", used)
    made.commit()
    found = read(tmp_path / "talk.db")
    assert [body.content for body in found if isinstance(body, UserMessage)] == ["one", "two"]
    assert found[2:4] == [AssistantMessage("1", "r1", model="gpt"), Usage("gpt", 0, 70, 64, 0, 9, 3)]
    assert found[-1] == Setting("left out", {"reports of turns with several requests": 1})


def test_an_encrypted_session_is_refused(tmp_path: Path) -> None:
    store(tmp_path / "talk.db", [{"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": "gAAA"}])
    with pytest.raises(WrongCall, match="a session that is not understood"):
        read_conversations(*read_file(str(tmp_path / "talk.db")))


def test_tables_of_the_same_names_are_not_enough(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "talk.db") as made:
        made.executescript("CREATE TABLE agent_sessions (id); CREATE TABLE agent_messages (id, message_data)")
    with pytest.raises(WrongCall, match="found a database with the tables 'agent_sessions', 'agent_messages', which"):
        read_conversations(*read_file(str(tmp_path / "talk.db")))
