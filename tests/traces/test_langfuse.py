"""Traces of Langfuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Request,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations

ASKED = {"role": "user", "content": "look"}
CALL = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


def generation(second: int, asked: Any, said: Any, **more: Any) -> dict[str, Any]:
    told = {"id": str(second), "traceId": "t", "type": "GENERATION", "startTime": f"2025-09-30T09:04:{second:02}.000Z"}
    return {**told, "input": asked, "output": said, "model": "gpt", "usageDetails": {"input": 7, "output": 2}, **more}


def read(*observations: dict[str, Any], **trace: Any) -> list[Recording]:
    return read_conversations("file", json.dumps({"trace": {"name": "", **trace}, "observations": observations}))


def talk(bodies: list[Body]) -> list[Body]:
    return [body for body in bodies if not isinstance(body, Setting | SlotContent)]


LOOP = [
    {"id": "a", "traceId": "t", "type": "AGENT", "startTime": "2025-09-30T09:04:00Z", "name": "workflow"},
    generation(
        3,
        json.dumps(
            [ASKED, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c", "content": "x"}]
        ),
        {"role": "assistant", "content": "Done."},
    ),
    generation(1, [ASKED], {"choices": [{"message": {"role": "assistant", "tool_calls": [CALL]}}]}),
]


@pytest.mark.parametrize("form", ["export", "trace", "list", "lines"])
def test_generations_are_one_conversation_in_the_order_of_time(form: str) -> None:
    trace = {"id": "t", "name": "Agent workflow"}
    text = {
        "export": json.dumps({"trace": trace, "observations": LOOP}),
        "trace": json.dumps({**trace, "observations": LOOP}),
        "list": json.dumps(LOOP),
        "lines": "\n".join(map(json.dumps, LOOP)),
    }[form]
    [bodies] = read_conversations("file", text)
    assert talk(bodies) == [
        UserMessage("look"),
        ToolCall("c", "ls", "{}", "r1"),
        Usage("gpt", 0, 7, completion=2),
        ToolResult("c", "x", ""),
        AssistantMessage("Done.", "r2", model="gpt"),
        Usage("gpt", 0, 7, completion=2),
    ]
    assert Setting("left out", {"AGENT": 1}) in bodies
    assert not any(isinstance(body, Request) for body in bodies)


def test_items_of_responses_have_their_instructions_and_tools() -> None:
    said = {"output": [{"type": "message", "role": "assistant", "content": "Done."}], "tools": [{"name": "ls"}]}
    [bodies] = read(generation(1, [ASKED], said, modelParameters={"instructions": "be brief"}))
    assert SlotContent("system", "instructions", "be brief") in bodies
    assert talk(bodies)[:2] == [UserMessage("look"), AssistantMessage("Done.", "r1", model="gpt")]


def test_blocks_of_anthropic_are_read_as_such() -> None:
    asked = {"system": "be brief", "messages": [ASKED], "tools": [{"name": "ls", "input_schema": {}}]}
    said = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}]}
    run = {
        "type": "TOOL",
        "traceId": "t",
        "name": "ls",
        "startTime": "2025-09-30T09:04:09Z",
        "input": {},
        "output": "x",
    }
    [bodies] = read(generation(1, asked, said), run)
    assert talk(bodies) == [
        UserMessage("look"),
        ToolCall("c", "ls", "{}", "r2"),
        Usage("gpt", 0, 7, completion=2),
        ToolResult("c", "x", "ls"),
    ]


@pytest.mark.parametrize(
    ("used", "told"),
    [
        ({"input": 10, "output": 5, "input_cached_tokens": 90}, (100, 90, 0, 5)),
        ({"input": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7, "output": 5}, (100, 90, 7, 5)),
        ({"input": 100, "prompt_details.cache_read": 90, "output": 5}, (100, 90, 0, 5)),
        ({"input": 100, "output": 2, "output_reasoning_tokens": 3}, (100, 0, 0, 5)),
    ],
)
def test_what_was_cached_is_part_of_the_prompt(used: dict[str, int], told: tuple[int, ...]) -> None:
    [bodies] = read(generation(1, "look", "Done.", usageDetails=used))
    [usage] = [body for body in bodies if isinstance(body, Usage)]
    assert (usage.prompt, usage.cached, usage.cache_write, usage.completion) == told


def test_other_conversations_stay_apart_and_what_asked_nothing_is_counted() -> None:
    other = [{"role": "system", "content": "judge"}, {"role": "user", "content": "other"}]
    found = read(LOOP[2], generation(5, other, "Good."), generation(6, None, None))
    assert [talk(bodies)[0] for bodies in found] == [UserMessage("look"), UserMessage("other")]
    assert SlotContent("system", "system", "judge") in found[1]
    assert Setting("left out", {"GENERATION without an input": 1}) in found[0]


def test_requests_of_nothing_but_a_system_prompt_are_read() -> None:
    [bodies] = read(generation(1, [{"role": "system", "content": "greet"}], "Hello."))
    assert [body.text for body in bodies if isinstance(body, SlotContent)] == ["greet"]
    assert [body.content for body in bodies if isinstance(body, AssistantMessage)] == ["Hello."]
