"""Spans of OpenTelemetry, by both conventions and in every form of file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.config.errors import WrongCall
from workbench.log.events import (
    AssistantMessage,
    Body,
    Failure,
    Reasoning,
    Setting,
    SlotContent,
    TextPart,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt", "gen_ai.conversation.id": "c"}


def span(second: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    context = {"trace_id": "t", "span_id": str(second)}
    return {
        "name": "s",
        "context": context,
        "start_time": f"2026-07-09T00:00:{second:02}Z",
        "attributes": attributes,
        **more,
    }


def otlp(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp(each) for each in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": otlp(each)} for key, each in value.items()]}}
    return {"stringValue": value}


def as_otlp(told: dict[str, Any]) -> dict[str, Any]:
    number = int(told["context"]["span_id"])
    attributes = [{"key": key, "value": otlp(value)} for key, value in told["attributes"].items()]
    times = {"startTimeUnixNano": str(1_783_555_200_000_000_000 + number * 10**9)}
    made = {"traceId": "t", "spanId": str(number), "name": "s", "attributes": attributes, **times}
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [made]}]}]}


def talk(bodies: list[Body]) -> list[Body]:
    return [body for body in bodies if not isinstance(body, Setting | SlotContent)]


def read(*spans: dict[str, Any]) -> Recording:
    [bodies] = read_conversations("file", json.dumps(spans))
    assert bodies.format == "OpenTelemetry spans"
    return bodies


def parts(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(content)}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "content": said}


CALL = {"type": "tool_call", "id": "c", "name": "ls", "arguments": {"path": "a"}}
GIVEN = {"type": "tool_call_response", "id": "c", "response": "x"}
FIRST = [parts("user", text("look"))]
SECOND = [*FIRST, parts("assistant", CALL), parts("tool", GIVEN)]
SAID = parts("assistant", {"type": "reasoning", "content": "hm"}, text("Done."))
HEAD = {
    **CHAT,
    "gen_ai.system_instructions": json.dumps([text("be brief")]),
    "gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "ls", "parameters": {}}]),
}
USED = {
    "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 5,
    "gen_ai.usage.cache_read.input_tokens": 90,
}


def called(asked: list[Any], said: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**HEAD, "gen_ai.input.messages": json.dumps(asked), "gen_ai.output.messages": json.dumps([said]), **more}


LOOP = [
    span(2, called(SECOND, SAID, **USED)),
    span(1, called(FIRST, parts("assistant", CALL))),
    span(0, {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "c"}),
]
READ: list[Body] = [
    UserMessage("look"),
    ToolCall("c", "ls", '{"path": "a"}', "r1"),
    ToolResult("c", "x"),
    Reasoning("hm", "r2"),
    AssistantMessage("Done.", "r2", model="gpt"),
    Usage("gpt", 0, 100, 90, completion=5),
]


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(LOOP),
        "\n".join(map(json.dumps, LOOP)),
        json.dumps({"data": LOOP}),
        "\n".join(json.dumps(as_otlp(each)) for each in LOOP),
        json.dumps({"resourceSpans": [each for told in LOOP for each in as_otlp(told)["resourceSpans"]]}),
    ],
    ids=["list", "lines", "object", "OTLP lines", "OTLP"],
)
def test_calls_by_the_conventions_for_genai_are_one_conversation(written: str) -> None:
    [bodies] = read_conversations("file", written)
    assert talk(bodies) == READ
    assert SlotContent("system", "system", "be brief") in bodies
    assert Setting("left out", {"invoke_agent": 1}) in bodies


def test_values_of_otlp_may_be_lists_and_objects() -> None:
    attributes = {**CHAT, "gen_ai.input.messages": FIRST, "gen_ai.output.messages": [SAID]}
    [bodies] = read_conversations("file", json.dumps(as_otlp(span(1, attributes))))
    assert talk(bodies)[0] == UserMessage("look")


@pytest.mark.parametrize("nested", [False, True])
def test_openinference_has_a_key_for_each_part_of_a_message(nested: bool) -> None:
    flat = {
        "llm.model_name": "gpt",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "be brief",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.text": "look",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "ls",
        "llm.token_count.prompt": 7,
        "llm.tools.0.tool.json_schema": json.dumps({"type": "function", "function": {"name": "ls"}}),
    }
    attributes: dict[str, Any] = flat
    if nested:
        said = {
            "message": {"role": "assistant", "tool_calls": [{"tool_call": {"id": "c", "function": {"name": "ls"}}}]}
        }
        asked = [
            {"message": {"role": "system", "content": "be brief"}},
            {"message": {"role": "user", "contents": [{"message_content": {"text": "look"}}]}},
        ]
        llm = {"model_name": "gpt", "input_messages": asked, "output_messages": [said], "token_count": {"prompt": 7}}
        tools = [{"tool": {"json_schema": flat["llm.tools.0.tool.json_schema"]}}]
        attributes = {"llm": {**llm, "tools": tools}}
    tool = span(3, {"tool.name": "ls", "tool.id": "c", "output.value": "x"}, span_kind="TOOL", status_code="ERROR")
    bodies = read(span(1, attributes, span_kind="LLM"), tool)
    assert talk(bodies) == [
        UserMessage("look"),
        ToolCall("c", "ls", "{}", "r1"),
        Usage("gpt", 0, 7),
        ToolResult("c", "x", "ls", True),
    ]
    assert SlotContent("system", "system", "be brief") in bodies
    assert any(isinstance(body, SlotContent) and body.slot == "tools" for body in bodies)


def test_older_conventions_have_events_or_numbered_prompts() -> None:
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": "look"}},
        {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": "Done."})}},
        {"name": "exception", "attributes": {}},
    ]
    numbered = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "look",
        "gen_ai.completion.0.content": "Done.",
        "gen_ai.request.model": "gpt",
    }
    expected = [UserMessage("look"), AssistantMessage("Done.", "r1", model="gpt")]
    assert talk(read(span(1, CHAT, events=events))) == expected
    assert talk(read(span(1, numbered))) == expected
    assert talk(read(span(1, {**CHAT, "input.value": "look", "output.value": "Done."}))) == expected
    for nothing in ({}, {"output.value": ""}, {"output.value": "[1]"}):
        assert talk(read(span(1, {**CHAT, "input.value": "look", **nothing}))) == expected[:1]


def test_tools_alone_are_a_conversation_and_calls_without_messages_are_counted() -> None:
    ran = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "ls",
        "gen_ai.tool.call.id": "c",
        "gen_ai.tool.call.arguments": "{}",
        "gen_ai.tool.call.result": "x",
    }
    bodies = read(span(1, {"gen_ai.operation.name": "chat"}), span(2, ran), span(3, {"http.method": "GET"}))
    assert talk(bodies) == [ToolCall("c", "ls", "{}", "r1"), ToolResult("c", "x", "ls")]
    assert Setting("left out", {"calls without messages": 1, "other spans": 1}) in bodies


def test_rows_of_a_table_have_their_attributes_as_columns() -> None:
    row = {
        "name": "ChatCompletion",
        "span_kind": "LLM",
        "context.span_id": "s",
        "start_time": 1_783_555_200_000,
        "attributes.llm.model_name": "gpt",
        "attributes.llm.input_messages": [{"message.role": "user", "message.content": "look"}],
        "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": "Done."}],
        "attributes.llm.tools": None,
    }
    assert talk(read(row)) == [UserMessage("look"), AssistantMessage("Done.", "r1", model="gpt")]


def test_vercel_s_ai_sdk_has_messages_of_its_own() -> None:
    called = {"toolCallId": "c", "toolName": "ls", "input": {"path": "a"}}
    asked = [
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}, {"type": "tool-call", **called}]},
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c", "output": {"type": "text", "value": "x"}}],
        },
    ]
    again = json.dumps([{**called, "toolCallId": "d"}])
    first = {"ai.prompt.messages": json.dumps(asked), "ai.response.toolCalls": again, "gen_ai.request.model": "gpt"}
    tool = {"ai.toolCall.name": "ls", "ai.toolCall.id": "d", "ai.toolCall.args": "{}", "ai.toolCall.result": "y"}
    assert talk(read(span(1, {**first, "ai.response.text": "So."}), span(2, tool))) == [
        UserMessage("look"),
        Reasoning("hm", "r1"),
        ToolCall("c", "ls", '{"path": "a"}', "r1"),
        ToolResult("c", "x"),
        AssistantMessage("So.", "r2", model="gpt"),
        ToolCall("d", "ls", '{"path": "a"}', "r2"),
        ToolResult("d", "y", "ls"),
    ]


def test_a_message_of_several_texts_has_all_of_them() -> None:
    asked = json.dumps([parts("user", text("look"), text("and hurry"))])
    bodies = read(span(1, {**CHAT, "gen_ai.input.messages": asked}))
    assert UserMessage((TextPart("look"), TextPart("and hurry"))) in bodies


def test_spans_without_any_messages_are_refused_in_words() -> None:
    with pytest.raises(WrongCall, match=r"^file: OpenTelemetry spans, but none of 1 entries holds messages or calls"):
        read(span(1, {"gen_ai.operation.name": "chat"}))


def trace_of(name: str, told: dict[str, Any], **more: Any) -> dict[str, Any]:
    attributes = {key: value for key, value in told["attributes"].items() if key != "gen_ai.conversation.id"}
    return {**told, "attributes": attributes, "context": {**told["context"], "trace_id": name}, **more}


def test_a_trace_that_continues_another_is_the_same_conversation() -> None:
    again = [*SECOND, SAID, parts("user", text("more"))]
    first, second = trace_of("a", LOOP[1]), trace_of("a", LOOP[0])
    other = [*SECOND, parts("assistant", text("Otherwise.")), parts("user", text("more"))]
    third = trace_of("b", span(5, called(again, parts("assistant", text("So.")))))
    found = read_conversations("file", json.dumps([third, first, second]))
    assert [len(talk(each)) for each in found] == [len(READ) + 2]
    apart = trace_of("c", span(6, called(other, parts("assistant", text("No.")))))
    assert [len(talk(each)) for each in read_conversations("file", json.dumps([first, second, apart]))] == [6, 6]


def test_the_same_question_in_two_traces_is_two_conversations() -> None:
    spans = [trace_of(name, span(at, called(FIRST, SAID))) for at, name in enumerate("ab")]
    assert len(read_conversations("file", json.dumps(spans))) == 2


def test_a_call_inside_the_run_of_a_tool_is_a_sub_agents() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ls", "gen_ai.tool.call.id": "c"}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "finder"}
    spans = [
        span(1, called(FIRST, parts("assistant", CALL))),
        span(2, {**tool, "gen_ai.conversation.id": "c"}),
        span(3, agent, parent_id="2"),
        span(4, called([parts("user", text("find it"))], SAID), parent_id="3"),
        span(5, called(SECOND, SAID)),
    ]
    main, sub = read_conversations("file", json.dumps(spans))
    assert (main.sub_agent, sub.sub_agent, main.sub_agents) == ("", "finder", {"2": "finder"})
    assert talk(sub)[0] == UserMessage("find it")
    assert [body for body in talk(main) if not isinstance(body, Usage)] == READ[:-1]


def test_spans_above_each_other_in_a_circle_end() -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    spans = [span(1, agent, parent_id="2"), span(2, agent, parent_id="1"), span(3, called(FIRST, SAID), parent_id="1")]
    assert talk(read(*spans))[0] == UserMessage("look")


def test_an_answer_in_two_messages_is_one_answer() -> None:
    flat = {
        "llm.model_name": "gpt",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "look",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "I look.",
        "llm.output_messages.1.message.role": "assistant",
        "llm.output_messages.1.message.tool_calls.0.tool_call.id": "c",
        "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": "ls",
    }
    wrapped = json.dumps({"type": "tool", "data": {"content": "x", "tool_call_id": "c"}})
    tool = span(2, {"tool.name": "ls", "output.value": wrapped}, span_kind="TOOL")
    assert talk(read(span(1, flat, span_kind="LLM"), tool)) == [
        UserMessage("look"),
        AssistantMessage("I look.", "r1", model="gpt"),
        ToolCall("c", "ls", "{}", "r1"),
        ToolResult("c", "x", "ls"),
    ]


def test_calls_that_lost_attributes_are_reported() -> None:
    made = as_otlp(span(1, called(FIRST, SAID)))
    made["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["droppedAttributesCount"] = 7
    [bodies] = read_conversations("file", json.dumps(made))
    [failure] = [body for body in bodies if isinstance(body, Failure)]
    assert failure.message.startswith("1 of 1 calls lost some of their messages")
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in failure.message
