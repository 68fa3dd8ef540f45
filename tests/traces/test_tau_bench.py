"""Results of tau-bench: one conversation per task."""

from __future__ import annotations

import json

from workbench.log.events import AssistantMessage, Setting, SlotContent, ToolCall, ToolResult, UserMessage
from workbench.traces.formats import read_conversations

CALL = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": "{}"}}


def test_each_task_is_a_conversation_with_its_prompt() -> None:
    traj = [
        {"role": "system", "content": "the policy"},
        {"role": "user", "content": "book it"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "book", "content": "booked"},
    ]
    tasks = [
        {"task_id": 0, "reward": 1.0, "info": {}, "traj": traj, "trial": 0},
        {"task_id": 1, "reward": 0.0, "info": {}, "traj": [{"role": "assistant", "content": "hi"}], "trial": 2},
    ]
    first, second = read_conversations("file", json.dumps(tasks))
    assert first == [
        Setting("title", "task 0, trial 0"),
        SlotContent("system", "system", "the policy"),
        UserMessage("book it"),
        ToolCall("c1", "book", "{}", "r1"),
        ToolResult("c1", "booked", "book"),
        Setting("left out", {"reward": 1, "info": 1}),
    ]
    assert second[:2] == [Setting("title", "task 1, trial 2"), AssistantMessage("hi", "r1")]
