"""What stands in a request's body: each thing that can be left out or changed, with its path, in all dialects.

A path is numbered as marks for the cache are (see `wire/parts`): `system.1`, `tools.3`, `messages.7` where a message is
one thing, `messages.7.2` for a block of it. In chat, calls and thinking stand beside the content: `messages.7.calls.0`,
`messages.7.reasoning`. Tools inside another entry, as in a namespace, are `tools.0.3`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from workbench.log.events import DialectName, text_of
from workbench.wire import gemini
from workbench.wire.parts import PLACES
from workbench.wire.responses import CALLS, output
from workbench.wire.values import as_json, content_of, dict_in, list_in, text_in

Kind = Literal["system", "tool", "user", "assistant", "reasoning", "call", "result", "other"]
Section = Literal["tools", "system", "messages"]
SECTIONS: Final[tuple[Section, ...]] = ("tools", "system", "messages")
"""In the order in which providers cache them."""
_ROLES: Final[dict[str, Kind]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "result",
    "function": "result",
}
_NESTED: Final = ("tools", "functionDeclarations", "function_declarations")
THINKING: Final = ("thinking", "redacted_thinking")


class BodyItem(NamedTuple):
    """One thing in a request that can be left out or changed."""

    path: str
    kind: Kind
    text: str
    tool: str = ""
    call_id: str = ""
    is_error: bool = False


class Place(NamedTuple):
    """Where a thing stands."""

    section: Section
    at: int
    """Which entry of the section: a tool, a block of the system prompt, a message."""
    key: str = ""
    """Under which key of the entry; empty: it is the entry."""
    number: int = -1
    """Which element there; -1: the value itself."""


class PlacedItem(NamedTuple):
    """A thing, where it stands, and what it belongs to."""

    item: BodyItem
    place: Place
    exchange: int
    """A call and its results have the same."""
    reply: int
    """What the model thought and said in one go has the same."""


class _Found(NamedTuple):
    """A thing in an entry."""

    key: str
    number: int
    kind: Kind
    text: str = ""
    tool: str = ""
    call_id: str = ""
    is_error: bool = False


def items_in(dialect: DialectName, body: dict[str, Any]) -> list[BodyItem]:
    """All that a request has, in the order in which it stands there: the system prompt, the tools, the messages."""
    return [placed.item for placed in placed_items(dialect, body, sections_of(dialect, body))]


def sections_of(dialect: DialectName, body: dict[str, Any]) -> dict[Section, list[Any]]:
    """A body's sections as lists of its entries; a text, or an object, that stands for a list is the one entry."""
    where, key = PLACES[dialect]
    return {"tools": list_in(body, "tools"), "system": _listed(body.get(where)), "messages": _listed(body.get(key))}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value and isinstance(value, str | dict) else []


def placed_items(dialect: DialectName, body: dict[str, Any], sections: dict[Section, list[Any]]) -> list[PlacedItem]:
    """All that a request has, with what belongs together."""
    pairs, replies = _Pairs(dialect), _Replies(dialect)
    is_list = isinstance(body.get(PLACES[dialect][0]), list)
    made: list[PlacedItem] = []
    for section in ("system", "tools", "messages"):
        for at, entry in enumerate(sections[section]):
            found = list(_FINDERS[section](dialect, entry))
            for each in found:
                call_id, exchange = pairs.exchange_of(each)
                item = BodyItem(
                    _path(section, at, each, len(found), is_list),
                    each.kind,
                    each.text,
                    each.tool or pairs.tool(call_id),
                    call_id,
                    each.is_error,
                )
                place = Place(section, at, each.key, each.number)
                made.append(PlacedItem(item, place, exchange, replies.reply_of(each, section, at, entry)))
    return made


def _path(section: str, at: int, found: _Found, count: int, is_list: bool) -> str:
    path = section if section == "system" and not is_list else f"{section}.{at}"
    if found.key in ("tool_calls", "function_call"):
        return f"{path}.calls.{max(found.number, 0)}"
    if found.key in ("reasoning_content", "reasoning"):
        return f"{path}.reasoning"
    if found.number >= 0:
        return f"{path}.{found.number}"
    return f"{path}.0" if found.key and count > 1 else path


class _Pairs:
    """Which call a result belongs to: by its id, or as Gemini has it, by the tool's name in their order."""

    def __init__(self, dialect: DialectName) -> None:
        self._dialect = dialect
        self._made = 0
        self._calls = 0
        self._waiting: defaultdict[str, deque[tuple[str, int]]] = defaultdict(deque)
        self._last: dict[str, tuple[str, int]] = {}
        self._tools: dict[str, str] = {}

    def tool(self, call_id: str) -> str:
        """The tool that was called."""
        return self._tools.get(call_id, "")

    def exchange_of(self, found: _Found) -> tuple[str, int]:
        """The id of its call, and the number of the exchange it belongs to; everything else has one of its own."""
        if found.kind == "result":
            key = found.call_id or f"tool {found.tool}"
            if self._dialect == "gemini":
                key = key if key in self._last else f"tool {found.tool}"
            call_id, number = self._waiting[key].popleft() if self._waiting[key] else self._last.get(key, ("", 0))
            if number:
                return call_id, number
        self._made += 1
        if found.kind == "call":
            self._calls += 1
            call_id = found.call_id or f"call-{self._calls}"
            self._tools[call_id] = found.tool
            key = found.call_id or f"tool {found.tool}"
            self._last[key] = call_id, self._made
            self._waiting[key].append(self._last[key])
            return call_id, self._made
        return found.call_id, self._made


class _Replies:
    """What the model said in one go: a message, or in Responses, thinking and the items up to the next."""

    def __init__(self, dialect: DialectName) -> None:
        self._dialect = dialect
        self._made = 0
        self._last: tuple[Any, ...] = ()
        self._thinking = False

    def reply_of(self, found: _Found, section: str, at: int, entry: Any) -> int:
        if self._dialect != "responses" or section != "messages":
            same = self._last == (section, at)
            self._last = (section, at)
        else:
            models = found.kind in ("reasoning", "assistant", "call") or text_in(entry, "type").endswith("_call")
            same = self._last == (models,) and models and (self._thinking or found.kind != "reasoning")
            self._last, self._thinking = (models,), found.kind == "reasoning"
        self._made += not same
        return self._made


# What an entry has in it


def _system(_: DialectName, entry: Any) -> Iterator[_Found]:
    parts = list_in(entry, "parts")
    for index, part in enumerate(parts):
        yield _Found("parts", index, "system", _text(part))
    if not parts:
        yield _Found("", -1, "system", _text(entry))


def _tools(_: DialectName, entry: Any) -> Iterator[_Found]:
    key = next((key for key in _NESTED if list_in(entry, key)), "")
    for index, tool in enumerate(list_in(entry, key)):
        yield _Found(key, index, "tool", as_json(tool), _tool_name(tool))
    if not key:
        yield _Found("", -1, "tool", as_json(entry), _tool_name(entry))


def _messages(dialect: DialectName, entry: Any) -> Iterator[_Found]:
    if not isinstance(entry, dict):
        yield _Found("", -1, "user" if isinstance(entry, str) else "other", _text(entry))
        return
    role: Kind = _ROLES.get(text_in(entry, "role") or ("user" if dialect == "gemini" else ""), "other")
    kind = text_in(entry, "type")
    if dialect == "responses" and kind not in ("", "message"):
        yield _response_item(kind, entry)
        return
    if dialect == "chat" and role == "result":
        tool = text_in(entry, "name")
        yield _Found("", -1, role, text_of(content_of(entry.get("content"))), tool, text_in(entry, "tool_call_id"))
        return
    found = [*_thinking(dialect, entry), *_content(dialect, entry, role), *_calls(dialect, entry)]
    yield from found or [_Found("", -1, role)]


def _response_item(kind: str, item: dict[str, Any]) -> _Found:
    if kind == "reasoning":
        parts = [*list_in(item, "summary"), *list_in(item, "content")]
        return _Found("", -1, "reasoning", "\n\n".join(filter(None, (text_in(part, "text") for part in parts))))
    if kind == "additional_tools":
        return _Found("", -1, "tool", as_json(item.get("tools")))
    call_id = text_in(item, "call_id")
    if kind.endswith("_call_output"):
        content, failed = output(item.get("output"))
        return _Found("", -1, "result", text_of(content), call_id=call_id, is_error=failed)
    call_id = call_id or (text_in(item, "id") if kind in CALLS else "")
    if kind.endswith("_call") and call_id:
        arguments = item.get(CALLS.get(kind, "action"))
        tool = text_in(item, "name") or kind.removesuffix("_call")
        return _Found("", -1, "call", as_json("" if arguments is None else arguments), tool, call_id)
    return _Found("", -1, "other", as_json(item))


def _thinking(dialect: DialectName, message: dict[str, Any]) -> Iterator[_Found]:
    key = next((key for key in ("reasoning_content", "reasoning") if text_in(message, key)), "")
    if dialect == "chat" and key:
        yield _Found(key, -1, "reasoning", text_in(message, key))


def _content(dialect: DialectName, message: dict[str, Any], role: Kind) -> Iterator[_Found]:
    key = "parts" if dialect == "gemini" else "content"
    content = message.get(key)
    if isinstance(content, str) and content:
        yield _Found(key, -1, role, content)
    for index, block in enumerate(content if isinstance(content, list) else ()):
        yield (_gemini_part if dialect == "gemini" else _block)(index, block, role)


def _block(index: int, block: Any, role: Kind) -> _Found:
    kind = text_in(block, "type")
    if kind in THINKING:
        return _Found("content", index, "reasoning", text_in(block, "thinking"))
    if kind.endswith("tool_use"):
        arguments = as_json(block.get("input") or {})
        return _Found("content", index, "call", arguments, text_in(block, "name"), text_in(block, "id"))
    if kind.endswith("tool_result"):
        text, failed = text_of(content_of(block.get("content"))), block.get("is_error") is True
        return _Found("content", index, "result", text, call_id=text_in(block, "tool_use_id"), is_error=failed)
    return _Found("content", index, role, _text(block))


def _gemini_part(index: int, part: Any, role: Kind) -> _Found:
    call, response = gemini.either(part, "functionCall"), gemini.either(part, "functionResponse")
    if isinstance(call, dict):
        arguments = as_json(call.get("args") or {})
        return _Found("parts", index, "call", arguments, text_in(call, "name"), text_in(call, "id"))
    if isinstance(response, dict):
        given = response.get("response")
        failed = isinstance(given, dict) and bool(given.get("error"))
        text = as_json(dict_in(response, "response").get(gemini_output(given), given) or "")
        return _Found("parts", index, "result", text, text_in(response, "name"), text_in(response, "id"), failed)
    if isinstance(part, dict) and part.get("thought") is True:
        return _Found("parts", index, "reasoning", text_in(part, "text"))
    return _Found("parts", index, "user" if role == "result" else role, text_of((gemini.part_of(part),)))


def gemini_output(given: Any) -> str:
    """The one key under which a response of Gemini's has its text; empty where it has more than that."""
    keys = list(given) if isinstance(given, dict) else []
    return keys[0] if len(keys) == 1 and keys[0] in ("output", "error", "result") else ""


def _calls(dialect: DialectName, message: dict[str, Any]) -> Iterator[_Found]:
    if dialect != "chat":
        return
    for index, call in enumerate(list_in(message, "tool_calls")):
        function = dict_in(call, "function")
        arguments = as_json(function.get("arguments") or "")
        yield _Found("tool_calls", index, "call", arguments, text_in(function, "name"), text_in(call, "id"))
    legacy = dict_in(message, "function_call")
    if legacy:
        yield _Found("function_call", -1, "call", as_json(legacy.get("arguments") or ""), text_in(legacy, "name"))


def _text(value: Any) -> str:
    return text_of(content_of([value])) if not isinstance(value, dict) or "type" in value else text_in(value, "text")


def _tool_name(tool: Any) -> str:
    return text_in(dict_in(tool, "function"), "name") or text_in(tool, "name") or text_in(tool, "type")


_FINDERS: Final = {"system": _system, "tools": _tools, "messages": _messages}
