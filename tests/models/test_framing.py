"""What messages, calls and tool definitions cost beyond their text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.openai_reports import CALLS, MESSAGES, TOOLS, Json, Report, said
from workbench.models import framing
from workbench.models.framing import (
    count_author,
    count_call,
    count_name,
    count_tool,
    count_tools_frame,
    tool_style,
)
from workbench.models.tokens import TokenCount, TokenCounter, counter_named

O200K, CL100K = counter_named("o200k_base"), counter_named("cl100k_base")

WEATHER: Json = {
    "type": "function",
    "function": {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
                "unit": {
                    "type": "string",
                    "description": "The unit of temperature to return",
                    "enum": ["celsius", "fahrenheit"],
                },
            },
            "required": ["location"],
        },
    },
}
"""The tool of OpenAI's cookbook."""


def with_parameters(properties: dict[str, Any]) -> str:
    return json.dumps({"name": "f", "parameters": {"type": "object", "properties": properties}})


def size(chat: TokenCounter, messages: list[Json], functions: Iterable[Json] = ()) -> int:
    """What a request costs, put together from its parts."""
    tokens, called = framing.REPLY_PRIMING, ""
    for message in messages:
        tokens += framing.MESSAGE + chat.count(message["content"] or "").tokens
        tokens += count_name(chat, message.get("name", ""))
        for call in message.get("tool_calls", []):
            called = call["function"]["name"]
            tokens += framing.CALL + count_call(chat, called, call["function"]["arguments"]).tokens
        tokens += count_author(chat, called if message["role"] == "tool" else "")
    if functions:
        system = next((message["content"] for message in messages if message["role"] == "system"), None)
        tokens += count_tools_frame(chat, system) + sum(count_tool(chat, json.dumps(tool)).tokens for tool in functions)
    return tokens


@pytest.mark.parametrize("report", [*MESSAGES, *TOOLS, *CALLS])
def test_a_request_costs_what_openai_reported(report: Report) -> None:
    assert size(CL100K, report.messages, report.functions) == report.tokens


@pytest.mark.parametrize(("chat", "expected"), [(O200K, 101), (CL100K, 105)])
def test_the_cookbooks_example_costs_what_the_cookbook_says(chat: TokenCounter, expected: int) -> None:
    messages = said(
        ("system", "You are a helpful assistant that can answer to questions about the weather."),
        ("user", "What's the weather like in San Francisco?"),
    )
    assert size(chat, messages, [WEATHER]) == expected


@pytest.mark.parametrize("chat", [O200K, CL100K])
def test_definitions_one_by_one_cost_what_they_cost_together(chat: TokenCounter) -> None:
    functions = [tool for report in TOOLS for tool in report.functions]
    together = "\n\n".join(
        ["namespace functions {", *(shown(tool) + ";" for tool in functions), "} // namespace functions"]
    )
    apart = sum(count_tool(chat, json.dumps(tool)).tokens for tool in functions)
    assert apart + count_tools_frame(chat, None) == chat.count(together).tokens + 9


def shown(tool: Json) -> str:
    """A function in TypeScript, up to its last mark."""
    return framing._typescript(tool)


def test_a_function_is_written_as_a_type() -> None:
    assert shown(WEATHER["function"]) == (
        "// Get the current weather in a given location\n"
        "type get_current_weather = (_: {\n"
        "// The city and state, e.g. San Francisco, CA\n"
        "location: string,\n"
        "// The unit of temperature to return\n"
        'unit?: "celsius" | "fahrenheit",\n'
        "}) => any"
    )


def test_tools_of_other_providers_have_no_frame() -> None:
    assert count_tools_frame(O200K, "Be brief.", "json") == 0


def test_a_definition_costs_the_same_with_and_without_its_wrapping() -> None:
    assert count_tool(O200K, json.dumps(WEATHER)) == count_tool(O200K, json.dumps(WEATHER["function"]))


def test_a_definition_is_never_exact() -> None:
    assert not count_tool(O200K, json.dumps(WEATHER)).exact
    assert not count_tool(O200K, json.dumps(WEATHER), "json").exact


def test_other_providers_are_taken_to_read_the_json() -> None:
    text = json.dumps(WEATHER)
    assert count_tool(O200K, text, "json") == TokenCount(O200K.count(text).tokens, False)


@pytest.mark.parametrize("text", ["", "not json", "[1, 2]", "null", '{"no": "name"}', '{"function": 3}', "[" * 99_999])
def test_what_is_no_definition_costs_its_text(text: str) -> None:
    assert count_tool(O200K, text) == TokenCount(O200K.count(text).tokens, False)


@pytest.mark.parametrize(
    "property_",
    [
        {"type": "object", "properties": {"inner": {"type": "string", "description": "the inner one"}}},
        {"type": "array", "items": {"type": "object", "properties": {"inner": {"type": "string"}}}},
        {"anyOf": [{"type": "object", "properties": {"inner": {"type": "string"}}}, {"type": "null"}]},
        {"type": ["null", "object"], "properties": {"inner": {"type": "string"}}},
    ],
)
def test_what_is_nested_is_counted(property_: dict[str, Any]) -> None:
    nested = count_tool(O200K, with_parameters({"place": property_})).tokens
    flat = count_tool(O200K, with_parameters({"place": {"type": "object"}})).tokens
    assert nested > flat


def test_what_is_referred_to_is_counted_once() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Place"}, "b": {"$ref": "#/$defs/Place"}}}
    schema["$defs"] = {"Place": {"type": "object", "properties": {"town": {"type": "string"}}}}
    written = shown({"name": "f", "parameters": schema})
    assert written == "type Place = {\n  town?: string,\n};\ntype f = (_: {\na?: Place,\nb?: Place,\n}) => any"


def test_nested_kinds_do_not_double_with_every_level() -> None:
    schema: Json = {}
    for _ in range(60):
        schema = {"type": ["object", "object", "null"], "properties": {"a": schema}}
    assert count_tool(O200K, with_parameters({"deep": schema})).tokens < 2_000


def test_several_types_and_odd_choices_are_survived() -> None:
    odd = {"a": {"type": ["string", "null"]}, "b": True, "c": {"enum": [1, None, {"x": 2}]}, "d": {"anyOf": "no"}}
    assert count_tool(O200K, with_parameters(odd)).tokens > count_tool(O200K, with_parameters({})).tokens


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "function", "parameters", "properties", "type", "enum", "items", "anyOf", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(definition=json_values)
def test_no_definition_is_an_error(definition: Any) -> None:
    assert count_tool(O200K, json.dumps(definition)).tokens >= 0


def test_a_call_costs_its_name_and_its_arguments() -> None:
    name, arguments = "read_file", '{"path": "src/a.py"}'
    assert count_call(O200K, name, arguments) == TokenCount(
        O200K.count(name).tokens + O200K.count(arguments).tokens, True
    )


def test_a_call_is_as_exact_as_its_parts() -> None:
    assert not count_call(counter_named("rough"), "f", "{}").exact
    assert not count_call(O200K, "f", "\ud800").exact


def test_a_name_costs_one_more_than_its_text() -> None:
    assert count_name(O200K, "") == 0
    assert count_name(O200K, "alice") == O200K.count("alice").tokens + 1


def test_the_style_follows_the_provider() -> None:
    assert tool_style("azure") == "openai"
    assert tool_style("anthropic") == "json"
