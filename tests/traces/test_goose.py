"""Sessions of goose."""

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
    Override,
    Reasoning,
    Setting,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.traces.formats import read_conversations, read_file
from workbench.traces.goose import HIDDEN


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def message(role: str, *content: dict[str, Any], user: bool = True, agent: bool = True) -> dict[str, Any]:
    seen = {"userVisible": user, "agentVisible": agent}
    return {"role": role, "created": 1_754_564_150, "content": list(content), "metadata": seen}


CALL = {"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value": {"name": "ls", "arguments": {}}}}
TALK = [
    message("user", text("look")),
    message("assistant", {"type": "thinking", "thinking": "hm", "signature": "s"}, text("I look."), CALL),
    message("user", {"type": "toolResponse", "id": "c", "toolResult": {"status": "success", "value": [text("x")]}}),
]
READ: list[Body] = [
    UserMessage("look"),
    Reasoning("hm", "r1", "s"),
    AssistantMessage("I look.", "r1", model="claude"),
    ToolCall("c", "ls", "{}", "r1"),
    ToolResult("c", "x", "ls"),
]


def read(*messages: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps({"id": "s", "conversation": messages}))
    assert bodies.format == "goose"
    return bodies


def test_the_database_has_the_sessions(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE sessions (id, description, created_at, model_config_json)")
        database.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content_json, created_timestamp)"
        )
        database.execute("INSERT INTO sessions VALUES ('s', 'Look', '2026', '{\"model_name\": \"claude\"}')")
        for each in TALK:
            row = ("s", each["role"], json.dumps(each["content"]), each["created"])
            database.execute(
                "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?, ?, ?, ?)", row
            )
    database.close()
    [bodies] = read_conversations(*read_file(str(path)))
    assert bodies == [Setting("title", "Look"), Setting("model", "claude"), *READ]
    assert bodies.times[-1] == 1_754_564_150_000


@pytest.mark.parametrize(
    ("given", "content", "failed"),
    [
        ({"status": "error", "error": "no such tool"}, "no such tool", True),
        ({"status": "success", "value": {"content": [text("x")], "isError": True}}, "x", True),
        ({"status": "success", "value": {"y": 1}}, '{"y": 1}', False),
    ],
)
def test_results_are_read_in_every_form(given: dict[str, Any], content: str, failed: bool) -> None:
    found = read(*TALK[:2], message("user", {"type": "toolResponse", "id": "c", "toolResult": given}))
    assert found[-1] == ToolResult("c", content, "ls", failed)


def test_after_a_compaction_the_summary_stands_for_what_the_model_no_longer_sees() -> None:
    hidden = [{**each, "metadata": {"userVisible": True, "agentVisible": False}} for each in TALK]
    found = read(*hidden, message("user", text("all of it"), user=False), message("user", text("go on")))
    assert found[5:] == [Compaction(1, 5, "all of it", meta={"made_by": "goose"}), UserMessage("go on")]


def test_what_is_hidden_without_a_summary_is_excluded() -> None:
    shown = {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "compacting"}
    assert read(message("user", text("a"), agent=False), message("assistant", shown), message("user", text("b"))) == [
        UserMessage("a"),
        Override("exclude", 1, 1, HIDDEN),
        UserMessage("b"),
        Setting("left out", {"systemNotification": 1}),
    ]
