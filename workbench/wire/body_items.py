"""Lists the items in a request's body that can be left out or changed, each with its path, for all dialects.

A path is numbered like the marks for the cache (see `wire/parts`): `system.1`, `tools.3`, `messages.7` where a message
is one item, `messages.7.2` for one of its blocks. In chat, calls and thinking are outside the content:
`messages.7.calls.0`, `messages.7.reasoning`. Tools inside another entry, as in a namespace, are `tools.0.3`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from workbench.log.events import DialectName
from workbench.wire.dialects import DIALECTS
from workbench.wire.found_items import FoundItem, Kind, entry_text
from workbench.wire.values import dict_in, json_text, list_in, text_in

Section = Literal["tools", "system", "messages"]
SECTIONS: Final[tuple[Section, ...]] = ("tools", "system", "messages")
"""The sections in the order in which providers cache them."""
_NESTED: Final = ("tools", "functionDeclarations", "function_declarations")


class BodyItem(NamedTuple):
    """One item of a request that can be left out or changed."""

    path: str
    kind: Kind
    text: str
    tool: str = ""
    call_id: str = ""
    """The id of its call; where the body has none, a number, which changes when an earlier call is left out."""
    is_error: bool = False
    given_id: str = ""
    """The id of its call in the body; empty if it has none."""


class BodyPlace(NamedTuple):
    """The position of an item in the body."""

    section: Section
    at: int
    """The index of the entry in the section: of a tool, a block of the system prompt, or a message."""
    key: str = ""
    """The key inside the entry; empty: the item is the entry itself."""
    number: int = -1
    """The index of the element under the key; -1: the item is the whole value."""


class PlacedItem(NamedTuple):
    """An item, its position, and the groups it belongs to."""

    item: BodyItem
    place: BodyPlace
    exchange: int
    """The number of its exchange. A call and its results have the same number."""
    reply: int
    """The number of its reply. Everything that the model thought and said in one reply has the same number."""


def items_in(dialect: DialectName, body: dict[str, Any]) -> list[BodyItem]:
    """All items of a request, in the order system prompt, tools, messages."""
    return [placed.item for placed in placed_items(dialect, body, sections_of(dialect, body))]


def sections_of(dialect: DialectName, body: dict[str, Any]) -> dict[Section, list[Any]]:
    """The sections of a body as lists of entries. A text or an object in place of a list is a single entry."""
    where, key = DIALECTS[dialect].places
    return {"tools": list_in(body, "tools"), "system": _listed(body.get(where)), "messages": _listed(body.get(key))}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value and isinstance(value, str | dict) else []


def placed_items(dialect: DialectName, body: dict[str, Any], sections: dict[Section, list[Any]]) -> list[PlacedItem]:
    """All items of a request, with their positions and groups."""
    pairs, replies = _Pairs(dialect), _Replies(dialect)
    is_list = isinstance(body.get(DIALECTS[dialect].places[0]), list)
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
                    each.call_id,
                )
                place = BodyPlace(section, at, each.key, each.number)
                made.append(PlacedItem(item, place, exchange, replies.reply_of(each, section, at, entry)))
    return made


def _path(section: str, at: int, found: FoundItem, count: int, is_list: bool) -> str:
    path = section if section == "system" and not is_list else f"{section}.{at}"
    if found.key in ("tool_calls", "function_call"):
        return f"{path}.calls.{max(found.number, 0)}"
    if found.key in ("reasoning_content", "reasoning", "thinking"):
        return f"{path}.reasoning"
    if found.number >= 0:
        return f"{path}.{found.number}"
    return f"{path}.0" if found.key and count > 1 else path


class _Pairs:
    """Finds the call that a result belongs to: by id, or for Gemini by the tool's name in order."""

    def __init__(self, dialect: DialectName) -> None:
        self._by_tool = DIALECTS[dialect].pairs_by_tool
        self._made = 0
        """How many exchanges were numbered."""
        self._calls = 0
        self._waiting: defaultdict[str, deque[tuple[str, int]]] = defaultdict(deque)
        """By id or tool: the calls without a result so far, each with its exchange."""
        self._last: dict[str, tuple[str, int]] = {}
        """By id or tool: the last call, which gets further results."""
        self._tools: dict[str, str] = {}

    def tool(self, call_id: str) -> str:
        """The name of the tool that was called."""
        return self._tools.get(call_id, "")

    def exchange_of(self, found: FoundItem) -> tuple[str, int]:
        """The id of an item's call, and the number of its exchange. All other items get their own numbers."""
        if found.kind == "result":
            key = found.call_id or f"tool {found.tool}"
            if self._by_tool:
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
    """Numbers the model's replies: each message, or in Responses, thinking and the items up to the next thinking."""

    def __init__(self, dialect: DialectName) -> None:
        self._are_items = DIALECTS[dialect].replies_are_items
        self._made = 0
        self._last: tuple[Any, ...] = ()
        self._thinking = False

    def reply_of(self, found: FoundItem, section: str, at: int, entry: Any) -> int:
        if not self._are_items or section != "messages":
            same = self._last == (section, at)
            self._last = (section, at)
        else:
            is_models = found.kind in ("reasoning", "assistant", "call") or text_in(entry, "type").endswith("_call")
            same = self._last == (is_models,) and is_models and (self._thinking or found.kind != "reasoning")
            self._last, self._thinking = (is_models,), found.kind == "reasoning"
        self._made += not same
        return self._made


# The items of an entry


def _system(_: DialectName, entry: Any) -> Iterator[FoundItem]:
    parts = list_in(entry, "parts")
    for index, part in enumerate(parts):
        yield FoundItem("parts", index, "system", entry_text(part))
    if not parts:
        yield FoundItem("", -1, "system", entry_text(entry))


def _tools(_: DialectName, entry: Any) -> Iterator[FoundItem]:
    key = next((key for key in _NESTED if list_in(entry, key)), "")
    for index, tool in enumerate(list_in(entry, key)):
        yield FoundItem(key, index, "tool", json_text(tool), _tool_name(tool))
    if not key:
        yield FoundItem("", -1, "tool", json_text(entry), _tool_name(entry))


def _messages(dialect: DialectName, entry: Any) -> Iterator[FoundItem]:
    if not isinstance(entry, dict):
        yield FoundItem("", -1, "user" if isinstance(entry, str) else "other", entry_text(entry))
        return
    found = list(DIALECTS[dialect].items_in_message(entry))
    yield from found or [FoundItem("", -1, DIALECTS[dialect].role_in(entry))]


def _tool_name(tool: Any) -> str:
    return text_in(dict_in(tool, "function"), "name") or text_in(tool, "name") or text_in(tool, "type")


_FINDERS: Final = {"system": _system, "tools": _tools, "messages": _messages}
