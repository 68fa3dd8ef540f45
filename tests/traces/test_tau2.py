"""Results of tau2-bench."""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import (
    AssistantMessage,
    Failure,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.formats import read_conversations

INFO = {"agent_info": {"llm": "gpt-4.1"}, "environment_info": {"policy": "be kind"}}


def call(requestor: str = "assistant") -> dict[str, Any]:
    return {"id": "c", "name": "get_user", "arguments": {"id": 1}, "requestor": requestor}


def result(requestor: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"id": "c", "role": "tool", "content": "x", "requestor": requestor, "error": True, **more}


def test_each_simulation_is_a_conversation_as_the_agent_s_model_saw_it() -> None:
    used = {"prompt_tokens": 100, "completion_tokens": 5}
    messages = [
        {"role": "assistant", "content": "Hi!", "turn_idx": 0, "timestamp": "2026-01-02T03:04:05"},
        {"role": "user", "content": "look", "usage": used},
        {"role": "assistant", "content": None, "tool_calls": [call()], "usage": used, "cost": 0.5},
        {"role": "tool", "tool_messages": [result()]},
        {"role": "user", "content": None, "tool_calls": [call("user")]},
        result("user"),
        {"role": "assistant", "content": "Done.", "context_truncation": {"messages_dropped": 3}},
        {"role": "king"},
    ]
    file = {
        "info": INFO,
        "tasks": [],
        "simulations": [{"task_id": 7, "messages": messages}, {"task_id": 8, "messages": []}],
    }
    bodies, other = read_conversations("file", json.dumps(file))
    assert bodies == [
        Setting("model", "gpt-4.1"),
        SlotContent("instructions", "policy", "be kind"),
        Setting("title", "task 7"),
        AssistantMessage("Hi!", "r1", model="gpt-4.1"),
        UserMessage("look"),
        ToolCall("c", "get_user", '{"id": 1}', "r2"),
        Usage("gpt-4.1", 0, 100, completion=5, cost=0.5),
        ToolResult("c", "x", "get_user", True),
        Failure("transcript", "this request was made without its 3 oldest messages"),
        AssistantMessage("Done.", "r3", model="gpt-4.1"),
        Unknown("tau2-bench message", {"entry": {"role": "king"}}),
        Setting("left out", {"calls of the simulated user": 1, "results for the simulated user": 1}),
    ]
    assert Setting("title", "task 8") in other
