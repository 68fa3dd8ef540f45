"""Sessions and tasks of Cline."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Reasoning,
    Setting,
    SlotContent,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.traces import cline
from workbench.traces.formats import read_conversations
from workbench.traces.reading import read_json

NOW = 1_783_376_868_634
METRICS = {"inputTokens": 90, "outputTokens": 7, "cacheReadTokens": 40, "cacheWriteTokens": 0, "cost": 0.5}
MESSAGES: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "see @a.py"}, {"type": "file", "path": "a.py", "content": "x = 1"}],
        "ts": NOW,
    },
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {}}],
        "ts": NOW + 5,
        "modelInfo": {"id": "claude", "provider": "cline"},
        "metrics": METRICS,
    },
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"query": "ls", "result": "a.py"}]}],
        "ts": NOW + 6,
    },
]


def read(value: Any) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps(value))
    return bodies


def test_a_session_has_its_prompt_its_model_and_its_reports() -> None:
    bodies = read({"version": 1, "sessionId": "s", "messages": MESSAGES, "system_prompt": "You are Cline."})
    assert bodies == [
        SlotContent("system", "system prompt", "You are Cline."),
        UserMessage((TextPart("see @a.py"), TextPart('<file_content path="a.py">\nx = 1\n</file_content>'))),
        Setting("model", "claude"),
        ToolCall("c1", "ls", "{}", "r2"),
        Usage("claude", 0, 90, cached=40, completion=7, cost=0.5),
        ToolResult("c1", '[{"query": "ls", "result": "a.py"}]', "ls"),
    ]
    [recording] = read_conversations("file", json.dumps({"sessionId": "s", "messages": MESSAGES}))
    assert recording.times == [NOW, NOW + 5, NOW + 5, NOW + 5, NOW + 6]


@pytest.mark.parametrize(("prompt", "told"), [(90, 90), (10, 50)])
def test_the_history_of_a_task_has_its_reports_with_the_cache_in_the_prompt(prompt: int, told: int) -> None:
    metrics = {"tokens": {"prompt": prompt, "completion": 7, "cached": 40}, "cost": 0.5}
    answered = {**MESSAGES[1], "modelInfo": {"modelId": "claude"}, "metrics": metrics}
    assert Usage("claude", 0, told, cached=40, completion=7, cost=0.5) in read([MESSAGES[0], answered, MESSAGES[2]])


def test_what_the_window_shows_has_what_each_request_brought_and_cost() -> None:
    def request(text: str, size: int) -> dict[str, Any]:
        told = {"request": text, "tokensIn": size, "tokensOut": 7, "cacheReads": 40, "cacheWrites": 3, "cost": 0.5}
        return {"ts": NOW, "type": "say", "say": "api_req_started", "text": json.dumps(told)}

    bodies = read(
        [
            {"ts": NOW, "type": "say", "say": "text", "text": "look"},
            request("<task>look</task>", 10),
            {"ts": NOW, "type": "say", "say": "reasoning", "text": "hm"},
            {"ts": NOW, "type": "ask", "ask": "tool", "text": '{"tool": "listFiles"}'},
            request("[list_files] a.py", 20),
            {"ts": NOW, "type": "say", "say": "completion_result", "text": "done"},
            {"ts": NOW, "type": "ask", "ask": "resume_task"},
        ]
    )
    assert bodies == [
        UserMessage("<task>look</task>"),
        Reasoning("hm", "r1"),
        AssistantMessage('{"tool": "listFiles"}', "r1"),
        Usage("", 0, 53, cached=40, cache_write=3, completion=7, cost=0.5),
        UserMessage("[list_files] a.py"),
        AssistantMessage("done", "r2"),
        Usage("", 0, 63, cached=40, cache_write=3, completion=7, cost=0.5),
        Setting("left out", {"text": 1, "resume_task": 1}),
    ]


def test_a_list_of_other_things_is_no_window_of_cline() -> None:
    shown = {"ts": NOW, "type": "say", "say": "text", "text": "look"}
    assert cline.recognises(read_json("file", json.dumps([shown, shown])))
    for other in ({"ts": NOW, "type": "note"}, {"type": "say", "say": "text"}):
        assert not cline.recognises(read_json("file", json.dumps([shown, other])))
