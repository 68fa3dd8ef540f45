"""Trajectories in the interchange format of Harbor."""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import (
    AssistantMessage,
    Reasoning,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations

LS = {"type": "function", "function": {"name": "ls", "parameters": {}}}
CALL = {"tool_call_id": "c1", "function_name": "ls", "arguments": {"path": "."}}
METRICS = {"prompt_tokens": 90, "completion_tokens": 7, "cached_tokens": 40, "cost_usd": 0.5}


def trajectory(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    agent = {"name": "terminus", "version": "1", "model_name": "m", "tool_definitions": [LS]}
    return {"schema_version": "ATIF-v1.5", "session_id": "s", "agent": agent, "steps": list(steps), **more}


def read(value: dict[str, Any]) -> list[Recording]:
    return read_conversations("file", json.dumps(value))


def test_a_step_of_the_agent_is_a_reply_with_its_report_and_then_its_results() -> None:
    [bodies] = read(
        trajectory(
            {"step_id": 1, "source": "system", "message": "be brief"},
            {"step_id": 2, "source": "user", "message": "look", "timestamp": "2026-01-01T00:00:00Z"},
            {
                "step_id": 3,
                "source": "agent",
                "timestamp": "2026-01-01T00:00:01Z",
                "message": "I look.",
                "reasoning_content": "hm",
                "tool_calls": [CALL],
                "metrics": METRICS,
                "observation": {"results": [{"source_call_id": "c1", "content": "a.py"}]},
            },
        )
    )
    assert bodies == [
        Setting("model", "m"),
        SlotContent("tools", "ls", json.dumps(LS)),
        SlotContent("system", "step 1", "be brief"),
        UserMessage("look"),
        Reasoning("hm", "r3"),
        AssistantMessage("I look.", "r3", model="m"),
        ToolCall("c1", "ls", '{"path": "."}', "r3"),
        Usage("m", 0, 90, cached=40, completion=7, cost=0.5),
        ToolResult("c1", "a.py", "ls"),
    ]
    assert bodies.times[-1] - bodies.times[3] == 1_000


def test_results_that_name_no_call_are_the_only_calls_or_what_was_said_next() -> None:
    step = {"source": "agent", "message": "", "observation": {"results": [{"content": "a.py"}]}}
    [bodies] = read(trajectory({**step, "tool_calls": [CALL]}, {**step, "message": "ls"}))
    assert bodies[3:] == [ToolResult("c1", "a.py", "ls"), AssistantMessage("ls", "r2", model="m"), UserMessage("a.py")]


def test_metrics_of_several_requests_are_no_report_and_sub_agents_are_conversations() -> None:
    step = {"source": "agent", "message": "done", "metrics": METRICS, "llm_call_count": 2}
    first, second = read(trajectory(step, subagent_trajectories=[trajectory({"source": "user", "message": "sub"})]))
    assert not any(isinstance(body, Usage) for body in first)
    assert first[-1] == Setting("left out", {"metrics of several requests": 1})
    assert second[-1] == UserMessage("sub")
