"""Sessions of Grok Build."""

from __future__ import annotations

import json

from workbench.log.events import (
    AssistantMessage,
    OtherPart,
    Reasoning,
    Setting,
    SlotContent,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from workbench.traces import grok
from workbench.traces.formats import read_conversations
from workbench.traces.reading import read_json

SEARCHED = {"type": "backend_tool_call", "kind": {"tool_type": "web_search", "id": "ws"}}


def test_a_session_has_its_system_prompt_instructions_and_replies() -> None:
    lines = [
        {"type": "system", "content": "You are Grok"},
        {"type": "user", "content": [{"type": "text", "text": "rules"}], "synthetic_reason": "project_instructions"},
        {"type": "user", "content": "look", "prompt_index": 0},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        SEARCHED,
        {
            "type": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c", "name": "read_file", "arguments": "{}"}],
            "model_id": "grok",
        },
        {"type": "tool_result", "tool_call_id": "c", "content": "x"},
        {"type": "user", "content": "careful", "synthetic_reason": "system_reminder"},
        {"type": "user", "content": "hurry", "synthetic_reason": "interjection"},
        {"type": "assistant", "content": "Done.", "model_id": "grok"},
        {"type": "novelty"},
    ]
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert bodies == [
        SlotContent("system", "system", "You are Grok"),
        SlotContent("instructions", "project instructions", "rules"),
        UserMessage("look"),
        Reasoning("hm", "r1"),
        AssistantMessage((OtherPart(SEARCHED),), "r1"),
        Setting("model", "grok"),
        AssistantMessage("I look.", "r1", model="grok"),
        ToolCall("c", "read_file", "{}", "r1"),
        ToolResult("c", "x", "read_file"),
        SystemMessage("careful", "user"),
        UserMessage("hurry"),
        AssistantMessage("Done.", "r2", model="grok"),
        Unknown("Grok Build novelty", {"entry": {"type": "novelty"}}),
    ]


def test_a_line_of_grok_alone_tells_whose_it_is() -> None:
    for mark in (SEARCHED, {"type": "tool_result", "tool_call_id": "c", "content": "x"}):
        lines = [{"type": "user", "content": "look"}, mark]
        assert grok.recognises(read_json("file", "\n".join(map(json.dumps, lines))))
