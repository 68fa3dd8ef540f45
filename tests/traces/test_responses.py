"""Items of OpenAI's Responses are read as the conversation they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.config.errors import WrongCall
from workbench.log.events import (
    AssistantMessage,
    Reasoning,
    Request,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.formats import read_conversations

ASKED = [{"role": "user", "content": [{"type": "input_text", "text": "what is here?"}]}]
CALLED = [
    {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "hm"}]},
    {"type": "function_call", "id": "fc", "call_id": "c1", "name": "ls", "arguments": "{}"},
]
RETURNED = [{"type": "function_call_output", "call_id": "c1", "output": "a.py"}]
ANSWERED = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a.py"}]}]
ITEMS = [*ASKED, *CALLED, *RETURNED, *ANSWERED]
READ = [
    UserMessage("what is here?"),
    Reasoning("hm", "r1"),
    ToolCall("c1", "ls", "{}", "r1"),
    ToolResult("c1", "a.py", "ls"),
    AssistantMessage("a.py", "r2"),
]


def read(value: Any) -> list[Any]:
    [bodies] = read_conversations("file", json.dumps(value))
    return bodies


def test_items_are_paired_by_their_call() -> None:
    assert read(ITEMS) == READ
    assert read_conversations("file", "\n".join(map(json.dumps, ITEMS))) == [READ]
    assert read([*ITEMS, {"type": "item_reference", "id": "x"}, 5])[5:] == [
        Unknown("OpenAI Responses item_reference", {"entry": {"type": "item_reference", "id": "x"}}),
        Unknown("OpenAI Responses line", {"entry": 5}),
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_a_list_of_the_api_is_read_from_the_oldest_item_on(order: int) -> None:
    items = [{"type": "message", **ASKED[0]}, *ITEMS[1:]][::order]
    envelope = {"object": "list", "data": items, "first_id": "a", "last_id": "b", "has_more": False}
    assert read(envelope) == READ
    talk = [{"type": "message", **ASKED[0]}, *ANSWERED][::order]
    assert read({"object": "list", "data": talk}) == [READ[0], AssistantMessage("a.py", "r1")]


def test_a_request_brings_its_instructions_and_tools_and_a_response_its_usage() -> None:
    schema = {"type": "object", "properties": {}}
    value = {
        "model": "gpt-5",
        "instructions": "be brief",
        "tools": [{"type": "function", "name": "ls", "parameters": schema}, {"type": "web_search", "name": "web"}],
        "input": ITEMS[:4],
        "output": ANSWERED,
        "usage": {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}},
        "temperature": 1,
    }
    model, system, tool, other, *talk, answered, usage = read(value)
    assert (model, system) == (Setting("model", "gpt-5"), SlotContent("system", "instructions", "be brief"))
    assert json.loads(tool.text) == {"type": "function", "function": {"name": "ls", "parameters": schema}}
    assert json.loads(other.text) == {"type": "web_search", "name": "web"}
    assert talk[:4] == READ[:4]
    assert answered == AssistantMessage("a.py", "r2", model="gpt-5")
    [at] = [at for at, body in enumerate(read(value), 1) if isinstance(body, Request)]
    assert usage == Usage("gpt-5", 0, 9, completion=2, cached=4, request=at)


def test_lines_of_requests_are_conversations_of_their_own() -> None:
    lines = [{"model": "m", "output": ANSWERED}, {"model": "m", "input": ITEMS}]
    first, second = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert first == [Setting("model", "m"), AssistantMessage("a.py", "r1", model="m")]
    assert len(second) == 6


@pytest.mark.parametrize("value", [{"instruction": "x", "input": "y", "output": "z"}, {"model": "m", "input": ["x"]}])
def test_what_only_has_the_same_keys_is_refused(value: dict[str, Any]) -> None:
    with pytest.raises(WrongCall, match="no transcript of a known format"):
        read_conversations("file", json.dumps(value))
