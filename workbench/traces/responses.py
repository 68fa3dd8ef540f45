"""OpenAI's Responses: items as a list or JSON lines, a request with them under `input`, or a response under `output`.

- Items are read as `wire/responses` has them. A message may leave its `type` out.
- The API lists items as `{"object": "list", "data": [...]}`, the newest first unless asked otherwise.
- The other keys of a request or response are counted.
"""

from __future__ import annotations

from typing import Any

from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.responses import CALLS, ResponsesReader, responses_usage
from workbench.wire.values import dict_in, list_in, text_in

NAME = format_names.OPENAI_RESPONSES
_CALLS = (*CALLS, "computer_call", "shell_call", "apply_patch_call", "tool_search_call", "mcp_call")
_READ = ("input", "output", "instructions", "tools", "model", "usage")


def recognises(document: Document) -> bool:
    """Whether it is a request or a response, or has calls in the form of these items."""
    first = first_objects(document, 1 << 31)
    return any(_is_body(value) or _is_call(value) or _is_list(value) for value in first)


def _is_body(value: dict[str, Any]) -> bool:
    """A request or a response; `messages` would be the older form."""
    if "messages" in value or not text_in(value, "model"):
        return False
    return any(_is_item(item) for item in (*list_in(value, "input"), *list_in(value, "output")))


def _is_item(value: Any) -> bool:
    return bool(text_in(value, "role")) or _is_call(value)


def _is_call(value: Any) -> bool:
    kind = text_in(value, "type")
    return bool(text_in(value, "call_id")) and kind.removesuffix("_output") in _CALLS


def _is_list(value: Any) -> bool:
    if text_in(value, "object") != "list":
        return False
    return any(_is_item(item) and text_in(item, "type") for item in list_in(value, "data"))


def _listed(value: dict[str, Any]) -> list[Any]:
    """The items of a list, oldest first: a call comes before its output, a question before its answer."""
    items = list_in(value, "data")
    calls = {text_in(item, "call_id"): at for at, item in enumerate(items) if text_in(item, "type").endswith("_call")}
    for at, item in enumerate(items):
        if text_in(item, "type").endswith("_call_output") and text_in(item, "call_id") in calls:
            return items[::-1] if calls[text_in(item, "call_id")] > at else items
    return items[::-1] if text_in(items[0], "role") == "assistant" else items


def read(document: Document, text: str) -> list[Recording]:
    """The conversation; or one per request or response."""
    values = [value for _, value in log_entries(document, text)]
    bodies = [value for value in values if isinstance(value, dict) and _is_body(value)]
    if not bodies:
        items = [item for value in values for item in (_listed(value) if _is_list(value) else [value])]
        return [_conversation(Builder(NAME, document.broken), items)]
    found = []
    for number, body in enumerate(bodies):
        builder = Builder(NAME, () if number else document.broken)
        found.append(_conversation(builder, [*list_in(body, "input"), *list_in(body, "output")], body))
    return found


def _conversation(builder: Builder, items: list[Any], body: dict[str, Any] | None = None) -> Recording:
    reader = ResponsesReader(builder)
    if body is not None:
        builder.says_model(text_in(body, "model"))
        reader.head(body)
        builder.leave_out_all_but(_READ, body)
    for item in items:
        reader.message(item)
    used = responses_usage(dict_in(body, "usage"), builder.model)
    if used is not None:
        builder.add(used)
    return builder.finish()
