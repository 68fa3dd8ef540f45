"""What waste cost: how many requests carried it, and at which price, as the session was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from workbench.context.steps import CellChange
from workbench.context.tool_kinds import CallLine
from workbench.context.tool_lines import call_parts
from workbench.lab.caching import CacheUse, price
from workbench.lab.waste.rules import KINDS, WastedItem, WasteKind, find_waste
from workbench.log.events import Event, SlotContent, SystemMessage, ToolCall, ToolResult, text_of
from workbench.models.catalogue import ModelInfo


class CarriedWaste(NamedTuple):
    """One piece of waste, and what carrying it cost."""

    kind: WasteKind
    event: int
    tool: str
    line: str
    """What it is, in a line: the call it came from, or how it begins."""
    tokens: int
    since: int
    """The event from which on it was of no use."""
    by: int
    """The event that holds it now, or took its place."""
    pair: int
    """Where a call is left out with it: its result; else 0."""
    request: int
    """The first request that carried it as waste; 0: none did."""
    requests: int
    """How many did."""
    carried: int
    """Its tokens in all of them."""
    cost: float | None
    """Dollars, where it was read from the cache at that price; None where no price is known."""
    is_path: bool = False
    """Whether the line is about a file, whose name is at its end."""


class WasteSum(NamedTuple):
    """Waste of a kind, or of a tool; of many sessions, the cost is of those whose model has a price."""

    name: str
    items: int
    tokens: int
    carried: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class WasteReport:
    """All waste of a session."""

    items: tuple[CarriedWaste, ...] = ()

    @property
    def total(self) -> WasteSum:
        """All together."""
        return _sum("", self.items)

    @property
    def kinds(self) -> list[WasteSum]:
        """By kind, in their order."""
        return [_sum(kind, found) for kind in KINDS if (found := [each for each in self.items if each.kind == kind])]

    @property
    def tools(self) -> list[WasteSum]:
        """By tool, the worst first; what is no tool's has no name."""
        by_tool: dict[str, list[CarriedWaste]] = {}
        for item in self.items:
            by_tool.setdefault(item.tool, []).append(item)
        sums = [_sum(tool, items) for tool, items in by_tool.items()]
        return sorted(sums, key=lambda each: (-each.carried, -each.tokens, each.name))


def _sum(name: str, items: Sequence[CarriedWaste]) -> WasteSum:
    costs = [item.cost for item in items if item.cost is not None]
    cost = sum(costs) if costs or not items else None
    return WasteSum(name, len(items), sum(item.tokens for item in items), sum(item.carried for item in items), cost)


class _Carried:
    """What is known of one piece while the session is replayed."""

    def __init__(self, item: WastedItem) -> None:
        self.item = item
        self.first = self.requests = self.read = self.written = self.plain = self.hour = 0


class WasteMeter:
    """Follows a recorded session request by request.

    A piece counts while it is sent, and what took its place is sent too. What is live at a time is never more than a
    window holds, so that following a session costs what its requests change.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._pieces = [_Carried(item) for item in find_waste(events)]
        self._watched: dict[int, list[_Carried]] = {}
        """By event: the pieces that it is about, or that it took the place of."""
        self._standing: list[_Carried] = []
        """Definitions and the first system messages: they are no cells."""
        self._tokens: dict[int, int] = {}
        self._sent: set[int] = set()
        self._live: dict[int, _Carried] = {}
        self._fresh: list[int] = []
        self._ends: dict[int, int] = {}
        """By event: so many tokens of a request at most are before its end."""
        for piece in self._pieces:
            item = piece.item
            self._tokens |= dict.fromkeys(filter(None, (item.event, item.pair)), 0)
            if isinstance(self._body(item.event), SlotContent | SystemMessage):
                self._standing.append(piece)
            for seq in (item.event, item.by):
                self._watched.setdefault(seq, []).append(piece)

    def _body(self, seq: int) -> object:
        return self._events[seq - 1].body

    def take(self, changes: Iterable[CellChange]) -> None:
        """What became of items before the next request."""
        for change in changes:
            seq = change.cell.seq
            if seq in self._tokens:
                self._tokens[seq] = change.cell.tokens
            pieces = self._watched.get(seq)
            if pieces is None:
                continue
            if change.after in ("sent", "truncated"):
                self._sent.add(seq)
                self._fresh.append(seq)
            else:
                self._sent.discard(seq)
            for piece in pieces:
                item = piece.item
                if item.event in self._sent and item.by in self._sent:
                    self._live[item.event] = piece
                else:
                    self._live.pop(item.event, None)

    def request(self, number: int, upto: int, size: int, use: CacheUse) -> None:
        """One request that was sent."""
        for seq in self._fresh:
            self._ends[seq] = size
        self._fresh = []
        for event, piece in self._live.items():
            self._ends[event] = min(self._ends[event], size)
            _carry(piece, number, use, self._ends[event])
        for piece in self._standing:
            item = piece.item
            if not self._tokens[item.event] and item.since <= upto and not 0 < item.until <= upto:
                _carry(piece, number, use, 1)

    def report(self, info: ModelInfo, count: Callable[[str], int]) -> WasteReport:
        """What it cost, at the prices of a model; `count` counts what is no item of the conversation.

        What was gone before it became waste never was any.
        """
        standing = {piece.item.event for piece in self._standing if not piece.item.until}
        found = [each for each in self._pieces if each.requests or each.item.event in self._live.keys() | standing]
        return WasteReport(tuple(self._told(piece, info, count) for piece in found))

    def _told(self, piece: _Carried, info: ModelInfo, count: Callable[[str], int]) -> CarriedWaste:
        item, body = piece.item, self._body(piece.item.event)
        tokens = self._tokens[item.event] + (self._tokens[item.pair] if item.pair else 0)
        if not tokens and isinstance(body, SlotContent | SystemMessage):
            tokens = count(body.text if isinstance(body, SlotContent) else text_of(body.content))
        line = self._line(item.event)
        use = CacheUse(*(count * tokens for count in (piece.read, piece.written, piece.plain, piece.hour)))
        return CarriedWaste(
            item.kind,
            item.event,
            item.tool,
            str(line),
            tokens,
            item.since,
            item.by,
            item.pair,
            piece.first,
            piece.requests,
            piece.requests * tokens,
            price(info, use, 0),
            line.is_path,
        )

    @cached_property
    def _calls(self) -> dict[str, ToolCall]:
        return {event.body.call_id: event.body for event in self._events if isinstance(event.body, ToolCall)}

    def _line(self, seq: int) -> CallLine:
        match self._body(seq):
            case ToolResult(call_id=call_id) if call_id in self._calls:
                call = self._calls[call_id]
                return call_parts(call.tool, call.arguments)
            case ToolCall(tool=tool, arguments=arguments):
                return call_parts(tool, arguments)
            case SlotContent(slot=slot, name=name):
                return CallLine(slot, name)
            case SystemMessage(content=content):
                return CallLine(text_of(content)[:_SHOWN])
        return CallLine("")


def _carry(piece: _Carried, number: int, use: CacheUse, end: int) -> None:
    """One request more. It begins with what the cache had, then comes what entered it; `end`: where the piece ends."""
    piece.first = piece.first or number
    piece.requests += 1
    if end <= use.read:
        piece.read += 1
    elif end <= use.read + use.written:
        piece.written += 1
        piece.hour += use.hour * 2 > use.written
    else:
        piece.plain += 1


_SHOWN = 80
"""Characters of a text that tell what it is."""
