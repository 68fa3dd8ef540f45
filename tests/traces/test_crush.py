"""The database of Crush."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from support.recordings import FOLDER
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Failure,
    ImagePart,
    Reasoning,
    Setting,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations, read_file


def part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def read(folder: Path, *rows: tuple[str, Any], summary: str = "") -> Recording:
    path = folder / "crush.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE sessions (id, parent_session_id, title, summary_message_id, created_at)")
        database.execute("CREATE TABLE messages (id, session_id, role, parts, model, created_at)")
        database.execute("INSERT INTO sessions VALUES ('s', NULL, 'Look', ?, 1)", (summary,))
        for at, (role, parts) in enumerate(rows, 1):
            written = parts if isinstance(parts, str) else json.dumps(parts)
            database.execute(
                "INSERT INTO messages VALUES (?, 's', ?, ?, 'gpt', ?)", (f"m{at}", role, written, 1_754_564_150 + at)
            )
    database.close()
    [bodies] = read_conversations(*read_file(str(path)))
    assert bodies.format == "Crush"
    return bodies


def test_a_session_has_calls_with_results_thoughts_and_errors(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        ("user", [part("text", text="look"), part("image_url", url="x"), part("finish", reason="stop")]),
        (
            "assistant",
            [
                part("reasoning", thinking="hm"),
                part("text", text="I look."),
                part("tool_call", id="c", name="ls", input="{}"),
            ],
        ),
        ("tool", [part("tool_result", tool_call_id="c", name="ls", content="x", is_error=True)]),
        ("assistant", [part("text", text="So"), part("finish", reason="error", message="API Error", details="400")]),
        ("user", "no JSON"),
    )
    assert found[:-2] == [
        Setting("title", "Look"),
        UserMessage((TextPart("look"), ImagePart("x"))),
        Setting("model", "gpt"),
        Reasoning("hm", "m2"),
        AssistantMessage("I look.", "m2", finish="tool_calls", model="gpt"),
        ToolCall("c", "ls", "{}", "m2"),
        ToolResult("c", "x", "ls", True),
        AssistantMessage("So", "m4", finish="broken", model="gpt"),
        Failure("transcript", "API Error: 400"),
    ]
    assert isinstance(found[-2], Unknown)
    assert found.times[1] == 1_754_564_151_000


def test_a_summary_stands_for_all_before_it(tmp_path: Path) -> None:
    rows = [("user", [part("text", text="a")]), ("assistant", [part("text", text="all of it")])]
    found = read(tmp_path, *rows, ("user", [part("text", text="go on")]), summary="m2")
    assert found[-2:] == [Compaction(1, 3, "all of it", meta={"made_by": "Crush"}), UserMessage("go on")]


def test_every_call_of_a_real_database_has_its_result() -> None:
    for path in sorted((FOLDER / "crush").glob("*.db")):
        for bodies in read_conversations(*read_file(str(path))):
            calls = [body.call_id for body in bodies if isinstance(body, ToolCall)]
            assert calls == [body.call_id for body in bodies if isinstance(body, ToolResult)]
            assert not bodies.strange
