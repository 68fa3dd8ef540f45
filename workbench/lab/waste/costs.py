"""Measures what waste cost in the recorded session: how many requests carried it, and at which price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from workbench.context.steps import CellChange
from workbench.context.tool_kinds import CallLine
from workbench.context.tool_lines import call_parts
from workbench.lab.caching import CacheUse, request_price
from workbench.lab.waste.rules import KINDS, WastedItem, WasteKind, find_waste
from workbench.log.events import Event, SlotContent, SystemMessage, ToolCall, ToolResult, text_of
from workbench.models.catalogue import ModelInfo


class CarriedWaste(NamedTuple):
    """One piece of waste, and what carrying it cost."""

    kind: WasteKind
    event: int
    tool: str
    line: str
    """A line that describes it: the call, or the beginning of the text."""
    tokens: int
    since: int
    """The event from which on it was waste."""
    by: int
    """The event that holds it now, or replaced it."""
    pair: int
    """The result, if the call is waste as well; else 0."""
    request: int
    """The first request that carried it as waste; 0: none did."""
    requests: int
    """How many requests carried it."""
    carried: int
    """Its tokens in all these requests."""
    cost: float | None
    """Dollars, at the cache's price where it was read from the cache; None where no price is known."""
    is_path: bool = False
    """Whether the line ends with a path."""


class WasteSum(NamedTuple):
    """The waste of a kind or of a tool. Items without a known price add no cost."""

    name: str
    items: int
    tokens: int
    carried: int
    cost: float | None


class WasteReport(Struct, frozen=True):
    """All waste of a session."""

    items: tuple[CarriedWaste, ...] = ()

    @property
    def total(self) -> WasteSum:
        """The sum of all items."""
        return _sum("", self.items)

    @property
    def kinds(self) -> list[WasteSum]:
        """A sum per kind, in their order."""
        return [_sum(kind, found) for kind in KINDS if (found := [each for each in self.items if each.kind == kind])]

    @property
    def tools(self) -> list[WasteSum]:
        """A sum per tool, the worst first. Items without a tool have an empty name."""
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
    """The counts of one piece during the replay."""

    def __init__(self, item: WastedItem) -> None:
        self.item = item
        self.first = self.requests = self.read = self.written = self.plain = self.hour = 0


class WasteMeter:
    """Follows a recorded session request by request.

    A piece counts while it is sent together with the item that replaced it. At any time at most a window of items is
    live, so following a session costs only what its requests change.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._pieces = [_Carried(item) for item in find_waste(events)]
        self._watched: dict[int, list[_Carried]] = {}
        """By event: the pieces that it is, or that it replaced."""
        self._fixed: list[_Carried] = []
        """Definitions and the first system messages. They are not cells."""
        self._tokens: dict[int, int] = {}
        self._sent: set[int] = set()
        self._live: dict[int, _Carried] = {}
        self._fresh: list[int] = []
        self._ends: dict[int, int] = {}
        """By event: at most this many tokens of a request come before its end."""
        for piece in self._pieces:
            item = piece.item
            self._tokens |= dict.fromkeys(filter(None, (item.event, item.pair)), 0)
            if isinstance(self._body(item.event), SlotContent | SystemMessage):
                self._fixed.append(piece)
            for seq in (item.event, item.by):
                self._watched.setdefault(seq, []).append(piece)

    def _body(self, seq: int) -> object:
        return self._events[seq - 1].body

    def note_changes(self, changes: Iterable[CellChange]) -> None:
        """Note how items changed before the next request."""
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

    def note_request(self, number: int, upto: int, size: int, use: CacheUse) -> None:
        for seq in self._fresh:
            self._ends[seq] = size
        self._fresh = []
        for event, piece in self._live.items():
            self._ends[event] = min(self._ends[event], size)
            _carry(piece, number, use, self._ends[event])
        for piece in self._fixed:
            item = piece.item
            if not self._tokens[item.event] and item.since <= upto and not 0 < item.until <= upto:
                _carry(piece, number, use, 1)

    def waste_report(self, info: ModelInfo, count: Callable[[str], int]) -> WasteReport:
        """The waste with its cost at the prices of a model. `count`: counts texts outside the conversation.

        An item that was gone before it became waste is not in it.
        """
        fixed = {piece.item.event for piece in self._fixed if not piece.item.until}
        found = [each for each in self._pieces if each.requests or each.item.event in self._live.keys() | fixed]
        return WasteReport(tuple(self._carried(piece, info, count) for piece in found))

    def _carried(self, piece: _Carried, info: ModelInfo, count: Callable[[str], int]) -> CarriedWaste:
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
            request_price(info, use, 0),
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
    """Count a request. Its beginning was read from the cache, the next part written. `end`: where the piece ends."""
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
"""How many characters of a text are shown."""
