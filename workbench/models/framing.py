"""What messages cost in addition to their text: the tokens around messages, calls and tool definitions.

OpenAI documents its rule for messages. How it writes calls, results and tools was derived by others from its reports,
and their measurements are in the tests. Other providers publish nothing. The counts here are therefore approximate, and
the ledger learns the difference from the reports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from workbench.models.tokens import TokenCount, TokenCounter

MESSAGE = 4
"""Around each message: three marks and the role."""

NAME = 1
"""In addition to a name's own tokens, if a message has one."""

REPLY_PRIMING = 3
"""Once per request: the beginning of the reply."""

CALL = 3
"""Around each tool call, in addition to its name and its arguments."""

Style = Literal["openai", "json"]
"""How we assume that a provider writes tool definitions: OpenAI's own notation, or plain JSON."""

_TOOLS = 9
"""Once per request that has tools: their own system message, and a little more."""

_SHARED_MESSAGE = -4
"""If the request has a system message, the tools are written into it."""

_DETAILS = 2
"""From this depth on, the descriptions of properties are left out."""

_ENDING = 64
"""How many characters at the end of a text decide what a newline after it costs; far more than are needed."""


def tool_style(provider: str) -> Style:
    """OpenAI's notation for providers that serve OpenAI's models, JSON for all others."""
    return "openai" if provider in ("openai", "azure", "github_copilot", "chatgpt") else "json"


def count_name(counter: TokenCounter, name: str) -> int:
    """The cost of a message's name; 0 if it has none."""
    return counter.count(name).tokens + NAME if name else 0


def count_author(counter: TokenCounter, tool: str) -> int:
    """The cost that the author of a result adds to its message: the tool's name replaces the role."""
    return counter.count(tool).tokens - 1 if tool else 0


def count_call(counter: TokenCounter, name: str, arguments: str) -> TokenCount:
    """The content of a tool call: the tool's name and the arguments as the model wrote them."""
    called, given = counter.count(name), counter.count(arguments)
    return TokenCount(called.tokens + given.tokens, called.exact and given.exact)


def count_tool(counter: TokenCounter, definition_json: str, style: Style = "openai") -> TokenCount:
    """One tool definition. Always approximate: no provider documents how it writes them for the model."""
    try:
        function = _function(definition_json) if style == "openai" else None
        # Begin with the end of the previous text: tokenizers join it with the comment that follows.
        text = definition_json if function is None else ";\n\n" + _typescript(function)
    except (ValueError, RecursionError):
        text = definition_json
    return TokenCount(counter.count(text).tokens, False)


def count_tools_frame(counter: TokenCounter, system: str | None, style: Style = "openai") -> int:
    """The cost of the text around all tools of a request. `system`: the text of its first system message, if any."""
    if style != "openai":
        return 0
    tokens = _TOOLS + sum(
        counter.count(text).tokens for text in ("namespace functions", ";\n\n} // namespace functions")
    )
    if system is None:
        return tokens
    end = system[-_ENDING:]
    return tokens + _SHARED_MESSAGE + counter.count(end + "\n").tokens - counter.count(end).tokens


def _function(definition_json: str) -> Mapping[str, Any] | None:
    """The function inside a definition, with or without its wrapping; None if it is not one."""
    definition = json.loads(definition_json)
    if not isinstance(definition, Mapping):
        return None
    function = definition.get("function", definition)
    return function if isinstance(function, Mapping) and "name" in function else None


def _typescript(function: Mapping[str, Any]) -> str:
    """A function as OpenAI's models see it: a TypeScript type with comments."""
    schema = function.get("parameters")
    parameters = schema if isinstance(schema, Mapping) else {}
    lines = [*_comment(function)]
    for key in ("$defs", "definitions"):
        lines += [f"type {name} = {_type_of(part, 0)};" for name, part in _members(parameters, key)]
    taken = f"_: {{\n{_properties(parameters, 0)}\n}}" if _members(parameters, "properties") else ""
    return "\n".join([*lines, f"type {function['name']} = ({taken}) => any"])


def _comment(schema: Mapping[str, Any]) -> Iterator[str]:
    description = schema.get("description")
    if description and isinstance(description, str):
        yield f"// {description}"


def _members(schema: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The schemas under a key, by name."""
    members = schema.get(key)
    if not isinstance(members, Mapping):
        return []
    return [(name, part if isinstance(part, Mapping) else {}) for name, part in members.items()]


def _properties(schema: Mapping[str, Any], depth: int) -> str:
    """The properties of an object, one per line, and their descriptions."""
    required = schema.get("required")
    always = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    lines: list[str] = []
    for name, part in _members(schema, "properties"):
        if depth < _DETAILS:
            lines += _comment(part)
        lines.append(f"{name}{'' if name in always else '?'}: {_type_of(part, depth)},")
    return "\n".join(" " * depth + line for line in lines)


def _type_of(schema: Any, depth: int) -> str:
    """A property's type, including nested types."""
    if not isinstance(schema, Mapping):
        return "any"
    for key, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if isinstance(schema.get(key), list):
            return sign.join(_type_of(part, depth) for part in schema[key])
    if isinstance(schema.get("enum"), list):
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in schema["enum"])
    kind = schema.get("type")
    match kind:
        case "integer":
            return "number"
        case "object":
            return f"{{\n{_properties(schema, depth + 2)}\n}}"
        case "array":
            return f"{_type_of(schema.get('items'), depth)}[]"
        case str():
            return kind
        case list():
            # Each type once: otherwise nested types would double with every level.
            return " | ".join(_type_of({**schema, "type": each}, depth) for each in dict.fromkeys(map(str, kind)))
    return str(schema["$ref"]).rsplit("/", 1)[-1] if "$ref" in schema else "any"
