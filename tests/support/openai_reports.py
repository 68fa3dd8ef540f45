"""Prompt tokens that OpenAI reported for small requests (gpt-3.5, cl100k), as published with openai-chat-tokens."""

from __future__ import annotations

from typing import Any, NamedTuple

Json = dict[str, Any]


class Report(NamedTuple):
    """A request, and what it was reported to cost."""

    tokens: int
    messages: list[Json]
    functions: tuple[Json, ...] | list[Json] = ()


def said(*texts: tuple[str, str]) -> list[Json]:
    """Messages of a role and a text each."""
    return [{"role": role, "content": text} for role, text in texts]


def tool(name: str, description: str = "", required: list[str] | None = None, /, **properties: Json) -> Json:
    """A function that takes these properties."""
    parameters: Json = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    return {"name": name, **({"description": description} if description else {}), "parameters": parameters}


def text(description: str = "", **more: Any) -> Json:
    """A property that is a string."""
    return {"type": "string", **({"description": description} if description else {}), **more}


def thing(**properties: Json) -> Json:
    """A property that is an object."""
    return {"type": "object", "properties": properties}


def call(name: str, arguments: str, result: str) -> list[Json]:
    """A call, and its result."""
    function = {"name": name, "arguments": arguments}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": result},
    ]


HELLO = said(("user", "hello"))
HI = said(("system", "Hello"), ("user", "Hi there"))
COLON = said(("system", "Hello:"), ("user", "Hi there"))
TWO_SYSTEMS = said(("system", "Hello:"), ("system", "Hello"), ("user", "Hi there"))
BING = ("bing_bong", "Do a bing bong")
NUMBER = {"type": "number", "description": "A number"}
YES_NO = ["Yes", "No"]

MESSAGES = [
    Report(8, HELLO),
    Report(9, said(("user", "hello world"))),
    Report(8, said(("system", "hello"))),
    Report(9, said(("system", "hello:"))),
    Report(
        27,
        said(("system", "# Important: you're the best robot"), ("user", "hello robot"), ("assistant", "hello world")),
    ),
    Report(
        20,
        [
            {
                "role": "system",
                "name": "example_user",
                "content": "New synergies will help drive top-line growth.",
            }
        ],
    ),
    Report(
        28,
        [
            {
                "role": "system",
                "name": "example_user",
                "content": "Let's circle back when we have more bandwidth to touch base on opportunities for increased "
                "leverage.",
            }
        ],
    ),
    Report(
        26,
        said(("user", "This late pivot means we don't have time to boil the ocean for the client deliverable.")),
    ),
]

TOOLS = [
    Report(31, HELLO, [tool("foo")]),
    Report(36, HELLO, [tool("foo", "Do a foo")]),
    Report(49, HELLO, [tool(*BING, foo=text())]),
    Report(57, HELLO, [tool(*BING, foo=text(), bar=NUMBER)]),
    Report(68, HELLO, [tool(*BING, foo=thing(bar=text(enum=["a", "b", "c"]), baz={"type": "boolean"}))]),
    Report(35, HI, [tool("do_stuff")]),
    Report(35, COLON, [tool("do_stuff")]),
    Report(40, TWO_SYSTEMS, [tool("do_stuff")]),
    Report(49, TWO_SYSTEMS, [tool("do_stuff"), tool("do_other_stuff")]),
    Report(52, HI, [tool("do_stuff", foo={"anyOf": [thing(kind=text(const="a"), baz={"type": "boolean"})]})]),
    Report(
        80,
        HI,
        [
            tool(
                "do_stuff",
                foo={
                    "anyOf": [
                        thing(kind=text(const="a"), baz={"type": "boolean"}),
                        thing(kind=text(const="b"), qux={"type": "number"}),
                        thing(kind=text(const="c"), idk=text()),
                    ]
                },
            )
        ],
    ),
    Report(44, HI, [tool("do_stuff", foo={"anyOf": [text(const="a"), {"type": "number"}]})]),
    Report(
        106,
        HELLO,
        [
            tool(
                "get_recipe",
                "",
                ["ingredients", "instructions", "time_to_cook"],
                ingredients={
                    "type": "array",
                    "items": {
                        **thing(
                            name=text(),
                            unit=text(enum=["grams", "ml", "cups", "pieces", "teaspoons"]),
                            amount={"type": "number"},
                        ),
                        "required": ["name", "unit", "amount"],
                    },
                },
                instructions={
                    "type": "array",
                    "items": text(),
                    "description": "Steps to prepare the recipe (no numbering)",
                },
                time_to_cook={"type": "number", "description": "Total time to prepare the recipe in minutes"},
            )
        ],
    ),
    Report(
        46,
        HELLO,
        [
            tool(
                "function",
                "description",
                quality=thing(
                    pros={
                        "type": "array",
                        "items": text(),
                        "description": "Write 3 points why this text is well written",
                    }
                ),
            )
        ],
    ),
    Report(
        96,
        HELLO,
        [
            tool(
                "function",
                "desctiption1",
                **{
                    "mainField": text("description3"),
                    "field number one": {
                        "description": "description4",
                        **thing(
                            yesNoField=text("description5", enum=YES_NO),
                            howIsInteresting=text("description6"),
                            scoreInteresting={"type": "number", "description": "description7"},
                            isInteresting=text("description8", enum=YES_NO),
                        ),
                    },
                },
            )
        ],
    ),
    Report(
        108,
        HELLO,
        [
            tool(
                "get_current_weather",
                "Get the current weather in a given location",
                ["location"],
                location=text("The city and state, e.g. San Francisco, CA"),
                unit=text(enum=["celsius", "fahrenheit"]),
            ),
            tool(*BING, foo=text(), bar=NUMBER),
        ],
    ),
]

BOSTON = '{"location":"Boston"}'
NOON = '{"location":"%s", "date": "yesterday", "time": "noon"}'

CALLS = [
    Report(17, call("ggg", "", "")),
    Report(24, call("get_current_weather", BOSTON, "")),
    Report(36, call("get_current_weather", BOSTON, "It is currently 70 degrees and sunny in Boston, MA")),
    Report(32, call("get_totally_different_weather_123", BOSTON, "")),
    Report(51, call("get_totally_different_weather_123", NOON % "Boston", "It is the same as yesterday")),
    Report(42, call("get_address", NOON % "Paris", "The address is 123 Main St")),
]
