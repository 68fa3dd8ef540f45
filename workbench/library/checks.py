"""Checks the shape of messages before they are read, and says where one is wrong.

A message is known by its shape, so there is one check for all dialects: an entry with a role and a content, a content
with parts (Gemini), or an item with a type (Responses).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workbench.library.plain_values import bad_message

_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_SPEAKERS: Final = ("user", "model", "function", "system")
_TEXTS: Final = ("text", "input_text", "output_text")
_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}


def check_message(message: Any, where: str) -> None:
    """Raise BadMessage if a value is no message of any dialect."""
    if not isinstance(message, Mapping):
        raise bad_message(where, "a message, which is a dict or an object of an SDK", message)
    kind = message.get("type")
    if "parts" in message and "content" not in message:
        _content_with_parts(message, where)
    elif isinstance(kind, str) and kind not in ("", "message"):
        _item(message, kind, where)
    else:
        _entry(message, where)


def _content_with_parts(message: Mapping[str, Any], where: str) -> None:
    role = message.get("role", "user")
    if role not in _SPEAKERS:
        raise bad_message(f"{where}.role", f"one of {', '.join(_SPEAKERS)}", role)
    parts = message["parts"]
    if not isinstance(parts, list):
        raise bad_message(f"{where}.parts", "a list of parts", parts)
    for at, part in enumerate(parts):
        if not isinstance(part, str | Mapping) or not part:
            raise bad_message(
                f"{where}.parts[{at}]", "a part, which is a dict with text, functionCall or the like", part
            )
        for key in ("functionCall", "function_call", "functionResponse", "function_response"):
            if key in part and not isinstance(part, str):
                _text(part[key], "name", f"{where}.parts[{at}].{key}")


def _item(message: Mapping[str, Any], kind: str, where: str) -> None:
    if kind in _CALLS:
        _text(message, "name", where)
        _text(message, _CALLS[kind], where, may_be_empty=True)
        if not message.get("call_id") and not message.get("id"):
            raise bad_message(f"{where}.call_id", "the id of the call", message.get("call_id"))
    elif kind.endswith("_call_output"):
        _text(message, "call_id", where)
        if "output" not in message:
            raise bad_message(f"{where}.output", "the result of the call", None)
    elif not (kind.endswith("_call") or kind in _OTHER_ITEMS):
        raise bad_message(f"{where}.type", f"message, function_call, {', '.join(_OTHER_ITEMS)} or the like", kind)


_OTHER_ITEMS: Final = (
    "reasoning",
    "compaction",
    "compaction_summary",
    "additional_tools",
    "item_reference",
    *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
)


def _entry(message: Mapping[str, Any], where: str) -> None:
    role = message.get("role")
    if role not in _ROLES:
        raise bad_message(f"{where}.role", f"one of {', '.join(_ROLES)}", role)
    calls = message.get("tool_calls")
    if calls is not None:
        _calls(calls, f"{where}.tool_calls")
    _content(message.get("content"), f"{where}.content")
    if message.get("content") is None and role != "assistant":  # an answer may be cut off before its first word
        raise bad_message(f"{where}.content", "text or a list of parts", None)
    if role == "tool" and "tool_name" not in message:
        _text(message, "tool_call_id", where)


def _calls(calls: Any, where: str) -> None:
    if not isinstance(calls, list):
        raise bad_message(where, "a list of calls", calls)
    for at, call in enumerate(calls):
        function = call.get("function", call.get("custom")) if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            raise bad_message(f"{where}[{at}]", "a call with the key function", call)
        _text(function, "name", f"{where}[{at}].function")
        if not isinstance(function.get("arguments", ""), str | Mapping):
            raise bad_message(f"{where}[{at}].function.arguments", "JSON text", function["arguments"])


def _content(content: Any, where: str) -> None:
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise bad_message(where, "text or a list of parts", content)
    for at, part in enumerate(content):
        _part(part, f"{where}[{at}]")


def _part(part: Any, where: str) -> None:
    if isinstance(part, str):
        return
    if not isinstance(part, Mapping):
        raise bad_message(where, "a part, which is a dict with a type", part)
    kind = part.get("type")
    if not isinstance(kind, str) or not kind:
        raise bad_message(f"{where}.type", "the type of the part, such as text", kind)
    if kind in _TEXTS:
        _text(part, "text", where, may_be_empty=True)
    elif kind == "tool_use":
        _text(part, "id", where)
        _text(part, "name", where)
        if not isinstance(part.get("input", {}), Mapping):
            raise bad_message(f"{where}.input", "a dict", part["input"])
    elif kind == "tool_result":
        _text(part, "tool_use_id", where)
        _content(part.get("content"), f"{where}.content")


def _text(value: Any, key: str, where: str, *, may_be_empty: bool = False) -> None:
    found = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(found, str) or not (found or may_be_empty):
        raise bad_message(f"{where}.{key}", "a text", found)
