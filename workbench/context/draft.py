"""The draft: events become cells and units, counted, paired, cut and masked as they arrive, with running sums over the units.

Adding an event costs the same however long the log is. An event out of order (a result that comes after the conversation went on)
cannot be added in place; `add` says so, and the planner starts again with the events put in order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter

from workbench.context.cells import Cell, Counted, Unit
from workbench.context.control import NO_OWN, Own
from workbench.context.items import Kind
from workbench.context.measure import Meter
from workbench.context.stages import normalise
from workbench.context.view import View, fate_of
from workbench.log.events import (
    AssistantMessage,
    Event,
    Kept,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.models.framing import CALL, MESSAGE

_by_seq = attrgetter("seq")


@dataclass(frozen=True, slots=True)
class Ground:
    """What is settled before the first event is added."""

    overrides: Mapping[int, Own] = field(default_factory=dict)
    cover: Mapping[int, int] = field(default_factory=dict)
    """By sequence number: which standing compaction summarises the event."""
    kept: Mapping[int, Kept] = field(default_factory=dict)
    unpaired: Mapping[int, str] = field(default_factory=dict)
    """By sequence number: results known to have no call, and why."""


class Draft:
    """The conversation so far."""

    def __init__(self, meter: Meter, ground: Ground) -> None:
        self._meter = meter
        self.ground = ground
        self.overrides: Mapping[int, Own] = ground.overrides
        self.cells: list[Cell] = []
        self.units: list[Unit] = []
        self.preamble: list[Cell] = []
        """System messages before anything else: they fill the system slot."""
        self.openers: list[int] = [-1]
        """By turn: the unit of its user message; turn 0 has none."""
        self.repairs: list[int] = []
        """Calls that will never have a result, by their place among the cells."""
        self.held: list[int] = []
        """Units that are always sent, in order."""
        self._pinned: set[int] = set()
        """Units with something pinned, or kept by a compaction, in them."""
        self.original_tokens = 0
        """What all cells would cost whole."""
        self.latest = 0
        self.last_group = -1
        """The newest unit with calls."""
        self._own: list[tuple[int, int, int]] = []
        """By unit: cost (content and framing), framing, messages."""
        self.cost: list[int] = [0]
        self.framing: list[int] = [0]
        self.messages: list[int] = [0]
        self._first_sent = 0
        self._pairs = normalise.Pairs()
        self._mask = meter.mask_window()
        self._results: list[int] = []
        """The results within the scope of masking, by their place among the cells."""

    @property
    def turn(self) -> int:
        """The number of the current turn."""
        return len(self.openers) - 1

    @property
    def result_count(self) -> int:
        """How many results the scope of masking holds."""
        return len(self._results)

    def view(self) -> View:
        """What decides about single cells now."""
        by_turn = self._meter.policy.masking.scope == "turn"
        return View(
            self.cells,
            len(self.cells),
            self.overrides,
            self.ground.kept,
            self._meter.policy.masking.keep_first,
            self._mask.upto,
            self.turn if by_turn else -1,
            self.latest,
        )

    # Adding

    def add(self, event: Event) -> bool:
        """Add one event; False when it is out of order, and then nothing was changed."""
        body = event.body
        if isinstance(body, ToolResult):
            return self._add_result(event, body)
        if isinstance(body, ToolCall):
            return self._add_call(event, body)
        if isinstance(body, AssistantMessage):
            return self._add_reply(event, body)
        if isinstance(body, UserMessage):
            self._add_user(event, body)
        elif isinstance(body, SystemMessage):
            self._add_system(event, body)
        else:
            self._store(Cell(event, *self._meter.aside_kind(body), self.turn, -1, self._meter.aside(body)))
        return True

    def _store(self, cell: Cell) -> None:
        self.cells.append(cell)
        self.original_tokens += cell.original_tokens

    def _drop(self, event: Event, kind: Kind, role: str, counted: Counted, why: str) -> Cell:
        """A cell that normalise leaves out."""
        cell = Cell(event, kind, role, self.turn, -1, counted)
        cell.fate = why
        self._store(cell)
        return cell

    def _add_user(self, event: Event, body: UserMessage) -> None:
        counted = self._meter.content(body.content)
        self._close()
        former = self.openers[-1]
        self.openers.append(len(self.units))
        self.latest = event.seq
        self._open(Unit(self.turn, True, None))
        if self._meter.policy.masking.scope == "turn":
            self._unmask_turn(former)
        elif former >= 0 and self.units[former].special:
            self._resum([former])
        self._put(event, "user", counted, body.name, normalise.EMPTY_MESSAGE)

    def _add_system(self, event: Event, body: SystemMessage) -> None:
        counted = self._meter.content(body.content)
        if normalise.is_blank(counted.content):
            self._drop(event, "message", body.role, counted, normalise.BLANK)
        elif not self.units:
            cell = Cell(event, "message", body.role, 0, -1, counted)
            cell.name = body.name
            self.preamble.append(cell)
        else:
            self._close()
            self._open(Unit(self.turn, False, None))
            self._put(event, body.role, counted, body.name)

    def _add_reply(self, event: Event, body: AssistantMessage) -> bool:
        counted = self._meter.content(body.content)
        if normalise.is_blank(counted.content):
            self._drop(event, "message", "assistant", counted, normalise.BLANK)
            return True
        if self._continues(body.reply):
            if self.units[-1].calls:
                return False
        else:
            self._close()
            self._open(Unit(self.turn, False, body.reply))
        self._put(event, "assistant", counted, body.name)
        return True

    def _add_call(self, event: Event, body: ToolCall) -> bool:
        joins = self._continues(body.reply) or (not body.reply and self._last_is_open_reply())
        if joins and self.units[-1].results:
            return False
        if not joins:
            self._close()
            self._open(Unit(self.turn, False, body.reply))
        call = self._meter.call(body)
        cell = Cell(event, "tool_call", "assistant", self.turn, len(self.units) - 1, call.counted)
        cell.tool = body.tool
        cell.wire_id, renamed = self._pairs.call(body.call_id, len(self.cells))
        cell.original_tokens = call.original_tokens
        cell.note = "; ".join(filter(None, (call.note, renamed)))
        unit = self.units[-1]
        first = not unit.cells
        unit.calls += 1
        self.last_group = len(self.units) - 1
        self._join(cell, cell.tokens, CALL + (MESSAGE if first else 0), 1 if first else 0)
        return True

    def _add_result(self, event: Event, body: ToolResult) -> bool:
        at, why = self._pairs.match(body.call_id, self._in_newest_unit)
        if event.seq in self.ground.unpaired:
            at, why = -1, self.ground.unpaired[event.seq]
        counted = self._meter.content(body.content)
        if at < 0:
            self._drop(event, "tool_result", "tool", counted, why).tool = body.tool or None
            return True
        call = self.cells[at]
        if call.unit != len(self.units) - 1:
            return False
        self._pairs.settle(body.call_id, at)
        cell = Cell(event, "tool_result", "tool", self.turn, call.unit, counted)
        cell.tool, cell.wire_id, cell.partner = call.tool, call.wire_id, at
        call.partner = len(self.cells)
        if normalise.is_blank(counted.content):
            self._meter.fill_in(cell, normalise.EMPTY_RESULT)
        cell.cut = self._meter.cut(cell)
        self.units[-1].results += 1
        self._join(cell, cell.cut.tokens if cell.cut else cell.tokens, MESSAGE, 1)
        if cell.cover < 0:
            self._number(cell)
        return True

    def _put(self, event: Event, role: str, counted: Counted, name: str, blank: str = "") -> None:
        """A message of one cell in the newest unit."""
        cell = Cell(event, "message", role, self.turn, len(self.units) - 1, counted)
        cell.name = name
        if blank and normalise.is_blank(counted.content):
            self._meter.fill_in(cell, blank)
        kept = self.ground.kept.get(event.seq)
        if kept is not None and kept.text is not None:
            cell.cut = self._meter.kept(cell, kept.text)
        tokens = cell.cut.tokens if cell.cut else cell.tokens
        self._join(cell, tokens, MESSAGE + self._meter.name(name), 1)

    # Units

    def _in_newest_unit(self, at: int) -> bool:
        return self.cells[at].unit == len(self.units) - 1

    def _continues(self, reply: str) -> bool:
        return bool(reply) and bool(self.units) and self.units[-1].reply == reply

    def _last_is_open_reply(self) -> bool:
        return bool(self.units) and self.units[-1].reply == "" and not self.units[-1].results

    def _open(self, unit: Unit) -> None:
        self.units.append(unit)
        self._own.append((0, 0, 0))
        self.cost.append(self.cost[-1])
        self.framing.append(self.framing[-1])
        self.messages.append(self.messages[-1])

    def _join(self, cell: Cell, tokens: int, framing: int, messages: int) -> None:
        """Put a cell into the newest unit and its cost into the sums."""
        number = len(self.units) - 1
        unit = self.units[number]
        unit.cells.append(len(self.cells))
        self._store(cell)
        ground = self.ground
        if ground.cover:
            cell.cover = ground.cover.get(cell.seq, -1)
        if self.overrides or ground.kept:
            self._weigh(unit, number, cell)
        if unit.special or unit.held or cell.cover >= 0:
            self._resum([number])
            return
        own = self._own[number]
        self._own[number] = (own[0] + tokens + framing, own[1] + framing, own[2] + messages)
        self.cost[-1] += tokens + framing
        self.framing[-1] += framing
        self.messages[-1] += messages

    def _weigh(self, unit: Unit, number: int, cell: Cell) -> None:
        """Note what overrides and compactions say about a new cell's unit."""
        own = self.overrides.get(cell.seq)
        if own is not None:
            unit.special = True
            if own.masked:
                self._meter.set_mask(cell)
        if cell.seq in self.ground.kept or (own is not None and own.pinned):
            self._pinned.add(number)
            self._hold()

    def _hold(self) -> list[int]:
        """Hold the pinned units, each with the user message that opened its turn; returns those for which that is new or over."""
        wanted = self._pinned | {self.openers[self.units[number].turn] for number in self._pinned} - {-1}
        changed = sorted(wanted.symmetric_difference(self.held))
        for number in changed:
            self.units[number].held = number in wanted
        self.held = sorted(wanted)
        self._resum(changed)
        return changed

    def _close(self) -> None:
        """The newest unit is complete: what is still missing in it will not come."""
        if not self.units or self.units[-1].calls == self.units[-1].results:
            return
        self.repairs.extend(at for at in self.units[-1].cells if self._lacks_result(at))
        self._resum([len(self.units) - 1], closed=True)

    # Masking

    def _number(self, cell: Cell) -> None:
        """Give a new result its number, and mask those that now lie in the middle."""
        if not self._mask.active:
            return
        policy = self._meter.policy.masking
        self._results.append(len(self.cells) - 1)
        freed = 0
        if cell.tokens >= policy.min_tokens:
            cell.number = len(self._results) - 1
            self._meter.set_mask(cell)
            freed = (cell.cut.tokens if cell.cut else cell.tokens) - cell.mask_tokens
        fresh = self._mask.add(freed)
        if fresh:
            self._resum([self.cells[self._results[number]].unit for number in fresh])

    def _unmask_turn(self, former: int) -> None:
        """A new turn begins: the results of the last one are history now, and no longer masked."""
        masked = self._mask.upto > self._meter.policy.masking.keep_first
        self._mask = self._meter.mask_window()
        self._results = []
        if masked or (former >= 0 and self.units[former].special):
            self._resum(range(max(former, 0), len(self.units)))

    # Sums

    def set_overrides(self, overrides: Mapping[int, Own], seqs: range) -> None:
        """New overrides, which speak of the events in `seqs`."""
        self.overrides = overrides
        first = bisect_left(self.cells, seqs.start, key=_by_seq)
        touched = {cell.unit for cell in self.cells[first : bisect_left(self.cells, seqs.stop, key=_by_seq)]} - {-1}
        for number in touched:
            self.units[number].special = True
            owns = [(self.cells[at], overrides.get(self.cells[at].seq, NO_OWN)) for at in self.units[number].cells]
            for cell, own in owns:
                if own.masked:
                    self._meter.set_mask(cell)
            if any(own.pinned for _, own in owns):
                self._pinned.add(number)
            else:
                self._pinned.discard(number)
        self._hold()
        self._resum(sorted(touched))

    def _resum(self, numbers: list[int] | range, closed: bool = False) -> None:
        """Measure these units again and mend the running sums from the first of them on."""
        if not numbers:
            return
        view = self.view()
        for number in numbers:
            unit = self.units[number]
            complete = closed or number < len(self.units) - 1
            self._own[number] = self._measure(unit, view, complete)
        start = min(numbers)
        self._first_sent = min(self._first_sent, start)
        flexible = [
            (0, 0, 0) if unit.held else own for unit, own in zip(self.units[start:], self._own[start:], strict=True)
        ]
        for index, sums in enumerate((self.cost, self.framing, self.messages)):
            sums[start:] = accumulate((own[index] for own in flexible), initial=sums[start])

    def first_sent(self) -> int:
        """The first unit of which something is sent."""
        while self._first_sent < len(self._own) and not self._own[self._first_sent][2]:
            self._first_sent += 1
        return self._first_sent

    def role(self, number: int, view: View) -> str | None:
        """Who speaks first in a unit that is sent; None when nothing of it is, or when it is a system message."""
        for at in self.units[number].cells:
            cell = self.cells[at]
            if fate_of(cell, view).content is not None:
                return cell.role if cell.role in ("user", "assistant") else None
        return None

    def own(self, number: int) -> tuple[int, int, int]:
        """Cost, framing and messages of one unit."""
        return self._own[number]

    def _lacks_result(self, at: int) -> bool:
        return self.cells[at].kind == "tool_call" and self.cells[at].partner < 0

    def missing(self) -> list[int]:
        """The calls of the newest unit that are sent and have no result yet."""
        if not self.units or self.units[-1].calls == self.units[-1].results:
            return []
        view = self.view()
        return [
            at
            for at in self.units[-1].cells
            if self._lacks_result(at) and fate_of(self.cells[at], view).content is not None
        ]

    def _measure(self, unit: Unit, view: View, complete: bool) -> tuple[int, int, int]:
        tokens = framing = messages = 0
        head = False
        for at in unit.cells:
            cell = self.cells[at]
            fate = fate_of(cell, view)
            if fate.content is None:
                continue
            tokens += fate.tokens
            if cell.kind == "tool_result":
                framing, messages = framing + MESSAGE, messages + 1
                continue
            head = True
            framing += CALL if cell.kind == "tool_call" else self._meter.name(cell.name)
            if complete and cell.kind == "tool_call" and cell.partner < 0:
                tokens, framing, messages = tokens + self._meter.no_result, framing + MESSAGE, messages + 1
        if head:
            framing, messages = framing + MESSAGE, messages + 1
        return tokens + framing, framing, messages
