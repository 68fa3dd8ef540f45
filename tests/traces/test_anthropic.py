"""A request to Anthropic is read as what it is: its system prompt, its tools, its calls and their results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.config.errors import WrongCall
from workbench.log.events import (
    AssistantMessage,
    ImagePart,
    Reasoning,
    Setting,
    SlotContent,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from workbench.traces.formats import read_conversations

CALL = [
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "text", "text": "let me see"},
    {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}},
]
RESULT = [
    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a.py"}], "is_error": True},
    {"type": "text", "text": "go on"},
]
MESSAGES = [
    {"role": "user", "content": "what is here?"},
    {"role": "assistant", "content": CALL},
    {"role": "user", "content": RESULT},
]
READ = [
    UserMessage("what is here?"),
    Reasoning("hm", "r2", "s"),
    AssistantMessage("let me see", "r2", finish="stop"),
    ToolCall("t1", "ls", '{"path": "."}', "r2"),
    ToolResult("t1", "a.py", "ls", True),
    UserMessage("go on"),
]


def read(value: Any) -> list[Any]:
    [bodies] = read_conversations("file", json.dumps(value))
    return bodies


def test_calls_and_results_are_events_of_their_own() -> None:
    assert read(MESSAGES) == READ
    assert read_conversations("file", "\n".join(map(json.dumps, MESSAGES))) == [READ]


def test_the_system_prompt_and_the_tools_of_a_body_are_slots() -> None:
    schema = {"type": "object", "properties": {}}
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "ls", "description": "lists", "input_schema": schema}, {"type": "x_1", "name": "x"}],
        "messages": MESSAGES,
    }
    definition = {"type": "function", "function": {"name": "ls", "description": "lists", "parameters": schema}}
    model, system, tool, builtin, *talk = read(
        {**body, "messages": [*MESSAGES, {"role": "assistant", "content": "ok"}]}
    )
    assert (model, system) == (Setting("model", "claude-sonnet-4-5"), SlotContent("system", "system", "be brief"))
    assert (json.loads(tool.text), json.loads(builtin.text)) == (definition, {"type": "x_1", "name": "x"})
    assert [type(body) for body in talk[:-2]] == [type(body) for body in READ]
    assert talk[-1] == Setting("left out", {"max_tokens": 1})


def test_it_is_told_by_a_call_that_comes_late() -> None:
    talk = [{"role": role, "content": "x"} for role in ("user", "assistant")] * 50
    assert ToolCall("t1", "ls", '{"path": "."}', "r102") in read([*talk, *MESSAGES])


def test_pictures_stay_pictures_and_roles_that_are_not_known_are_carried() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    shown = {"role": "user", "content": [{"type": "text", "text": "see"}, picture]}
    first, other, *_ = read([shown, {"role": "king", "content": "x"}, *MESSAGES])
    assert first == UserMessage((TextPart("see"), ImagePart("data:image/png;base64,AAAA")))
    assert other == Unknown("Anthropic message", {"entry": {"role": "king", "content": "x"}})


def test_lines_of_bodies_are_conversations_of_their_own() -> None:
    lines = [{"system": "one", "messages": MESSAGES}, {"messages": [{"role": "user", "content": "two"}]}]
    first, second = read_conversations("file", "\n".join(map(json.dumps, lines)))
    assert first == [SlotContent("system", "system", "one"), *READ]
    assert second == [UserMessage("two")]
    with pytest.raises(WrongCall, match='line 2: expected an object with a list under "messages"'):
        read_conversations("file", "\n".join(map(json.dumps, [lines[0], {"messages": 5}])))


@pytest.mark.parametrize("openai", [{"role": "tool", "tool_call_id": "c", "content": "r"}, {"tool_calls": []}])
def test_messages_with_calls_in_openais_form_are_openai_style(openai: dict[str, Any]) -> None:
    mixed = [*MESSAGES[:2], {"role": "assistant", "content": "x", **openai}]
    assert not any(isinstance(body, ToolCall) for body in read(mixed))
