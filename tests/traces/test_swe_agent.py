"""Trajectories of SWE-agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Override,
    Reasoning,
    Setting,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    UserMessage,
)
from workbench.traces.formats import read_conversations
from workbench.traces.swe_agent import LEFT_OUT_BY, MASKED_BY

CALL = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}


def read(value: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", json.dumps(value))
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
    assert read_conversations("file", json.dumps({"attempts": attempts})) == [[UserMessage("a")], [UserMessage("b")]]


OMITTED = "Old environment output: (98 lines omitted)"


def said(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


STEPS = [
    {"query": [said("system", "s"), said("user", "task")], "response": "ls", "observation": "98 lines"},
    {
        "query": [said("system", "s"), said("user", "task"), said("assistant", "ls"), said("user", "98 lines")],
        "response": "cat",
        "observation": "text",
    },
    {
        "query": [
            *(said("system", "s"), said("user", "task"), said("assistant", "ls"), said("user", OMITTED)),
            *(said("assistant", "cat"), said("user", "text")),
        ],
        "response": "submit",
        "observation": "done",
    },
]
TALK = [
    SystemMessage("s"),
    UserMessage("task"),
    AssistantMessage("ls", "r1"),
    UserMessage("98 lines"),
    Override("mask", 4, 4, MASKED_BY, OMITTED),
    AssistantMessage("cat", "r2"),
    UserMessage("text"),
    AssistantMessage("submit", "r3"),
    UserMessage("done"),
]


def test_an_observation_that_the_model_no_longer_saw_is_masked_with_the_agent_s_own_words() -> None:
    assert read({"trajectory": STEPS}) == TALK


def test_the_originals_are_in_the_history_and_come_once() -> None:
    history = [
        *(said("system", "s"), said("user", "task"), said("assistant", "ls"), said("user", "98 lines")),
        *(said("assistant", "cat"), said("user", "text"), said("assistant", "submit"), said("user", "done")),
    ]
    bodies = read({"trajectory": STEPS[2:], "history": history})
    assert [body for body in bodies if isinstance(body, UserMessage)] == [
        *(UserMessage("task"), UserMessage("98 lines"), UserMessage("text"), UserMessage("done"))
    ]
    assert [body.text for body in bodies if isinstance(body, Override)] == [OMITTED]


def test_what_comes_back_or_leaves_the_request_is_said() -> None:
    before: list[Any] = [said("system", "s"), said("user", "task"), said("assistant", "ls"), said("user", "98 lines")]
    back = [*STEPS, {"query": [*before, said("assistant", "other")], "response": "", "thought": "end"}]
    overrides = [body for body in read({"trajectory": back}) if isinstance(body, Override)]
    assert [(each.action, each.first) for each in overrides] == [
        *(("mask", 4), ("exclude", 6), ("exclude", 7), ("unmask", 4))
    ]
    assert overrides[1].why == LEFT_OUT_BY


def test_a_history_of_other_messages_than_the_model_saw_is_not_mixed_with_them() -> None:
    bodies = read({"trajectory": STEPS, "history": [said("assistant", "x")] * 9})
    assert [body.content for body in bodies if isinstance(body, AssistantMessage)] == ["ls", "cat", "submit"]
    assert Setting("left out", {"history": 1}) in bodies
