"""What can be left out of a request, each as a unit: a message, a call with its results, a tool, a system prompt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from workbench.config.errors import Refused
from workbench.context.tool_lines import LOOKED_AT, call_line
from workbench.log.events import DialectName
from workbench.wire.body_items import PlacedItem, placed_items, sections_of
from workbench.wire.found_items import Kind
from workbench.wire.rewriting import BodyRewriter, Rewrite
from workbench.wire.values import json_text

Grain = Literal["items", "groups"]
LEFT_OUT: Final = "[left out]"
"""In place of the first message. A conversation that begins with the model's own words is refused by providers."""
_OWN: Final = frozenset({"user", "system"})


class RequestUnit(Struct, frozen=True):
    """A part of a request that is left out or kept as a whole."""

    number: int
    """From 0, in the order of the request: tools, system prompt, messages."""
    paths: tuple[str, ...]
    kind: Kind
    """Of its largest item, so a call with its result is a result."""
    tool: str
    """The tool of the call; empty for other units."""
    arguments: str
    """The arguments of the call."""
    title: str
    """What it is, in one line of foreign text."""
    tokens: int
    """About; without the framing of messages."""
    replaced: tuple[str, ...] = ()
    """Those of its paths whose text is replaced instead, because the message cannot be missing."""

    @property
    def is_foreign(self) -> bool:
        """Whether neither the user nor the program wrote it: the result of a tool can try to give orders."""
        return self.kind == "result"


class _Part(Struct, frozen=True):
    """Items that leave together."""

    items: tuple[PlacedItem, ...]
    group: int
    """The number of the group of messages that it belongs to."""


def units_in(
    dialect: DialectName, body: dict[str, Any], count: Callable[[str], int], grain: Grain = "items"
) -> list[RequestUnit]:
    """The units of a request that can be left out without making it invalid.

    The last message stays, because the model answers it, and so do calls without results. A tool stays that was called
    or has to be called. `grain`: each item alone, or messages of one iteration, all tools and the whole system prompt
    as one unit each.
    """
    sections = sections_of(dialect, body)
    placed = placed_items(dialect, body, sections)
    last = len(sections["messages"]) - 1
    parts = list(_parts(placed, last, _tools_to_keep(placed, body)))
    if grain == "groups":
        parts = _grouped(parts)
    first = next((each.place.at for each in placed if _is_talk(each)), -1)
    made: list[RequestUnit] = []
    rewriter = BodyRewriter(dialect, body)
    for part in parts:
        unit = _unit(len(made), part.items, count, first)
        if not unit.replaced or _can_be_replaced(rewriter, unit):
            made.append(unit)
    return made


def leaving_out(units: Sequence[RequestUnit], removed: Collection[int]) -> Rewrite:
    """The change that leaves out some of the units."""
    gone = [units[number] for number in removed]
    replaced = {path: LEFT_OUT for unit in gone for path in unit.replaced}
    exclude = frozenset(path for unit in gone for path in unit.paths if path not in replaced)
    return Rewrite(exclude, mask=replaced)


def _can_be_replaced(rewriter: BodyRewriter, unit: RequestUnit) -> bool:
    try:
        rewriter.rewritten_body(leaving_out([unit], [0]))
    except Refused:  # such as a picture, which has no text
        return False
    return True


def _is_talk(placed: PlacedItem) -> bool:
    return placed.place.section == "messages" and placed.item.kind != "system"


def _tools_to_keep(placed: Sequence[PlacedItem], body: dict[str, Any]) -> frozenset[str]:
    """The names of tools without whose definitions a provider may refuse the request."""
    called = {each.item.tool for each in placed if each.item.kind in ("call", "result") and each.item.tool}
    demanded = json_text([body.get("tool_choice"), body.get("toolConfig")])
    forced = {each.item.tool for each in placed if each.item.kind == "tool" and f'"{each.item.tool}"' in demanded}
    return frozenset(called | forced)


def _parts(placed: Sequence[PlacedItem], last: int, kept_tools: frozenset[str]) -> Iterable[_Part]:
    """Items that leave together: a call and its results. Thinking leaves with its reply, and is no part of its own."""
    by_exchange: dict[int, list[PlacedItem]] = {}
    for each in placed:
        if each.item.kind != "reasoning":
            by_exchange.setdefault(each.exchange, []).append(each)
    replies = {each.exchange: each.reply for each in placed if each.item.kind == "call"}
    for exchange, items in by_exchange.items():
        kinds = {each.item.kind for each in items}
        stays = any(each.place.section == "messages" and each.place.at == last for each in items)
        stays = stays or ("call" in kinds and "result" not in kinds)
        stays = stays or any(each.item.kind == "tool" and each.item.tool in kept_tools for each in items)
        if not stays:
            yield _Part(tuple(items), replies.get(exchange, items[0].reply))


def _grouped(parts: Sequence[_Part]) -> list[_Part]:
    """All tools, the system prompt, and the parts of each reply with its results, as one part each."""
    grouped: dict[object, list[PlacedItem]] = {}
    for part in parts:
        item = part.items[0]
        key: object = part.group if _is_talk(item) else item.item.kind
        grouped.setdefault(key, []).extend(part.items)
    return [_Part(tuple(items), 0) for items in grouped.values()]


def _unit(number: int, items: Sequence[PlacedItem], count: Callable[[str], int], first: int) -> RequestUnit:
    sizes = [count(each.item.text) for each in items]
    largest = items[sizes.index(max(sizes))].item
    call = next((each.item for each in items if each.item.kind == "call"), None)
    result = any(each.item.kind == "result" for each in items)
    kind = "result" if result else largest.kind
    title = call_line(call.tool, call.text[:100_000]) if call else largest.tool or largest.text[:LOOKED_AT]
    if len(items) > 1 + (call is not None):
        title = f"{title} and {len(items) - 1 - (call is not None)} more"
    opening = [each.item for each in items if _is_talk(each) and each.place.at == first]
    return RequestUnit(
        number,
        tuple(each.item.path for each in items),
        kind,
        call.tool if call else "",
        call.text if call else "",
        title,
        sum(sizes),
        tuple(item.path for item in opening if item.kind in _OWN),
    )
