"""Steps of Windsurf's Cascade."""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import AssistantMessage, Reasoning, ToolCall, ToolResult, Unknown, UserMessage
from workbench.traces.formats import read_conversations


def step(kind: str, status: str = "done", **inside: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, kind: inside}


def test_steps_are_what_was_said_and_calls_with_their_results() -> None:
    strange = {"type": "novelty", "status": "done"}
    lines = [
        step("user_input", user_response="look"),
        step("planner_response", response="I look.", thinking="hm"),
        step("view_file", path="a", start_line=0, content="x"),
        step("run_command", command="ls", exit_code=1, output="no", stdout="no", user_rejected=False),
        step("list_resources", "error", server_name="memory"),
        step("planner_response", response="Done."),
        strange,
    ]
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert bodies == [
        UserMessage("look"),
        Reasoning("hm", "r1"),
        AssistantMessage("I look.", "r1"),
        ToolCall("call_1", "view_file", '{"path": "a", "start_line": 0}', "r1"),
        ToolResult("call_1", "x", "view_file"),
        ToolCall("call_2", "run_command", '{"command": "ls"}', "r2"),
        ToolResult(
            "call_2",
            '{"exit_code": 1, "output": "no", "stdout": "no", "user_rejected": false}',
            "run_command",
            True,
        ),
        ToolCall("call_3", "list_resources", '{"server_name": "memory"}', "r3"),
        ToolResult("call_3", "", "list_resources", True),
        AssistantMessage("Done.", "r4"),
        Unknown("Windsurf novelty", {"entry": strange}),
    ]
