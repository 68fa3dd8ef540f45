"""Conversations of Kiro CLI and Amazon Q."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from workbench.traces.formats import read_conversations, read_file


def turn(user: Any, assistant: Any) -> dict[str, Any]:
    return {"user": {"content": user, "timestamp": "2026-01-02T03:04:05Z"}, "assistant": assistant}


def response(said: str) -> dict[str, Any]:
    return {"Response": {"message_id": "m", "content": said}}


def results(name: str, *content: dict[str, Any], status: str = "Success") -> dict[str, Any]:
    return {"tool_use_results": [{"tool_use_id": name, "content": list(content), "status": status}]}


ASKED = {"Prompt": {"prompt": "look"}}
CALL = {"ToolUse": {"message_id": "t", "content": "I look.", "tool_uses": [{"id": "c", "name": "ls", "args": {}}]}}


def read(*history: Any, **more: Any) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps({"conversation_id": "", "history": history, **more}))
    assert bodies.format == "Kiro"
    return bodies


@pytest.mark.parametrize("as_pairs", [True, False])
def test_turns_are_what_was_said_and_calls_with_their_results(as_pairs: bool) -> None:
    given = results("c", {"Text": "x"}, {"Json": {"y": 1}}, status="Error")
    turns: list[Any] = [turn(ASKED, CALL), turn({"ToolUseResults": given}, response("Done."))]
    if as_pairs:
        turns = [[each["user"], each["assistant"]] for each in turns]
    assert read(*turns, model="claude", transcript=[]) == [
        Setting("model", "claude"),
        UserMessage("look"),
        AssistantMessage("I look.", "t", model="claude"),
        ToolCall("c", "ls", "{}", "t"),
        ToolResult("c", 'x\n{"y": 1}', "ls", True),
        AssistantMessage("Done.", "m", model="claude"),
        Setting("left out", {"transcript": 1}),
    ]


def test_calls_without_ids_get_one_and_cancelled_ones_failed() -> None:
    bare = {"ToolUse": {"message_id": "", "tool_uses": [{"id": "", "name": "ls", "args": {}}]}}
    cancelled = {"CancelledToolUses": {"prompt": "stop", **results("", {"Text": "cancelled"})}}
    assert read(turn(ASKED, bare), turn(cancelled, response("Ok.")), turn(None, {}), turn({"x": 1}, {}), 7) == [
        UserMessage("look"),
        ToolCall("call_1", "ls", "{}", "r1"),
        ToolResult("call_1", "cancelled", "ls", True),
        UserMessage("stop"),
        AssistantMessage("Ok.", "m"),
        Unknown("Kiro user", {"entry": {"x": 1}}),
        Unknown("Kiro entry", {"entry": 7}),
    ]


def test_a_summary_stands_for_what_is_not_in_the_file() -> None:
    tool = {"ToolSpecification": {"name": "ls", "description": "d", "input_schema": {"json": {"type": "object"}}}}
    found = read(turn(ASKED, response("Ok.")), latest_summary=["all of it", {}], tools={"native": [tool]})
    assert isinstance(found[0], SlotContent)
    assert found[1] == Compaction(2, 1, "all of it", meta={"made_by": "Kiro"})


def test_the_database_has_a_conversation_per_row(tmp_path: Path) -> None:
    path = tmp_path / "data.sqlite3"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE conversations (key TEXT, value TEXT)")
        database.execute("CREATE TABLE conversations_v2 (key, conversation_id, value, updated_at)")
        value = json.dumps({"history": [turn(ASKED, response("Ok."))]})
        database.execute("INSERT INTO conversations VALUES ('/old', ?), ('/broken', 'x')", (value,))
        database.execute("INSERT INTO conversations_v2 VALUES ('/new', 'c', ?, 1)", (value,))
    database.close()
    found = read_conversations(*read_file(str(path)))
    assert [each.title for each in found] == ["/old", "/new"]
    assert all(UserMessage("look") in each for each in found)
