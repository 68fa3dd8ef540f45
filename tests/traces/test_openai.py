"""OpenAI-style messages in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.context.policy_names import RECORDED
from workbench.log.events import (
    AssistantMessage,
    Body,
    ImagePart,
    OtherPart,
    Reasoning,
    Setting,
    SlotContent,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.sources.source import file_logs, number_events
from workbench.traces.openai import openai_conversations
from workbench.traces.openai_messages import to_openai
from workbench.traces.reading import read_json

CALL = {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path": "x"}'}}
TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}


def test_a_refusal_is_what_the_assistant_said() -> None:
    said = read([{"role": "assistant", "content": None, "refusal": "I cannot do that."}])
    assert said == [AssistantMessage("I cannot do that.", "r1", finish="refused")]


def read(value: Any) -> list[Body]:
    text = value if isinstance(value, str) else json.dumps(value)
    [bodies] = openai_conversations(read_json("file", text), text)
    return bodies


@pytest.mark.parametrize(
    ("message", "bodies"),
    [
        ({"role": "system", "content": "be brief"}, [SystemMessage("be brief")]),
        ({"role": "developer", "content": "be brief"}, [SystemMessage("be brief", "developer")]),
        ({"role": "user", "content": "hi", "name": "ann"}, [UserMessage("hi", "ann")]),
        ({"role": "user", "content": None}, [UserMessage("")]),
        ({"role": "assistant", "content": "yes"}, [AssistantMessage("yes", "r1")]),
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, [ToolCall("a", "read", '{"path": "x"}', "r1")]),
        (
            {"role": "assistant", "content": "I look.", "tool_calls": [CALL], "reasoning_content": "hm"},
            [Reasoning("hm", "r1"), AssistantMessage("I look.", "r1"), ToolCall("a", "read", '{"path": "x"}', "r1")],
        ),
        (
            {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
            [ToolCall("call_r1", "f", "{}", "r1")],
        ),
        ({"role": "tool", "tool_call_id": "a", "content": "done"}, [ToolResult("a", "done")]),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}],
            },
            [UserMessage((TextPart("see"), ImagePart("u")))],
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x"}}]},
            [UserMessage((OtherPart({"type": "input_audio", "input_audio": {"data": "x"}}),))],
        ),
    ],
)
def test_each_kind_of_message_becomes_its_events(message: dict[str, Any], bodies: list[Body]) -> None:
    assert read([message]) == bodies


def test_a_result_in_the_older_form_belongs_to_the_last_call_of_that_function() -> None:
    first = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    bodies = read([first, {"role": "function", "name": "f", "content": "1"}])
    assert bodies == [ToolCall("call_r1", "f", "{}", "r1"), ToolResult("call_r1", "1", "f")]


def test_the_four_shapes_of_a_file_give_the_same_events() -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    lines = "\n".join(json.dumps(message) for message in messages)
    shapes = [
        json.dumps(messages),
        json.dumps({"messages": messages}),
        lines,
        json.dumps({"x": 1, "messages": messages}, indent=4),
    ]
    assert all(read(shape) == read(messages) for shape in shapes)


def test_tools_come_before_the_messages() -> None:
    assert read({"tools": [TOOL], "messages": [{"role": "user", "content": "a"}]}) == [
        SlotContent("tools", "read", json.dumps(TOOL)),
        UserMessage("a"),
    ]


@pytest.mark.parametrize("value", [{"model": "gpt"}, {"info": {"config": {"model": {"model_name": "gpt"}}}}])
def test_the_model_is_told_where_the_file_names_it(value: dict[str, Any]) -> None:
    assert read({**value, "messages": [{"role": "user", "content": "a"}]}) == [
        Setting("model", "gpt"),
        UserMessage("a"),
    ]


def test_the_end_of_a_mini_swe_agent_run_is_no_part_of_the_conversation() -> None:
    end = {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}}
    assert read([{"role": "user", "content": "a"}, end]) == [UserMessage("a"), Unknown("exit", {"entry": end})]


def test_the_answers_of_a_mini_swe_agent_run_have_their_reports() -> None:
    used = {"prompt_tokens": 90, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 40}, "cost": 0.25}
    answer = {"role": "assistant", "content": "b", "extra": {"response": {"created": 1_763_511_545, "usage": used}}}
    value = {"messages": [{"role": "user", "content": "a"}, answer], "info": {"config": {"model": {"model_name": "m"}}}}
    [bodies] = openai_conversations(read_json("file", json.dumps(value)), json.dumps(value))
    assert bodies[2:] == [AssistantMessage("b", "r1"), Usage("m", 0, 90, cached=40, completion=7, cost=0.25)]
    assert bodies.times == [0, 0, 1_763_511_545_000, 1_763_511_545_000]


def test_lines_that_are_conversations_are_several() -> None:
    text = "\n".join(json.dumps({"messages": [{"role": "user", "content": word}]}) for word in ("a", "b"))
    said = Setting(RECORDED, "OpenAI-style messages")
    assert [[event.body for event in log] for log in file_logs("f", text)] == [
        [UserMessage("a"), said],
        [UserMessage("b"), said],
    ]


def test_lone_surrogates_are_replaced_because_no_provider_takes_them() -> None:
    assert read('[{"role": "user", "content": "a\\ud800b"}]') == [UserMessage("a�b")]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "file: line 1: expected JSON, but the file is empty"),
        ("{", "file: line 1: expected JSON"),
        ('[\n{"role": "user", "content": "a"},\n{"role": "king"}\n]', "file: line 3: expected a role"),
        ('{"messages": [\n\n{"role": "user", "content": 7}]}', "file: line 3: expected text or a list of parts"),
        ('{"messages": 7}', 'file: line 1: expected a list under "messages", got 7'),
        ('{"hello": 7}', "file: line 1: expected a list of messages"),
        ('[{"role": "user"}, 7]', "file: line 1: expected a message, which is a JSON object, got 7"),
        ('{"role": "user", "content": "a"}\n{"role": \n', "file: line 2: expected one JSON value on the line"),
        ('[{"role": "assistant", "tool_calls": [{}]}]', 'file: line 1: expected a tool call with "function"'),
        ('[{"role": "assistant", "tool_calls": 3}]', 'file: line 1: expected a list under "tool_calls"'),
        ('{"messages": [], "tools": [{}]}', 'file: line 1: expected a tool definition with a "name"'),
        ('{"messages": [], "tools": 3}', 'file: line 1: expected a list under "tools"'),
        ('[{"role": "user", "content": [3]}]', "file: line 1: expected a part of a message"),
        ('"hello"', "file: line 1: expected a list of messages"),
        ("[" * 100_000, "file: line 1: expected JSON"),
    ],
)
def test_a_bad_file_is_told_by_name_line_and_what_was_expected(text: str, complaint: str) -> None:
    with pytest.raises(WrongCall) as told:
        read(text)
    assert str(told.value).startswith(complaint)
    assert "\n" not in str(told.value)


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
replies = st.integers(1, 9)


@st.composite
def transcripts(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 6))):
        messages.append({"role": "user", "content": draw(words)})
        ids = [f"c{number}.{at}" for at in range(draw(st.integers(0, 3)))]
        calls = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
        if calls:
            messages.append({"role": "assistant", "content": draw(st.none() | words), "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": each, "content": draw(words)} for each in ids]
        messages.append({"role": "assistant", "content": draw(words)})
    return messages


@given(transcripts())
def test_what_is_read_is_written_back_the_same(messages: list[dict[str, Any]]) -> None:
    assert to_openai(number_events(read(messages) if messages else []))["messages"] == messages


@pytest.mark.parametrize("text", ["no JSON", "NaN", "[1]", "[" * 100_000])
def test_a_tool_that_is_no_definition_is_not_exported(text: str) -> None:
    assert to_openai(number_events([SlotContent("tools", "odd", text)])) == to_openai([])


def test_exported_slots_make_a_system_message_and_tools() -> None:
    log = number_events(
        [SlotContent("system", "main", "be brief"), SlotContent("tools", "read", json.dumps(TOOL)), UserMessage("a")]
    )
    assert to_openai(log) == {
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "a"}],
        "tools": [TOOL],
    }


TRACES = Path(__file__).parents[3] / "shared" / "traces"


@pytest.mark.skipif(not TRACES.is_dir(), reason="no transcripts of other agents here")
@pytest.mark.parametrize(
    "name", ["mini-swe-agent/mini_sklearn25102_754KB.traj.json", "openai-finetune/oai_drone_388KB.jsonl"]
)
def test_real_transcripts_are_read_whole(name: str) -> None:
    text = (TRACES / name).read_text()
    logs = file_logs(name, text)
    assert logs
    assert all(log for log in logs)
    found = [json.loads(line) for line in text.splitlines()] if name.endswith("jsonl") else [json.loads(text)]
    for log, value in zip(logs, found, strict=True):
        assert len(to_openai(log)["messages"]) == len(value["messages"])
