"""Sessions of Factory's Droid, and what it prints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    Reasoning,
    Setting,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from workbench.traces.formats import read_conversations

START = {"type": "session_start", "id": "s", "title": "Look", "sessionTitle": "New Session", "cwd": "/home"}


def message(role: str, *content: dict[str, Any], name: str = "m") -> dict[str, Any]:
    return {"type": "message", "id": name, "timestamp": "t", "message": {"role": role, "content": list(content)}}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def printed(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": "s", "timestamp": "2025-12-26T00:00:00.000Z", **more}


def read(*lines: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert bodies.format == "Droid"
    return [body for body in bodies if not (isinstance(body, Setting) and body.key == "left out")]


def test_a_session_has_its_title_and_calls_with_results() -> None:
    assert read(
        START,
        message("user", text("look")),
        message("assistant", {"type": "tool_use", "id": "c", "name": "Read", "input": {}}),
        {"type": "todo_state", "id": "t", "todos": {}},
        message("user", {"type": "tool_result", "tool_use_id": "c", "content": "x"}),
        {"type": "novelty"},
    ) == [
        Setting("title", "Look"),
        UserMessage("look"),
        ToolCall("c", "Read", "{}", "r2"),
        ToolResult("c", "x", "Read"),
        Unknown("Droid novelty", {"entry": {"type": "novelty"}}),
    ]


@pytest.mark.parametrize("told", [{"summaryText": "all of it"}, {"summary": {"title": "", "body": "all of it"}}])
def test_a_compaction_replaces_what_was_before_its_anchor(told: dict[str, Any]) -> None:
    lines = [START, message("user", text("a"), name="1"), message("user", text("b"), name="2")]
    made = {"type": "compaction_state", "id": "x", **told}
    assert read(*lines, made)[-1] == Compaction(1, 3, "all of it", meta={"made_by": "Droid"})
    anchored = {**made, "anchorMessage": {"id": "1", "index": 0}}
    assert read(*lines, anchored)[-1] == Compaction(1, 2, "all of it", meta={"made_by": "Droid"})


def test_what_is_printed_ends_with_the_last_words_once() -> None:
    lines = [
        printed("system", subtype="init", model="claude"),
        printed("message", role="user", text="look"),
        printed("reasoning", text="hm"),
        printed("tool_call", toolCallId="c", toolName="Shell", parameters={"command": "ls"}),
        printed("tool_result", toolCallId="c", value={"stdout": "x"}, isError=True),
        printed("message", role="assistant", text="Done"),
        printed("completion", finalText="Done"),
    ]
    expected = [
        Setting("model", "claude"),
        UserMessage("look"),
        Reasoning("hm", "r1"),
        ToolCall("c", "Shell", '{"command": "ls"}', "r1"),
        ToolResult("c", '{"stdout": "x"}', "Shell", True),
        AssistantMessage("Done", "r2", model="claude"),
    ]
    assert read(*lines) == expected
    assert read(*lines[:5], lines[6]) == expected
    assert read(*lines, printed("error", message="no quota"))[-1] == Failure("transcript", "no quota")
