"""What messages, calls and tool definitions cost beyond their text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.models import framing
from workbench.models.framing import count_call, count_name, count_tool, tool_style
from workbench.models.tokens import Count, counter

O200K, CL100K = counter("o200k_base"), counter("cl100k_base")

WEATHER: dict[str, Any] = {
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


@pytest.mark.parametrize(("model", "expected"), [("gpt-4o", 101), ("gpt-4", 105)])
def test_the_cookbooks_example_costs_what_the_cookbook_says(model: str, expected: int) -> None:
    chat = O200K if model == "gpt-4o" else CL100K
    messages = [
        ("system", "You are a helpful assistant that can answer to questions about the weather."),
        ("user", "What's the weather like in San Francisco?"),
    ]
    text = sum(framing.MESSAGE + chat.count(content).tokens for _, content in messages)
    tool = count_tool(chat, json.dumps(WEATHER)).tokens
    assert text + framing.REPLY_PRIMING + tool + framing.TOOLS_END == expected


def test_a_definition_costs_the_same_with_and_without_its_wrapping() -> None:
    assert count_tool(O200K, json.dumps(WEATHER)) == count_tool(O200K, json.dumps(WEATHER["function"]))


def test_a_definition_is_never_exact() -> None:
    assert not count_tool(O200K, json.dumps(WEATHER)).exact
    assert not count_tool(O200K, json.dumps(WEATHER), "json").exact


def test_other_providers_are_taken_to_read_the_json() -> None:
    text = json.dumps(WEATHER)
    assert count_tool(O200K, text, "json") == Count(O200K.count(text).tokens, False)


@pytest.mark.parametrize("text", ["", "not json", "[1, 2]", "null", '{"no": "name"}', '{"function": 3}', "[" * 99_999])
def test_what_is_no_definition_costs_its_text(text: str) -> None:
    assert count_tool(O200K, text) == Count(O200K.count(text).tokens, False)


@pytest.mark.parametrize(
    "property_",
    [
        {"type": "object", "properties": {"inner": {"type": "string", "description": "the inner one"}}},
        {"type": "array", "items": {"type": "object", "properties": {"inner": {"type": "string"}}}},
        {"anyOf": [{"type": "object", "properties": {"inner": {"type": "string"}}}, {"type": "null"}]},
        {"$ref": "#/$defs/Place", "$defs": {"Place": {"type": "object", "properties": {"inner": {}}}}},
    ],
)
def test_what_is_nested_is_counted(property_: dict[str, Any]) -> None:
    nested = count_tool(O200K, with_parameters({"place": property_})).tokens
    flat = count_tool(O200K, with_parameters({"place": {"type": "object"}})).tokens
    assert nested > flat


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
@settings(max_examples=200, deadline=None)
def test_no_definition_is_an_error(definition: Any) -> None:
    assert count_tool(O200K, json.dumps(definition)).tokens >= 0


def test_a_call_costs_its_name_and_its_arguments() -> None:
    name, arguments = "read_file", '{"path": "src/a.py"}'
    assert count_call(O200K, name, arguments) == (O200K.count(name).tokens + O200K.count(arguments).tokens, True)


def test_a_call_is_as_exact_as_its_parts() -> None:
    assert not count_call(counter("rough"), "f", "{}").exact
    assert not count_call(O200K, "f", "\ud800").exact


def test_a_name_costs_one_more_than_its_text() -> None:
    assert count_name(O200K, "") == 0
    assert count_name(O200K, "alice") == O200K.count("alice").tokens + 1


def test_the_style_follows_the_provider() -> None:
    assert tool_style("azure") == "openai"
    assert tool_style("anthropic") == "json"
