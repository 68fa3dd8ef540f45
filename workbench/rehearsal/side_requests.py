"""Requests that are not for a free answer: for a title, for a decision in a JSON schema, or for a call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from workbench.config.patterns import late_pattern
from workbench.rehearsal.summaries import asks_for_summary
from workbench.rehearsal.turns import asked_in, has_results, own_words_in
from workbench.wire.answers import WrittenAnswer, WrittenCall
from workbench.wire.checked_requests import CheckedRequest, Json, freeform_json, function_of, tool_name_of
from workbench.wire.values import dict_in, list_in

WORDS = 6
"""The most words of a title."""
PROMPT = 8_000
"""A prompt with this many characters or more belongs to an agent, and does not ask for a title."""
DEEPEST = 12
"""How deep a schema is followed; one that never ends refers to itself."""

_TITLE = late_pattern(
    r"\b(?:generate|write|create|return|produce|provide|give|make|output|suggest)\b[^.\n]{0,80}\btitle\b"
    r"|\byou are naming\b|\btitle generator\b",
    re.IGNORECASE,
)
_SESSION = late_pattern(
    r"<(?P<tag>session|conversation|user_message)>(?P<said>.*?)</(?P=tag)>|\nUser prompt:\n(?P<rest>.*)", re.DOTALL
)


def is_title_request(request: CheckedRequest) -> bool:
    """Whether only a title is asked for: then no tools are offered, or the answer must have nothing else.

    An agent's own prompt may mention titles, too, and is sent with its request for a summary.
    """
    if has_results(request) or (request.tools and not _is_title_alone(request.schema)):
        return False
    if _TITLE.search(asked_in(request)[:2000]):
        return True
    asking = [message.text for message in request.messages if message.role in ("system", "developer")]
    return not asks_for_summary(asked_in(request)) and any(_TITLE.search(text) for text in asking if len(text) < PROMPT)


def _is_title_alone(schema: Json | None) -> bool:
    return list(dict_in(schema or {}, "properties")) == ["title"]


def conversation_title(request: CheckedRequest) -> str:
    """The first words of the conversation."""
    for message in request.messages:
        text = "\n".join(own_words_in(message)) if message.role == "user" else ""
        inside = _SESSION.search(text)
        text = inside["said"] or inside["rest"] or "" if inside else "" if _TITLE.search(text[:2000]) else text
        words = re.sub(r"[^\w\s./-]", " ", text).split()[:WORDS]
        if words:
            return " ".join(words)[:1].upper() + " ".join(words)[1:]
    return "Rehearsal"


def filled_schema(schema: Json, text: str) -> str:
    """JSON for a schema, with the text in every place that accepts text."""
    return json.dumps(schema_instance(schema, text), ensure_ascii=False)


def schema_instance(schema: object, text: str, root: object = None, depth: int = 0) -> Any:
    """The simplest value for a JSON schema."""
    root = root or schema
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return text
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    other = _other(schema, root)
    if other is not None:
        return schema_instance(other, text, root, depth + 1)
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    match str(kinds[0] if isinstance(kinds, list) and kinds else kinds).lower():
        case "object":
            inside = dict_in(schema, "properties")
            names = [name for name in list_in(schema, "required") or inside if isinstance(name, str)]
            return {name: schema_instance(inside.get(name), text, root, depth + 1) for name in names}
        case "array":
            least = schema.get("minItems")
            each = schema_instance(schema.get("items"), text, root, depth + 1)
            return [each] * (least if isinstance(least, int) else 0)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "null":
            return None
    return text


def _other(schema: Json, root: object) -> object:
    """The schema that this one refers to, or the first of its alternatives."""
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    found = root
    if not isinstance(schema.get("$ref"), str):
        return None
    for step in schema["$ref"].removeprefix("#").strip("/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def forced_answer(request: CheckedRequest) -> WrittenAnswer | None:
    """The required call, for the first offered tool, in the simplest form; None if a provider runs all the tools."""
    tool = next((each for each in request.tools if function_of(each).get("name")), None)
    if tool is None:
        return None
    name = tool_name_of(tool)
    if request.is_freeform(name):
        return WrittenAnswer(calls=(WrittenCall(name, freeform_json(asked_in(request))),))
    arguments = schema_instance(function_of(tool).get("parameters") or {"type": "object"}, asked_in(request))
    return WrittenAnswer(calls=(WrittenCall(name, json.dumps(arguments, ensure_ascii=False)),))
