"""A conversation grows: events become cells and units, counted, paired, cut and masked as they arrive.

It is incremental: adding an event costs the same for a log of any length. An event out of order (a late result, after
the conversation went on) cannot be added in place; `add_event` returns False, and the planner starts again with the
events in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from workbench.context.cells import Cell, Unit
from workbench.context.fold import Preconditions
from workbench.context.measure import Meter
from workbench.context.measured_units import MeasuredUnits
from workbench.context.stages import normalise
from workbench.context.stages.normalise import is_blank
from workbench.log.events import (
    AssistantMessage,
    Body,
    Content,
    Event,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.models.tokens import TokenCount

_NOTHING = TokenCount(0, True)


class GrowingConversation(MeasuredUnits):
    """A conversation that gets one event after another, and its cost."""

    def __init__(self, meter: Meter, ground: Preconditions) -> None:
        super().__init__(meter, ground)
        self.preamble: list[Cell] = []
        """System messages before anything else: they fill the system slot."""
        self.last_group = -1
        """The newest unit with calls."""
        self._pairs = normalise.Pairs()
        self._early: set[str] = set()
        """The call ids of the turn's results without a call. The call may still come."""
        self._late: set[str] = set()
        """Ids of calls whose result came before them; a result after them is preferred."""

    # Events

    def add_event(self, event: Event) -> bool:
        """Add one event; False if it is out of order, and then nothing was changed."""
        body = event.body
        return _ADDERS.get(type(body), GrowingConversation._add_aside)(self, event, body)

    def add_events(self, events: Iterable[Event]) -> bool:
        """Add events up to the first that is out of order; False if there is one."""
        adder_of, other = _ADDERS.get, GrowingConversation._add_aside
        pairs = self._plain and not self.ground.ordered
        asked: Event | None = None
        """A call of which it is not yet seen whether its result follows at once."""
        call: Any = None
        """What it says."""
        for event in events:
            body = event.body
            kind = type(body)
            if asked is not None:
                if kind is ToolResult and self._add_pair(asked, call, event, body):
                    asked = None
                    continue
                if not self._add_call(asked, call):
                    return False
                asked = None
            if kind is ToolCall and pairs:
                asked, call = event, body
            elif not adder_of(kind, other)(self, event, body):
                return False
        return asked is None or self._add_call(asked, call)

    def _add_pair(self, asked: Event, call: Any, came: Event, result: Any) -> bool:
        """Add a unit of one call and the result behind it; False, and nothing changed, if they need a closer look.

        Most calls have their result at once: together they take half the time of one after the other.
        """
        units, cells, meter, call_id, content = self.units, self.cells, self._meter, call.call_id, result.content
        if call_id != result.call_id or type(content) is not str or not content or content.isspace():
            return False
        number, at = len(units), len(cells)
        last, reply = units[number - 1] if number else None, call.reply
        if last is not None and last.reply == reply and (reply or last.results <= last.early):
            return False
        asking, counted = meter.call((call.tool, call.arguments)), meter.text(content)
        if asking.note or call_id in self._early or not self._pairs.add_settled(call_id):
            return False
        turn, tool, tokens = self.turn, call.tool or normalise.UNNAMED_TOOL, counted.tokens
        self.original_tokens += asking.tokens + tokens
        cell = Cell(came, turn, number, tokens, counted.exact, tool, call_id, at)
        if result.cut is not None:
            cell.agent_cut = result.cut
        rule = meter.result_rules.get(tool) or meter.result_rule(tool)
        if tokens > rule.uncut and (cut := meter.cut_result(cell)) is not None:
            cell.cut, tokens = cut, cut.tokens
        cells.append(Cell(asked, turn, number, asking.tokens, asking.exact, tool, call_id, at + 1))
        cells.append(cell)
        self._begin(Unit(turn, reply, [at, at + 1], 1, 1), number)
        around = meter.around_call[True] + rule.around
        self.sums.add_unit(number, asking.tokens + tokens, around, 2)
        self.last_group = number
        if self._mask.active:
            self._number(cell, at + 1)
        return True

    def _add_aside(self, event: Event, body: Body) -> bool:
        """Add what is not sent, unless it is thinking that is."""
        count = self._meter.text(body.text) if isinstance(body, Reasoning) else _NOTHING
        if not (isinstance(body, Reasoning) and self._meter.sends_thinking and self._add_thinking(event, body)):
            self._store(Cell(event, self.turn, -1, count.tokens, count.exact))
        return True

    def _add_thinking(self, event: Event, body: Reasoning) -> bool:
        """Add thinking that was sent with its reply; False if it has no text, or comes after the reply's calls."""
        unit = self.units[-1] if self.units else None
        joins = unit is not None and bool(body.reply) and unit.reply == body.reply
        if not body.text.strip() or (joins and unit is not None and unit.calls):
            return False
        self._put(unit if joins and unit is not None else self._open(body.reply, self.turn), event, body.text, "")
        return True

    def _drop(self, event: Event, count: TokenCount, why: str) -> Cell:
        """Add a cell that normalise leaves out."""
        cell = Cell(event, self.turn, -1, count.tokens, count.exact)
        cell.fate = why
        self._store(cell)
        return cell

    def _add_user(self, event: Event, body: UserMessage) -> bool:
        former = self.openers[-1]
        self.openers.append(len(self.units))
        unit = self._open(None, self.turn + 1)
        self.turn += 1
        self.latest = event.seq
        self._early.clear()
        if self._masking.scope == "turn":
            self._unmask_turn()
        if former >= 0 and self.units[former].special:
            self._measure([former])
        self._put(unit, event, body.content, body.name)
        if body.cut is not None:
            self.cells[-1].agent_cut = body.cut
        return True

    def _add_system(self, event: Event, body: SystemMessage) -> bool:
        if is_blank(body.content):
            self._drop(event, self._meter.count_content(body.content), normalise.BLANK)
        elif not self.units:
            count = self._meter.count_content(body.content)
            cell = Cell(event, 0, -1, count.tokens, count.exact)
            self._meter.put_in_chat_form(cell)
            self.preamble.append(cell)
        else:
            self._put(self._open(None, self.turn), event, body.content, body.name)
            if body.cut is not None:
                self.cells[-1].agent_cut = body.cut
        return True

    def _add_reply(self, event: Event, body: AssistantMessage) -> bool:
        if is_blank(body.content):
            self._drop(event, self._meter.count_content(body.content), normalise.BLANK)
            return True
        unit = self.units[-1] if self.units else None
        if unit is None or not body.reply or unit.reply != body.reply:
            unit = self._open(body.reply, self.turn)
        elif unit.calls:
            return False
        self._put(unit, event, body.content, body.name)
        return True

    def _add_call(self, event: Event, body: ToolCall) -> bool:
        units, meter, call_id, reply = self.units, self._meter, body.call_id, body.reply
        number = len(units) - 1
        unit = units[number] if number >= 0 else None
        if call_id in self._early and event.seq > self.ground.ordered:
            return False
        if unit is None or unit.reply != reply or (not reply and unit.results > unit.early):
            unit = self._open(reply, self.turn)
            number += 1
        elif unit.results:
            return False
        self.last_group = number
        tool, begins = body.tool, not unit.cells
        counted = meter.call((tool, body.arguments))
        tokens, note = counted.tokens, counted.note
        wire_id, renamed = self._pairs.call(call_id, len(self.cells))
        cell = Cell(event, self.turn, number, tokens, counted.exact, tool or normalise.UNNAMED_TOOL, wire_id)
        if note or renamed:
            cell.note = f"{note}; {renamed}" if note and renamed else note or renamed
            cell.changed, cell.whole = counted.changed, counted.whole
        unit.calls += 1
        self._join(unit, cell, tokens, meter.around_call[begins], begins)
        return True

    def _add_result(self, event: Event, body: ToolResult) -> bool:
        meter, cells, ground, call_id, content = self._meter, self.cells, self.ground, body.call_id, body.content
        why = ground.unpaired.get(event.seq) if ground.unpaired else None
        at, why = (-1, why) if why else self._pairs.take_call(call_id, self._in_newest_unit)
        if at < 0:
            if event.seq > ground.ordered and call_id in self._late:
                return False
            self._early.add(call_id)
            self._drop(event, meter.count_content(content), why).tool = body.tool or None
            return True
        call = cells[at]
        newest = len(self.units) - 1
        if call.unit != newest:
            self._pairs.wait(call_id, at)
            return False
        tool = call.tool
        counted = meter.text(content) if type(content) is str else meter.count_content(content)
        tokens = counted.tokens
        cell = Cell(event, self.turn, newest, tokens, counted.exact, tool, call.wire_id, at)
        if body.cut is not None:
            cell.agent_cut = body.cut
        call.partner = len(cells)
        if type(content) is not str or not content or content.isspace():
            tokens = meter.normalise_content(cell, normalise.EMPTY_RESULT)
        rule = meter.result_rules.get(tool) or meter.result_rule(tool)
        cut = meter.cut_result(cell) if tokens > rule.uncut else None
        if cut is not None:
            cell.cut, tokens = cut, cut.tokens
        unit = self.units[newest]
        unit.results += 1
        if ground.ordered and event.seq < call.event.seq:
            unit.early += 1
            self._late.add(call_id)
        self._join(unit, cell, tokens, rule.around, True)
        if self._mask.active and event.seq not in ground.cover:
            self._number(cell, len(cells) - 1)
        return True

    def _put(self, unit: Unit, event: Event, content: Content, name: str) -> None:
        """Add a message of one cell to the newest unit."""
        meter, begins = self._meter, not unit.cells
        counted = meter.text(content) if type(content) is str else meter.count_content(content)
        tokens = counted.tokens
        cell = Cell(event, self.turn, len(self.units) - 1, tokens, counted.exact)
        if type(content) is not str or not content or content.isspace():
            tokens = meter.normalise_content(cell, normalise.EMPTY_MESSAGE)
        around = meter.framing("message", begins, meter.author(cell)) if name else meter.around_text[begins]
        self._join(unit, cell, tokens, around, begins)

    def _in_newest_unit(self, at: int) -> bool:
        return self.cells[at].unit == len(self.units) - 1


# Functions, not bound methods: a bound method would keep a conversation, with all its cells, until the next collection.
_ADDERS: dict[type, Callable[[GrowingConversation, Event, Any], bool]] = {
    ToolResult: GrowingConversation._add_result,
    ToolCall: GrowingConversation._add_call,
    AssistantMessage: GrowingConversation._add_reply,
    UserMessage: GrowingConversation._add_user,
    SystemMessage: GrowingConversation._add_system,
}
