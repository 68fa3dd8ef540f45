"""Trajectories of SWE-agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Reasoning,
    Setting,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from workbench.traces.formats import conversations

CALL = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}


def read(value: dict[str, Any]) -> list[Body]:
    [bodies] = conversations("file", json.dumps(value))
    return bodies


def test_a_history_is_the_conversation_and_results_name_their_calls() -> None:
    history = [
        {"role": "system", "content": "be brief", "agent": "main"},
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL, {}], "thinking_blocks": [{"thinking": "hm"}]},
        {"role": "tool", "content": "x", "tool_call_ids": ["c"]},
        {"role": "king"},
    ]
    assert read({"history": history, "trajectory": [{"action": "ls"}], "info": {}}) == [
        SystemMessage("be brief"),
        UserMessage("look"),
        Reasoning("hm", "r1"),
        AssistantMessage("I look.", "r1"),
        ToolCall("c", "bash", '{"command": "ls"}', "r1"),
        Unknown("SWE-agent tool call", {"entry": {}}),
        ToolResult("c", "x", "bash"),
        Unknown("SWE-agent message", {"entry": {"role": "king"}}),
        Setting("left out", {"info": 1}),
    ]


@pytest.mark.parametrize("name", ["gpt-4o", "replay"])
@pytest.mark.parametrize("as_text", [True, False])
def test_the_model_is_in_the_configuration_unless_it_is_none(name: str, as_text: bool) -> None:
    config: Any = {"agent": {"model": {"name": name}}}
    bodies = read({"history": [{"role": "user"}], "replay_config": json.dumps(config) if as_text else config})
    assert (Setting("model", name) in bodies) == (name == "gpt-4o")


def test_steps_without_a_history_give_what_was_said_and_seen() -> None:
    steps = [{"response": "I look.", "action": "ls", "observation": "x"}, {"action": "submit"}, {"state": "odd"}]
    assert read({"trajectory": steps, "replay_config": "{"})[:4] == [
        AssistantMessage("I look.", "r1"),
        UserMessage("x"),
        AssistantMessage("submit", "r2"),
        Unknown("SWE-agent step", {"entry": {"state": "odd"}}),
    ]


def test_the_last_query_and_its_response_stand_for_a_history() -> None:
    step = {"query": [{"role": "user", "content": "look"}], "response": "done", "observation": ""}
    assert read({"trajectory": [step]}) == [UserMessage("look"), AssistantMessage("done", "r1")]


def test_attempts_are_conversations() -> None:
    attempts = [{"history": [{"role": "user", "content": word}]} for word in ("a", "b")]
    assert conversations("file", json.dumps({"attempts": attempts})) == [[UserMessage("a")], [UserMessage("b")]]
