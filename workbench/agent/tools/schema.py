"""Checks arguments against the subset of JSON Schema that the tools use, with errors that a model can act on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workbench.agent.tools.base import ToolFailure
from workbench.config.tables import shown_value

_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def read_arguments(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Parse and check the arguments of a call as the model wrote them. Raises ToolFailure that names each wrong one."""
    try:
        value = json.loads(text) if text.strip() else {}
    except RecursionError:
        raise ToolFailure("arguments: expected a JSON object, got brackets nested too deeply") from None
    except ValueError as error:
        raise ToolFailure(f"arguments: expected a JSON object: {error}") from None
    if not isinstance(value, dict):
        raise ToolFailure(f"arguments: expected a JSON object, got {shown_value(value)}")
    required, properties = schema.get("required", ()), schema.get("properties", {})
    # Some models write null for arguments that they leave out, even where null has no meaning.
    value = {
        key: each
        for key, each in value.items()
        if each is not None or key in required or not isinstance(properties.get(key, {}).get("type"), str)
    }
    problems = schema_problems(value, schema)
    if problems:
        raise ToolFailure("; ".join(problems))
    return value


def schema_problems(value: Any, schema: Mapping[str, Any], where: str = "") -> list[str]:
    """The problems with a value, one line each; empty if there are none."""
    at = where or "arguments"
    kinds = schema.get("type", ())
    allowed = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if allowed and not any(_is(value, kind) for kind in allowed):
        expected = " or ".join(_WORDS.get(kind, kind) for kind in allowed)
        return [f"{at}: expected {expected}, got {shown_value(value)}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: expected one of {', '.join(map(str, schema['enum']))}, got {shown_value(value)}"]
    if isinstance(value, dict):
        return _check_object(value, schema, where)
    if isinstance(value, list):
        items = schema.get("items", {})
        return [problem for n, each in enumerate(value) for problem in schema_problems(each, items, f"{at}[{n}]")]
    if isinstance(value, str):
        return _check_size(len(value), schema, ("minLength", "maxLength"), f"{at}: expected", "characters", len(value))
    if _is(value, "number"):
        return _check_size(value, schema, ("minimum", "maximum"), f"{at}: expected a number", "", value)
    return []


def _check_size(
    size: float, schema: Mapping[str, Any], keys: tuple[str, str], head: str, unit: str, got: object
) -> list[str]:
    least, most = schema.get(keys[0]), schema.get(keys[1])
    tail = f" {unit}" if unit else ""
    if least is not None and size < least:
        return [f"{head} from {least}{tail} up, got {got}"]
    if most is not None and size > most:
        return [f"{head} up to {most}{tail}, got {shown_value(got)}"]
    return []


def _check_object(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> list[str]:
    properties = schema.get("properties", {})
    before = f"{where}." if where else ""
    problems = [
        f"{before}{name}: missing; expected {_wanted(properties.get(name, {}))}"
        for name in schema.get("required", ())
        if name not in value
    ]
    for name, each in value.items():
        if name in properties:
            problems += schema_problems(each, properties[name], before + name)
        elif schema.get("additionalProperties") is False:
            import difflib  # late, as few names are wrong

            near = difflib.get_close_matches(name, list(properties), n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"expected {', '.join(properties) or 'none'}"
            problems.append(f"{before}{shown_value(name)[1:-1]}: no such argument; {hint}")
    return problems


def _wanted(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "a value")
    return _WORDS.get(kind, str(kind)) if isinstance(kind, str) else "a value"


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
    return True  # a type that we do not know is for the MCP server to check
