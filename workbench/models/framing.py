"""What messages cost beyond their text: the tokens around messages, calls and tool definitions.

OpenAI documents its rule for messages and, in its cookbook, a formula for tools; other providers document
neither. What is counted here is therefore approximate, and the ledger learns the difference from the reports.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from workbench.models.tokens import Count, TokenCounter

MESSAGE = 4
"""Around each message: three marks and the role."""

NAME = 1
"""Beside a name's own tokens, where a message has one."""

REPLY_PRIMING = 3
"""Once per request: the reply is begun for the model."""

CALL = 8
"""Around each tool call, in OpenAI's published harmony format: channel, recipient, constraint and end."""

TOOLS_END = 12
"""Once per request that has tools (the cookbook's `func_end`)."""

Style = Literal["openai", "json"]
"""How a provider is taken to write tool definitions: OpenAI's own notation, or the JSON as it is."""

_TOOL_START = {"cl100k_base": 10}
"""The cookbook's `func_init` by tokenizer; 7 for o200k and whatever else is counted this way."""

_PROPERTIES_START = 3
_PROPERTY = 3
_ENUM_START = -3
_ENUM_ITEM = 3


def tool_style(provider: str) -> Style:
    """OpenAI's notation for those who serve OpenAI's models, JSON for all others."""
    return "openai" if provider in ("openai", "azure", "github_copilot", "chatgpt") else "json"


def count_name(counter: TokenCounter, name: str) -> int:
    """What a message's name costs; nothing when there is none."""
    return counter.count(name).tokens + NAME if name else 0


def count_call(counter: TokenCounter, name: str, arguments: str) -> Count:
    """The content of a tool call: the tool's name and the arguments as the model wrote them."""
    called, given = counter.count(name), counter.count(arguments)
    return Count(called.tokens + given.tokens, called.exact and given.exact)


def count_tool(counter: TokenCounter, definition_json: str, style: Style = "openai") -> Count:
    """One tool definition. Always approximate: no provider says how it writes them for the model."""
    function = _function(definition_json) if style == "openai" else None
    if function is None:
        return Count(counter.count(definition_json).tokens, False)
    line = f"{function.get('name', '')}:{_sentence(function.get('description'))}"
    tokens = _TOOL_START.get(counter.name, 7) + counter.count(line).tokens
    parameters = function.get("parameters")
    if isinstance(parameters, Mapping):
        tokens += _count_properties(counter, parameters)
    return Count(tokens, False)


def _function(definition_json: str) -> Mapping[str, Any] | None:
    """The function inside a definition, with or without its wrapping; None when it is not one."""
    try:
        definition = json.loads(definition_json)
    except (ValueError, RecursionError):
        return None
    if not isinstance(definition, Mapping):
        return None
    function = definition.get("function", definition)
    return function if isinstance(function, Mapping) and "name" in function else None


def _count_properties(counter: TokenCounter, schema: Mapping[str, Any]) -> int:
    """The properties of an object, and of the objects inside it."""
    tokens = 0
    for key in ("properties", "$defs"):
        properties = schema.get(key)
        if isinstance(properties, Mapping) and properties:
            tokens += _PROPERTIES_START
            tokens += sum(_count_property(counter, name, value) for name, value in properties.items())
    return tokens


def _count_property(counter: TokenCounter, name: str, schema: Any) -> int:
    """One property: its name, type and description on a line, its choices, and what is nested in it."""
    if not isinstance(schema, Mapping):
        return _PROPERTY + counter.count(name).tokens
    tokens = _PROPERTY
    choices = schema.get("enum")
    if isinstance(choices, list):
        tokens += _ENUM_START + sum(_ENUM_ITEM + counter.count(_written(choice)).tokens for choice in choices)
    line = f"{name}:{_type_of(schema)}:{_sentence(schema.get('description'))}"
    tokens += counter.count(line).tokens
    inner = [schema, schema.get("items"), *_alternatives(schema)]
    return tokens + sum(_count_properties(counter, part) for part in inner if isinstance(part, Mapping))


def _type_of(schema: Mapping[str, Any]) -> str:
    """A property's type in a word: its own, that of what it refers to, or those it may have."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    if isinstance(kind, list):
        return "|".join(map(str, kind))
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    return "|".join(_type_of(part) for part in _alternatives(schema) if isinstance(part, Mapping))


def _alternatives(schema: Mapping[str, Any]) -> list[Any]:
    """The schemas of which one, some or all must hold."""
    found: list[Any] = []
    for key in ("anyOf", "oneOf", "allOf"):
        parts = schema.get(key)
        if isinstance(parts, list):
            found.extend(parts)
    return found


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _sentence(value: Any) -> str:
    """A description without its last full stop, as the cookbook counts it."""
    return value.removesuffix(".") if isinstance(value, str) else ""
