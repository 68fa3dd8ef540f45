"""Runs that LangSmith exports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.traces.formats import read_conversations


def run(kind: str, second: int, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    when = f"2026-01-02T03:04:{second:02}.000000"
    told = {"id": str(second), "run_type": kind, "trace_id": "t", "start_time": when, "name": "n"}
    return {**told, "inputs": inputs, "outputs": outputs, "extra": {"metadata": {"ls_model_name": "gpt"}}, **more}


def message(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": content, **more}}


CALL = {"name": "ls", "args": {"path": "a"}, "id": "c", "type": "tool_call"}
ASKED = [message("SystemMessage", "be brief"), message("HumanMessage", [{"type": "text", "text": "look"}])]
REPLY = message("AIMessage", [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}], tool_calls=[CALL])
GIVEN = message("ToolMessage", "x", tool_call_id="c", name="ls")
USED = {"input_tokens": 100, "output_tokens": 5, "input_token_details": {"cache_read": 90}}


def generated(said: dict[str, Any]) -> dict[str, Any]:
    return {"generations": [[{"text": "", "message": said}]], "llm_output": {}}


LOOP = [
    run("chain", 0, {}, {}),
    run("llm", 1, {"messages": [ASKED]}, generated(REPLY)),
    run("tool", 2, {"input": "{'path': 'a'}"}, {"output": GIVEN}, name="ls"),
    run(
        "llm", 3, {"messages": [[*ASKED, REPLY, GIVEN]]}, generated(message("AIMessage", "Done.", usage_metadata=USED))
    ),
]
READ: list[Body] = [
    UserMessage("look"),
    ToolCall("c", "ls", '{"path": "a"}', "r1"),
    ToolResult("c", "x", "ls"),
    AssistantMessage("Done.", "r2", model="gpt"),
    Usage("gpt", 0, 100, 90, completion=5),
]


def talk(bodies: list[Body]) -> list[Body]:
    return [body for body in bodies if not isinstance(body, Setting | SlotContent)]


@pytest.mark.parametrize("written", [json.dumps(LOOP), json.dumps({"runs": LOOP}), "\n".join(map(json.dumps, LOOP))])
def test_calls_of_langchain_are_one_conversation(written: str) -> None:
    [bodies] = read_conversations("file", written)
    assert bodies.format == "LangSmith"
    assert talk(bodies) == READ
    assert SlotContent("system", "system", "be brief") in bodies
    assert Setting("left out", {"chain": 1}) in bodies


def test_the_result_of_the_last_call_is_that_of_its_tool() -> None:
    [bodies] = read_conversations("file", json.dumps(LOOP[:3]))
    assert talk(bodies) == READ[:3]


def test_what_a_wrapped_client_was_given_is_read() -> None:
    asked = {"model": "gpt", "messages": [{"role": "user", "content": "look"}], "tools": []}
    said = {"choices": [{"message": {"role": "assistant", "content": "Done."}}], "usage_metadata": USED}
    [bodies] = read_conversations("file", json.dumps([run("llm", 1, asked, said, extra={}), run("llm", 2, {}, None)]))
    assert talk(bodies) == [UserMessage("look"), AssistantMessage("Done.", "r1", model="gpt"), READ[-1]]
    assert Setting("left out", {"llm without messages": 1}) in bodies


def test_a_message_may_be_a_pair_of_role_and_text() -> None:
    asked = {"messages": [[["system", "be brief"], ["human", "look"], ["user", "again"]]]}
    [bodies] = read_conversations("file", json.dumps([run("llm", 1, asked, generated(message("AIMessage", "Done.")))]))
    assert talk(bodies) == [UserMessage("look"), UserMessage("again"), AssistantMessage("Done.", "r1", model="gpt")]
    assert SlotContent("system", "system", "be brief") in bodies
