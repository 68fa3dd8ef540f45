"""The draft: events become cells and units, counted, paired, cut and masked as they arrive, with sums over the units.

Adding an event costs the same however long the log is. An event out of order (a result that comes after the
conversation went on) cannot be added in place; `add` says so, and the planner starts again with the events put in
order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.context.cells import Cell, Unit
from workbench.context.measure import Meter, framing
from workbench.context.stages import normalise
from workbench.context.stages.normalise import is_blank
from workbench.context.tally import Preconditions, Tally
from workbench.context.view import is_sent
from workbench.log.events import (
    AssistantMessage,
    Event,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.models.tokens import Count

_NOTHING = Count(0, True)


class Draft(Tally):
    """The conversation so far, as it grows."""

    def __init__(self, meter: Meter, ground: Preconditions) -> None:
        super().__init__(meter, ground)
        self.preamble: list[Cell] = []
        """System messages before anything else: they fill the system slot."""
        self.repairs: list[int] = []
        """Calls that will never have a result, by their place among the cells."""
        self.last_group = -1
        """The newest unit with calls."""
        self._pairs = normalise.Pairs()

    def add(self, event: Event) -> bool:
        """Add one event; False when it is out of order, and then nothing was changed."""
        body = event.body
        adder = _ADDERS.get(type(body))
        if adder is not None:
            return adder(self, event, body)
        count = self._meter.text(body.text) if isinstance(body, Reasoning) else _NOTHING
        self._store(Cell(event, self.turn, -1, *count))
        return True

    def _drop(self, event: Event, count: Count, why: str) -> Cell:
        """A cell that normalise leaves out."""
        cell = Cell(event, self.turn, -1, *count)
        cell.fate = why
        self._store(cell)
        return cell

    def _add_user(self, event: Event, body: UserMessage) -> bool:
        former = self.openers[-1]
        self.openers.append(len(self.units))
        unit = self._open(None, self.turn + 1)
        self.turn += 1
        self.latest = event.seq
        if self._masking.scope == "turn":
            self._unmask_turn()
        if former >= 0 and self.units[former].special:
            self._measure([former])
        self._put(unit, event, self._meter.content(body.content), body.name, is_blank(body.content))
        return True

    def _add_system(self, event: Event, body: SystemMessage) -> bool:
        count = self._meter.content(body.content)
        if is_blank(body.content):
            self._drop(event, count, normalise.BLANK)
        elif not self.units:
            self.preamble.append(Cell(event, 0, -1, *count))
        else:
            self._put(self._open(None, self.turn), event, count, body.name)
        return True

    def _add_reply(self, event: Event, body: AssistantMessage) -> bool:
        if is_blank(body.content):
            self._drop(event, self._meter.content(body.content), normalise.BLANK)
            return True
        unit = self.units[-1] if self.units else None
        if unit is None or not body.reply or unit.reply != body.reply:
            unit = self._open(body.reply, self.turn)
        elif unit.calls:
            return False
        self._put(unit, event, self._meter.content(body.content), body.name)
        return True

    def _add_call(self, event: Event, body: ToolCall) -> bool:
        unit = self.units[-1] if self.units else None
        if unit is None or unit.reply != body.reply or (not body.reply and unit.results):
            unit = self._open(body.reply, self.turn)
        elif unit.results:
            return False
        self.last_group = len(self.units) - 1
        cell = Cell(event, self.turn, self.last_group, 0, True)
        cell.tool = body.tool or normalise.UNNAMED_TOOL
        self._meter.call(cell, body)
        cell.wire_id, renamed = self._pairs.call(body.call_id, len(self.cells))
        if renamed:
            cell.note = f"{cell.note}; {renamed}" if cell.note else renamed
        unit.calls += 1
        self._join(unit, cell, cell.tokens, not unit.cells)
        return True

    def _add_result(self, event: Event, body: ToolResult) -> bool:
        at, why = self._pairs.match(body.call_id, self._in_newest_unit)
        if self.ground.unpaired and event.seq in self.ground.unpaired:
            at, why = -1, self.ground.unpaired[event.seq]
        if at < 0:
            self._drop(event, self._meter.content(body.content), why).tool = body.tool or None
            return True
        call = self.cells[at]
        newest = len(self.units) - 1
        if call.unit != newest:
            return False
        self._pairs.settle(body.call_id, at)
        tokens, exact = self._meter.content(body.content)
        cell = Cell(event, self.turn, newest, tokens, exact)
        cell.tool, cell.wire_id, cell.partner = call.tool, call.wire_id, at
        call.partner = len(self.cells)
        if is_blank(body.content):
            self._meter.fill_in(cell, normalise.EMPTY_RESULT)
        cut = self._meter.cut(cell)
        if cut is not None:
            cell.cut = cut
        unit = self.units[newest]
        unit.results += 1
        self._join(unit, cell, cell.tokens if cut is None else cut.tokens, True)
        if self._mask.active and cell.cover < 0:
            self._number(cell)
        return True

    def _put(self, unit: Unit, event: Event, count: Count, name: str, blank: bool = False) -> None:
        """A message of one cell in the newest unit."""
        tokens, exact = count
        cell = Cell(event, self.turn, len(self.units) - 1, tokens, exact)
        if blank:
            self._meter.fill_in(cell, normalise.EMPTY_MESSAGE)
            tokens = cell.tokens
        if self.ground.kept:
            kept = self.ground.kept.get(event.seq)
            if kept is not None and kept.text and not is_blank(kept.text):
                cell.cut = self._meter.kept(cell, kept.text)
                tokens = cell.cut.tokens
        self._join(unit, cell, tokens, not unit.cells, self._meter.name(name))

    # Units

    def _in_newest_unit(self, at: int) -> bool:
        return self.cells[at].unit == len(self.units) - 1

    def _open(self, reply: str | None, turn: int) -> Unit:
        """A new unit. The one before it is complete: what is still missing in it will not come."""
        unit = Unit(turn, reply)
        last = self.units[-1] if self.units else unit
        self.units.append(unit)
        if last.calls != last.results:
            self._repair(last)
        self.sums.open()
        return unit

    def _repair(self, unit: Unit) -> None:
        """Calls of the last unit did not return: each gets a synthetic result."""
        lacking = [at for at in unit.cells if self._lacks_result(at)]
        self.repairs.extend(lacking)
        if self._plain:
            count = len(lacking)
            self.sums.add(count * self._meter.no_result.tokens, count * framing("tool_result", True), count)
        else:
            self._measure([self.cells[lacking[0]].unit])

    def _lacks_result(self, at: int) -> bool:
        return self.cells[at].kind == "tool_call" and self.cells[at].partner < 0

    def missing(self) -> list[int]:
        """The calls of the newest unit that are sent and have no result yet."""
        if not self.units or self.units[-1].calls == self.units[-1].results:
            return []
        view = self.view()
        calls = [at for at in self.units[-1].cells if self._lacks_result(at)]
        return [at for at in calls if is_sent(self.cells[at], view)]


# Functions, not methods that are bound to a draft: such a draft would wait for the collector, with all its cells.
_ADDERS: dict[type, Callable[[Draft, Event, Any], bool]] = {
    ToolResult: Draft._add_result,
    ToolCall: Draft._add_call,
    AssistantMessage: Draft._add_reply,
    UserMessage: Draft._add_user,
    SystemMessage: Draft._add_system,
}
