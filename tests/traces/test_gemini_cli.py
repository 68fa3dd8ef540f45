"""A recorded chat of Gemini CLI is read with its calls, thoughts and usage."""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import (
    AssistantMessage,
    Failure,
    Reasoning,
    Setting,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.formats import conversations


def call(name: str, result: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "name": "ls", "args": {"path": name}, "result": result, **more}


def response(**said: Any) -> list[dict[str, Any]]:
    return [{"functionResponse": {"id": "x", "name": "ls", "response": said}}]


CHAT = {
    "sessionId": "s",
    "messages": [
        {"id": "1", "type": "user", "content": [{"text": "what is here?"}]},
        {
            "id": "2",
            "type": "gemini",
            "content": "",
            "model": "gemini-2.5-pro",
            "thoughts": [{"subject": "Looking", "description": "a list"}, {"subject": "", "description": ""}],
            "tokens": {"input": 90, "output": 5, "cached": 40, "thoughts": 3},
            "toolCalls": [
                call("a", response(output="a.py"), status="success"),
                call("b", response(error="no such folder"), status="error"),
                call("c", response(files=2)),
                call("d", [{"text": "plain"}]),
                call("e", None, status="cancelled"),
            ],
        },
        {"id": "3", "type": "info", "content": "saved"},
        {"id": "4", "type": "error", "content": "quota"},
        {"id": "5", "type": "gemini", "content": "a.py"},
        {"id": "6", "type": "dream", "content": "x"},
    ],
}


def test_calls_thoughts_and_usage_are_events_of_their_own() -> None:
    [bodies] = conversations("file", json.dumps(CHAT))
    model = "gemini-2.5-pro"
    assert bodies == [
        UserMessage("what is here?"),
        Setting("model", model),
        Reasoning("Looking: a list", "2"),
        *(ToolCall(name, "ls", f'{{"path": "{name}"}}', "2") for name in "abcde"),
        ToolResult("a", "a.py", "ls"),
        ToolResult("b", "no such folder", "ls", True),
        ToolResult("c", '{"files": 2}', "ls"),
        ToolResult("d", "plain", "ls"),
        Usage(model, 0, 90, completion=5, cached=40, reasoning=3),
        Failure("transcript", "quota"),
        AssistantMessage("a.py", "5", model=model),
        Unknown("Gemini CLI message", {"entry": {"id": "6", "type": "dream", "content": "x"}}),
        Setting("left out", {"info": 1, "sessionId": 1}),
    ]
