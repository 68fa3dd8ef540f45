"""Sessions of Hermes."""

from __future__ import annotations

import json

from workbench.log.events import (
    AssistantMessage,
    Reasoning,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.traces.formats import read_conversations


def test_a_session_has_its_prompt_tools_and_messages() -> None:
    tool = {"type": "function", "function": {"name": "shell"}}
    call = {"id": "c", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
    session = {
        "session_id": "s",
        "model": "gpt",
        "platform": "telegram",
        "session_start": "2026-04-29T20:05:00.000Z",
        "message_count": 4,
        "system_prompt": "You are Hermes.",
        "tools": [tool],
        "messages": [
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "content": "I look.",
                "reasoning": "hm",
                "reasoning_content": "hm",
                "tool_calls": [call],
            },
            {"role": "tool", "content": "x", "tool_call_id": "c", "tool_name": "shell"},
            {"role": "assistant", "content": "Done.", "finish_reason": "stop"},
            {"role": "session_meta"},
        ],
    }
    [bodies] = read_conversations("file", json.dumps(session))
    assert bodies == [
        Setting("model", "gpt"),
        SlotContent("system", "system prompt", "You are Hermes."),
        SlotContent("tools", "shell", json.dumps(tool)),
        UserMessage("look"),
        Reasoning("hm", "r1"),
        AssistantMessage("I look.", "r1"),
        ToolCall("c", "shell", "{}", "r1"),
        ToolResult("c", "x", "shell"),
        AssistantMessage("Done.", "r2"),
        Setting("left out", {"session_meta": 1, "platform": 1, "message_count": 1}),
    ]
    assert set(bodies.times) == {1777493100000}
