"""A body that went over the wire is read as what it says: slots, messages, calls, the answer and what was reported."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    DialectName,
    OwnDialect,
    Reasoning,
    SlotContent,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.wire.checked_requests import request_of
from workbench.wire.dialects import read_answer, read_request
from workbench.wire.parts import join_body, split_body

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
FUNCTION = {"name": "ls", "description": "lists", "parameters": SCHEMA}
TOOL = {"type": "function", "function": FUNCTION}
MARK = {"type": "ephemeral"}

CHAT = {
    "model": "gpt-4o",
    "tools": [TOOL],
    "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": "hm",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    ],
}
ANTHROPIC = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "system": [{"type": "text", "text": "be brief", "cache_control": MARK}],
    "tools": [{"name": "ls", "description": "lists", "input_schema": SCHEMA}],
    "messages": [
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": "a.py",
                    "cache_control": {"type": "ephemeral", "ttl": "1h"},
                }
            ],
        },
    ],
}
RESPONSES = {
    "model": "gpt-5",
    "instructions": "be brief",
    "tools": [{"type": "namespace", "name": "files", "tools": [{"type": "function", **FUNCTION}]}],
    "input": [
        {"role": "user", "content": "look"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": '{"path": "."}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
    ],
}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "be brief"}]},
    "tools": [{"functionDeclarations": [{"name": "ls", "description": "lists", "parametersJsonSchema": SCHEMA}]}],
    "contents": [
        {"role": "user", "parts": [{"text": "look"}]},
        {
            "role": "model",
            "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "ls", "args": {"path": "."}}}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a.py"}}}]},
    ],
}
OLLAMA = {
    "model": "qwen3:8b",
    "options": {"num_ctx": 8192},
    "tools": [TOOL],
    "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": "",
            "thinking": "hm",
            "tool_calls": [{"function": {"name": "ls", "arguments": {"path": "."}}}],
        },
        {"role": "tool", "tool_name": "ls", "content": "a.py"},
    ],
}
BODIES: dict[DialectName, dict[str, Any]] = {
    "chat": CHAT,
    "anthropic": ANTHROPIC,
    "responses": RESPONSES,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}


def without_ids(bodies: list[Body]) -> list[Any]:
    """What is said, without what each dialect calls it."""
    found: list[Any] = []
    for body in bodies:
        match body:
            case SlotContent(slot="tools"):
                found.append((body.name.removeprefix("files."), json.loads(body.text)))
            case SlotContent():
                found.append((body.slot, body.text))
            case ToolCall():
                found.append((body.tool, json.loads(body.arguments)))
            case ToolResult():
                found.append(("result", body.content))
            case Reasoning():
                found.append(("thought", body.text))
            case UserMessage() | AssistantMessage() | SystemMessage():
                found.append((type(body).__name__, body.content))
    return found


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_the_same_request_says_the_same_in_every_dialect(dialect: DialectName) -> None:
    bodies = read_request(dialect, BODIES[dialect])
    assert without_ids(bodies) == [
        ("system", "be brief"),
        ("ls", TOOL),
        ("UserMessage", "look"),
        ("thought", "hm"),
        ("ls", {"path": "."}),
        ("result", "a.py"),
    ]
    [call] = [body for body in bodies if isinstance(body, ToolCall)]
    [result] = [body for body in bodies if isinstance(body, ToolResult)]
    [thought] = [body for body in bodies if isinstance(body, Reasoning)]
    assert (result.call_id, thought.reply) == (call.call_id, call.reply)


ANSWERS: dict[DialectName, tuple[dict[str, Any], Usage]] = {
    "chat": (
        {
            "model": "gpt-4o-1",
            "choices": [{"message": {"role": "assistant", "content": "two"}, "finish_reason": "length"}],
            "usage": {
                "prompt_tokens": 90,
                "completion_tokens": 7,
                "prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 30},
                "completion_tokens_details": {"reasoning_tokens": 3},
                "cost": 0.5,
            },
        },
        Usage("gpt-4o-1", 0, 90, cached=50, cache_write=30, completion=7, reasoning=3, cost=0.5),
    ),
    "anthropic": (
        {
            "id": "msg_1",
            "model": "claude-1",
            "content": [{"type": "text", "text": "two"}],
            "stop_reason": "max_tokens",
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 50,
                "cache_creation_input_tokens": 30,
                "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
                "output_tokens": 7,
            },
        },
        Usage("claude-1", 0, 90, cached=50, cache_write=30, completion=7, cache_hour=20),
    ),
    "responses": (
        {
            "model": "gpt-5-1",
            "status": "incomplete",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "two"}]}],
            "usage": {
                "input_tokens": 90,
                "input_tokens_details": {"cached_tokens": 50},
                "output_tokens": 7,
                "output_tokens_details": {"reasoning_tokens": 3},
            },
        },
        Usage("gpt-5-1", 0, 90, cached=50, completion=7, reasoning=3),
    ),
    "gemini": (
        {
            "modelVersion": "gemini-3",
            "candidates": [{"content": {"role": "model", "parts": [{"text": "two"}]}, "finishReason": "MAX_TOKENS"}],
            "usageMetadata": {
                "promptTokenCount": 90,
                "cachedContentTokenCount": 50,
                "candidatesTokenCount": 4,
                "thoughtsTokenCount": 3,
            },
        },
        Usage("gemini-3", 0, 90, cached=50, completion=7, reasoning=3),
    ),
    "ollama": (
        {
            "model": "qwen3:8b",
            "message": {"role": "assistant", "content": "two"},
            "done": True,
            "done_reason": "length",
            "prompt_eval_count": 90,
            "eval_count": 7,
        },
        Usage("qwen3:8b", 0, 90, completion=7),
    ),
}


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_an_answer_has_its_text_its_end_and_its_report_with_the_cache_in_the_prompt(dialect: DialectName) -> None:
    body, used = ANSWERS[dialect]
    [said], reported = read_answer(dialect, body)
    assert isinstance(said, AssistantMessage)
    assert (said.content, said.finish, said.model) == ("two", "length", used.model)
    assert reported == used
    assert read_answer(dialect, {}) == ([], None)


def test_of_several_choices_the_first_is_the_answer() -> None:
    body, _ = ANSWERS["chat"]
    [choice] = body["choices"]
    other = {"index": 1, "message": {"role": "assistant", "content": "three"}, "finish_reason": "stop"}
    assert read_answer("chat", {**body, "choices": [choice, other]}) == read_answer("chat", body)


def test_a_message_that_is_none_is_carried_and_the_others_are_read() -> None:
    bad = {"role": "assistant", "reasoning": "hm", "tool_calls": 3}
    assert read_request("chat", {"messages": [bad, {"role": "user", "content": "hi"}]}) == [
        Unknown("OpenAI message", {"entry": bad}),
        UserMessage("hi"),
    ]


def test_tools_that_come_with_an_item_are_tools() -> None:
    item = {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]}
    assert read_request("responses", {"input": [item, "x"]})[0] == SlotContent(
        "tools", "web_search", '{"type": "web_search"}'
    )
    assert read_request("responses", {"input": "hi"}) == [UserMessage("hi")]


def test_tools_of_two_namespaces_may_have_one_name() -> None:
    spaces = [{"type": "namespace", "name": name, "tools": [{"type": "function", **FUNCTION}]} for name in ("a", "b")]
    slots = read_request("responses", {"tools": spaces, "input": "hi"})[:2]
    assert [slot.name for slot in slots if isinstance(slot, SlotContent)] == ["a.ls", "b.ls"]


def test_system_messages_in_the_middle_stay_where_they_are() -> None:
    anthropic = {"messages": [{"role": "user", "content": "hi"}, {"role": "system", "content": "now"}]}
    assert read_request("anthropic", anthropic) == [UserMessage("hi"), SystemMessage("now")]
    assert read_request("chat", anthropic) == [UserMessage("hi"), SystemMessage("now")]


def test_marks_for_the_cache_are_taken_out_and_told_by_their_place() -> None:
    parts = split_body("anthropic", ANTHROPIC)
    assert parts.cache_marks == ("system.0", 'messages.2.0={"type": "ephemeral", "ttl": "1h"}')
    assert "cache_control" not in json.dumps([parts.system, parts.tools, parts.messages])
    assert {key: value for key, value in parts.parameters.items() if value is not None} == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
    }
    later = {**ANTHROPIC, "messages": [*ANTHROPIC["messages"], {"role": "user", "content": "go on"}]}  # type: ignore[misc]
    assert split_body("anthropic", later).messages[:3] == parts.messages


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_the_parts_of_a_body_are_that_body_again(dialect: DialectName) -> None:
    body = BODIES[dialect]
    assert join_body(dialect, *split_body(dialect, body)) == body


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "type", "text", "cache_control", "role", "input"]), inner)
    ),
    max_leaves=12,
)
marks = st.sampled_from([MARK, {"type": "ephemeral", "ttl": "5m"}, {}, "x"])
blocks = st.fixed_dictionaries(
    {"type": st.just("text"), "text": st.text(max_size=5)}, optional={"cache_control": marks}
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": st.text(max_size=5) | st.lists(blocks) | values},
    optional={"cache_control": marks},
)
places = st.sampled_from(
    ["system", "instructions", "systemInstruction", "system_instruction", "tools", "messages", "input", "contents", "n"]
)


@given(
    dialect=st.sampled_from(get_args(OwnDialect)),
    body=st.dictionaries(places, values | st.lists(messages | values) | st.lists(blocks)),
)
def test_no_body_is_lost_or_changed_in_its_parts(dialect: DialectName, body: dict[str, Any]) -> None:
    before = json.dumps(body)
    joined = join_body(dialect, *split_body(dialect, body))
    assert joined == body
    assert list(joined) == list(body)
    assert json.dumps(body) == before
    read_request(dialect, body)
    read_answer(dialect, body)


def test_several_system_messages_of_the_chat_dialect_are_numbered_from_the_second_on() -> None:
    said = [{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}, {"role": "user", "content": "c"}]
    slots = [each for each in read_request("chat", {"messages": said}) if isinstance(each, SlotContent)]
    assert [(each.name, each.text) for each in slots] == [("system", "a"), ("developer 2", "b")]


def test_calls_of_anthropic_without_ids_are_numbered_and_get_their_results_in_order() -> None:
    calls: list[dict[str, Any]] = [{"type": "tool_use", "name": name, "input": {}} for name in ("ls", "cat")]
    results = [{"type": "tool_result", "content": text} for text in ("one", "two")]
    messages = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    found = read_request("anthropic", {"messages": messages})
    assert [(each.call_id, each.tool) for each in found if isinstance(each, ToolCall)] == [
        ("call_1", "ls"),
        ("call_2", "cat"),
    ]
    assert [(each.call_id, each.content) for each in found if isinstance(each, ToolResult)] == [
        ("call_1", "one"),
        ("call_2", "two"),
    ]


def test_a_function_of_gemini_without_a_schema_has_no_parameters() -> None:
    declared: list[dict[str, Any]] = [{"name": "ls"}, {"name": "cat", "parameters": {"type": "OBJECT"}}]
    slots = read_request("gemini", {"tools": [{"functionDeclarations": declared}], "contents": []})
    functions = [json.loads(slot.text)["function"] for slot in slots if isinstance(slot, SlotContent)]
    assert functions == [{"name": "ls"}, {"name": "cat", "parameters": {"type": "OBJECT"}}]


def test_an_encrypted_summary_before_all_else_replaces_nothing_that_is_sent() -> None:
    item = {"type": "compaction", "encrypted_content": "x"}
    hello: dict[str, Any] = {"role": "user", "content": "hi"}
    for before in ([], [hello]):
        found = read_request("responses", {"input": [*before, item]})
        [made] = [body for body in found if isinstance(body, Compaction)]
        assert (made.first, made.last) == (len(before) + 1, len(before))


def test_a_checked_request_has_the_system_messages_in_their_places() -> None:
    said: list[Body] = [UserMessage("hi"), SystemMessage("be brief", "developer"), SystemMessage("")]
    made = request_of(said, {})
    assert [(each.role, each.text) for each in made.messages] == [("user", "hi"), ("developer", "be brief")]
