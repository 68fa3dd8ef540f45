"""Events of Claude managed agents."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Failure,
    Setting,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces import managed_agents
from workbench.traces.formats import read_conversations
from workbench.traces.managed_agents import COMPACTED
from workbench.traces.reading import read_json

USED = {"input_tokens": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7, "output_tokens": 5}


def event(kind: str, name: str = "e", /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": name, "processed_at": "2026-01-02T03:04:05Z", **more}


def text(said: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": said}]


EVENTS = [
    event("session.status_running"),
    event("user.message", content=text("look")),
    event("span.model_request_start", "s"),
    event("agent.thinking"),
    event("agent.message", content=text("I look.")),
    event("agent.tool_use", "t", name="bash", input={"command": "ls"}),
    event("agent.custom_tool_use", "u", name="own", input={}),
    event("span.model_request_end", model_request_start_id="s", model_usage=USED),
    event("agent.tool_result", tool_use_id="t", content=text("x"), is_error=True),
    event("user.custom_tool_result", custom_tool_use_id="u", content=text("y")),
    event("agent.thread_context_compacted"),
    event("agent.thread_message_received", content=text("hi"), from_session_thread_id="o", from_agent_name="other"),
    event("system.message", content=text("be brief")),
    event("agent.thread_message_sent", content=text("ok"), to_session_thread_id="o", to_agent_name="other"),
    event("session.error", error={"type": "x", "message": "no quota"}),
    event("novelty.happened"),
]


@pytest.mark.parametrize(
    "written", [json.dumps(EVENTS), json.dumps({"data": EVENTS}), "\n".join(map(json.dumps, EVENTS))]
)
def test_events_are_a_conversation_with_its_reports(written: str) -> None:
    [bodies] = read_conversations("file", written)
    assert bodies == [
        UserMessage("look"),
        AssistantMessage("I look.", "r1"),
        ToolCall("t", "bash", '{"command": "ls"}', "r1"),
        ToolCall("u", "own", "{}", "r1"),
        Usage("", 0, 100, 90, 7, 5),
        ToolResult("t", "x", "bash", True),
        ToolResult("u", "y", "own"),
        Compaction(1, 7, COMPACTED, meta={"made_by": "Claude managed agents"}),
        SystemMessage("hi", "user", "other"),
        SystemMessage("be brief"),
        AssistantMessage("ok", "r2", "other"),
        Failure("transcript", "no quota"),
        Unknown("Claude managed agents novelty.happened", {"entry": event("novelty.happened")}),
        Setting("left out", {"session.status_running": 1, "span.model_request_start": 1, "agent.thinking": 1}),
    ]
    assert set(bodies.times) == {1767323045000}


def test_events_of_others_are_not_recognised() -> None:
    assert managed_agents.recognises(read_json("file", json.dumps([event("novelty.happened"), event("agent.message")])))
    assert not managed_agents.recognises(read_json("file", json.dumps([event("novelty.happened")])))
