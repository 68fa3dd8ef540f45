"""Conversations of ShareGPT."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.config.errors import WrongCall
from workbench.log.events import (
    AssistantMessage,
    Setting,
    SlotContent,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from workbench.traces.formats import read_conversations


def turn(speaker: str, value: Any) -> dict[str, Any]:
    return {"from": speaker, "value": value}


def test_turns_become_their_events() -> None:
    calls = json.dumps([{"name": "ls", "arguments": {"path": "x"}}, {"name": "pwd", "arguments": {}}])
    turns = [
        turn("system", "be brief"),
        turn("human", "look"),
        turn("function_call", calls),
        turn("observation", "a"),
        turn("tool", "b"),
        turn("tool", "of no call"),
        turn("function_call", "no JSON"),
        {"role": "assistant", "content": "done"},
        turn("king", "x"),
    ]
    tool = {"name": "ls"}
    value = {"id": "1", "conversations": turns, "system": "you are a shell", "tools": json.dumps([tool])}
    assert read_conversations("file", json.dumps(value)) == [
        [
            SlotContent("system", "system", "you are a shell"),
            SlotContent("tools", "ls", json.dumps(tool)),
            SystemMessage("be brief"),
            UserMessage("look"),
            ToolCall("r3-1", "ls", '{"path": "x"}', "r3"),
            ToolCall("r3-2", "pwd", "{}", "r3"),
            ToolResult("r3-1", "a", "ls"),
            ToolResult("r3-2", "b", "pwd"),
            ToolResult("", "of no call"),
            AssistantMessage("no JSON", "r7"),
            AssistantMessage("done", "r8"),
            Unknown("ShareGPT turn", {"entry": turn("king", "x")}),
            Setting("left out", {"id": 1}),
        ]
    ]


@pytest.mark.parametrize("key", ["conversations", "conversation", "items"])
@pytest.mark.parametrize("lines", [True, False])
def test_each_object_is_a_conversation(lines: bool, key: str) -> None:
    values = [{key: [turn("human", word)], "tools": "?"} for word in ("a", "b")]
    text = "\n".join(map(json.dumps, values)) if lines else json.dumps(values)
    assert read_conversations("file", text) == [[UserMessage("a")], [UserMessage("b")]]


def test_an_object_without_turns_is_told_by_its_line() -> None:
    text = json.dumps({"conversations": [turn("human", "a")]})
    with pytest.raises(WrongCall, match='file: line 2: expected an object with a list under "conversations"'):
        read_conversations("file", f'{text}\n{{"id": 7}}')
