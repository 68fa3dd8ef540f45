"""The conversation: events become cells and units, counted, paired, cut and masked as they arrive, with running sums.

It is incremental: adding an event costs the same however long the log is. An event out of order (a result that comes
after the conversation went on) cannot be added in place; `add` says so, and the planner starts again with the events
put in order.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from operator import attrgetter
from typing import Any

from workbench.context.cells import Cell, Unit, aside_name
from workbench.context.control import NO_DECISION, UserDecision
from workbench.context.fold import Preconditions
from workbench.context.items import Kind
from workbench.context.measure import Meter, framing
from workbench.context.running_sums import RunningSums
from workbench.context.stages import normalise
from workbench.context.stages.normalise import is_blank
from workbench.context.view import View, is_sent, unit_cost
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
_by_seq = attrgetter("seq")


def _mask_delta(cell: Cell) -> int:
    """What masking a result adds to its cost; less than nothing, as a rule."""
    return cell.mask_tokens - (cell.tokens if cell.cut is None else cell.cut.tokens)


class Conversation:
    """The conversation so far, as it grows, and what it costs."""

    def __init__(self, meter: Meter, ground: Preconditions) -> None:
        self._meter = meter
        self._masking = meter.policy.masking
        self.ground = ground
        self.overrides: Mapping[int, UserDecision] = ground.overrides
        self._plain = not (ground.overrides or ground.cover or ground.kept)
        """Nothing but the stages decides about single cells, so that they need not be looked at one by one."""
        self.cells: list[Cell] = []
        self.units: list[Unit] = []
        self._asides: array[int] = array("L")
        self._aside_kinds: Counter[str] = Counter()
        self.sums = RunningSums()
        self._measuring = True
        """Whether what is added is looked at now; otherwise later, at one go."""
        self.turn = 0
        self.openers: list[int] = [-1]
        """By turn: the unit of its user message; turn 0 has none."""
        self.held: list[int] = []
        """Units that are always sent, in order."""
        self._held: set[int] = set()
        self._pinned: set[int] = set()
        """Units with something pinned, or kept by a compaction, in them."""
        self.original_tokens = 0
        """What all cells would cost whole."""
        self.latest = 0
        """The sequence number of the latest user message."""
        self._mask = meter.mask_window()
        self._results: list[int] = []
        """The results within the scope of masking, by their place among the cells."""
        self.preamble: list[Cell] = []
        """System messages before anything else: they fill the system slot."""
        self.repairs: list[int] = []
        """Calls that will never have a result, by their place among the cells."""
        self.last_group = -1
        """The newest unit with calls."""
        self._pairs = normalise.Pairs()
        self._early: set[str] = set()
        """Of the turn's results without a call: its id. The call may still come."""
        self._late: set[str] = set()
        """Ids of calls whose result came before them; a result behind them is preferred to it."""

    # Events

    def add(self, event: Event) -> bool:
        """Add one event; False when it is out of order, and then nothing was changed."""
        body = event.body
        adder = _ADDERS.get(type(body))
        if adder is not None:
            return adder(self, event, body)
        count = self._meter.text(body.text) if isinstance(body, Reasoning) else _NOTHING
        if not (isinstance(body, Reasoning) and self._meter.sends_thinking and self._add_thinking(event, body, count)):
            self._store(Cell(event, self.turn, -1, *count))
        return True

    def _add_thinking(self, event: Event, body: Reasoning, count: Count) -> bool:
        """Thinking that was sent with its reply; False where it has no text, or stands behind the reply's calls."""
        unit = self.units[-1] if self.units else None
        joins = unit is not None and bool(body.reply) and unit.reply == body.reply
        if not body.text.strip() or (joins and unit is not None and unit.calls):
            return False
        self._put(unit if joins and unit is not None else self._open(body.reply, self.turn), event, count, "")
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
        self._early.clear()
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
            cell = Cell(event, 0, -1, *count)
            self._meter.put_in_chat_form(cell)
            self.preamble.append(cell)
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
        if event.seq > self.ground.ordered and body.call_id in self._early:
            return False
        if unit is None or unit.reply != body.reply or (not body.reply and unit.results > unit.early):
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
        self._join(unit, cell, cell.tokens, "tool_call", not unit.cells)
        return True

    def _add_result(self, event: Event, body: ToolResult) -> bool:
        why = self.ground.unpaired.get(event.seq)
        at, why = (-1, why) if why else self._pairs.match(body.call_id, self._in_newest_unit)
        if at < 0 and event.seq > self.ground.ordered and body.call_id in self._late:
            return False
        if at < 0:
            self._early.add(body.call_id)
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
        else:
            self._meter.put_in_chat_form(cell)
        cut = self._meter.cut(cell)
        if cut is not None:
            cell.cut = cut
        unit = self.units[newest]
        unit.results += 1
        if event.seq < call.seq:
            unit.early += 1
            self._late.add(body.call_id)
        tokens = cell.tokens if cut is None else cut.tokens
        self._join(unit, cell, tokens, "tool_result", True, self._meter.tool_author(cell))
        if self._mask.active and event.seq not in self.ground.cover:
            self._number(cell, len(self.cells) - 1)
        return True

    def _put(self, unit: Unit, event: Event, count: Count, name: str, blank: bool = False) -> None:
        """A message of one cell in the newest unit."""
        tokens, exact = count
        cell = Cell(event, self.turn, len(self.units) - 1, tokens, exact)
        if blank:
            self._meter.fill_in(cell, normalise.EMPTY_MESSAGE)
        else:
            self._meter.put_in_chat_form(cell)
        self._join(unit, cell, cell.tokens, "message", not unit.cells, self._meter.author(cell) if name else 0)

    # The same once more

    def again(self) -> Conversation:
        """A copy that grows for itself: nothing that still changes is shared."""
        made = copy(self)
        for name in ("cells", "units", "openers", "held", "preamble", "repairs", "_results", "_asides"):
            setattr(made, name, getattr(self, name)[:])
        for name in ("_aside_kinds", "_held", "_pinned", "_early", "_late"):
            setattr(made, name, getattr(self, name).copy())
        made.sums, made._mask, made._pairs = self.sums.again(), self._mask.again(), self._pairs.again()
        if self.units:  # the newest may still get cells, and its calls their results
            made.units[-1] = newest = copy(self.units[-1])
            newest.cells = newest.cells[:]
            for at in newest.cells:
                made.cells[at] = copy(self.cells[at])
        return made

    def under(self, ground: Preconditions) -> Conversation:
        """The same events under other overrides and compactions; all were in order.

        Nothing is paired, counted or cut to its cap once more: that would take ten times as long.
        """
        made = self.again()
        made.ground, made.overrides, made._plain, made._measuring = ground, ground.overrides, False, False
        made._pinned, made._held, made.held = set(), set(), []
        made._mask, made._results = self._meter.mask_window(), []
        made.sums = RunningSums(len(self.units))
        spoken_of = {*ground.overrides, *ground.kept, *self.overrides, *self.ground.kept}
        by_turn, cover = self._masking.scope == "turn", ground.cover
        for at, cell in enumerate(made.cells):
            if cell.unit < 0:
                continue
            seq, kind = cell.event.seq, type(cell.event.body)
            if by_turn and kind is UserMessage:
                made._unmask_turn()
            touched, counts = seq in spoken_of, kind is ToolResult and seq not in cover
            if touched or counts:
                made.cells[at] = cell = cell.undecided()
                made._decide(made.units[cell.unit], cell)
            if counts and made._mask.active:
                made._number(cell, at)
        made._measuring = True
        made._hold()
        made._measure(number for number, unit in enumerate(made.units) if self.cells[unit.cells[0]].seq not in cover)
        return made

    # Units

    def units_within(self, seqs: range) -> set[int]:
        """The units that have events of a range of the log."""
        cells = self.cells
        if self.ground.ordered:  # its events were moved
            return {cell.unit for cell in cells if cell.seq in seqs} - {-1}
        first, end = (bisect_left(cells, seq, key=_by_seq) for seq in (seqs.start, seqs.stop))
        return {cell.unit for cell in cells[first:end]} - {-1}

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
            around = sum(self._meter.repair_framing(self.cells[at]) for at in lacking)
            self.sums.add(len(lacking) * self._meter.no_result.tokens, around, len(lacking))
        else:
            self._measure([self.cells[lacking[0]].unit])

    def _lacks_result(self, at: int) -> bool:
        cell = self.cells[at]
        return cell.partner < 0 and type(cell.event.body) is ToolCall

    def missing(self) -> list[int]:
        """The calls of the newest unit that are sent and have no result yet."""
        if not self.units or self.units[-1].calls == self.units[-1].results:
            return []
        view = self.view()
        calls = [at for at in self.units[-1].cells if self._lacks_result(at)]
        return [at for at in calls if is_sent(self.cells[at], view)]

    @property
    def result_count(self) -> int:
        """How many results the scope of masking holds."""
        return len(self._results)

    def view(self) -> View:
        """What decides about single cells now."""
        return View(
            self.cells,
            len(self.cells),
            self.overrides,
            self.ground.kept,
            self.ground.cover,
            self._mask.span(self.turn if self._masking.scope == "turn" else -1),
            0 if self._is_over() else self.latest,
            self._meter.is_record,
            self._asides,
            dict(self._aside_kinds),
        )

    def _is_over(self) -> bool:
        """Whether the turn ends with an answer. One that the user took out is none, unless the question went too."""
        asked_for = not self.overrides.get(self.latest, NO_DECISION).excluded
        for unit in reversed(self.units):
            if unit.reply is None or unit.calls:
                return False
            cells = (self.cells[at] for at in unit.cells)
            if not (asked_for and all(self.overrides.get(cell.seq, NO_DECISION).excluded for cell in cells)):
                return True
        return False

    # Cells

    def _store(self, cell: Cell) -> None:
        """Put a cell beside the units: it is never sent."""
        if not cell.fate:
            self._asides.append(len(self.cells) - len(self._asides))
            self._aside_kinds[aside_name(cell)] += 1
        self.cells.append(cell)
        self.original_tokens += cell.original_tokens

    def _join(self, unit: Unit, cell: Cell, tokens: int, kind: Kind, begins: bool, author: int = 0) -> None:
        """Put a cell into the newest unit and its cost into the sums; `begins`: a message of its own."""
        unit.cells.append(len(self.cells))
        self.cells.append(cell)
        self.original_tokens += cell.tokens if cell.whole is None else cell.whole
        if self._plain:
            self.sums.add(tokens, framing(kind, begins, author), begins)
        else:
            self._join_special(unit, cell)

    def _join_special(self, unit: Unit, cell: Cell) -> None:
        """Look at what overrides and compactions say about a new cell."""
        self._decide(unit, cell)
        if self._measuring:
            self._measure([cell.unit, *self._question()])

    def _decide(self, unit: Unit, cell: Cell) -> None:
        """What the user decided about a cell, and what a compaction kept of it."""
        own, kept = self.overrides.get(cell.seq), self.ground.kept.get(cell.seq)
        if own is not None:
            unit.special = True
            if own.masked:
                self._meter.set_mask(cell, own.text)
        if kept is not None:
            unit.special = True
            if cell.kind == "message" and kept.text and not is_blank(kept.text):
                cell.cut = self._meter.kept(cell, kept.text)
        if kept is not None or (own is not None and own.pinned):
            self._pinned.add(cell.unit)
            self._hold()

    # Masking

    def _number(self, cell: Cell, at: int) -> None:
        """Give a new result, which is the cell at this place, its number; mask those that now lie in the middle."""
        self._meter.set_mask(cell)
        freed = -_mask_delta(cell)
        if cell.tokens >= self._masking.min_tokens and freed > 0:
            cell.number = len(self._results)
        else:
            freed = 0
        self._results.append(at)
        fresh = self._mask.add(freed)
        if fresh:
            self._masked([self.cells[self._results[number]] for number in fresh], 1)

    def _unmask_turn(self) -> None:
        """A new turn begins: the results of the last one are history now, and no longer masked."""
        masked = [self.cells[at] for at in self._results[self._masking.keep_first : self._mask.upto]]
        self._mask = self._meter.mask_window()
        self._results = []
        self._masked(masked, -1)

    def _masked(self, cells: list[Cell], sign: int) -> None:
        """These results were just masked (or, with -1, unmasked)."""
        if not self._plain:
            self._measure({cell.unit for cell in cells})
            return
        deltas: dict[int, int] = {}
        for cell in cells:
            if cell.number >= 0:
                deltas[cell.unit] = deltas.get(cell.unit, 0) + sign * _mask_delta(cell)
        self.sums.shift(deltas)

    # Overrides

    def _hold(self) -> None:
        """Hold the pinned units, each with the user message that opened its turn."""
        if not self._measuring:
            return
        wanted = self._pinned | {self.openers[self.units[number].turn] for number in self._pinned} - {-1}
        changed = wanted.symmetric_difference(self._held)
        self._held, self.held = wanted, sorted(wanted)
        self._measure(changed)

    def set_overrides(self, overrides: Mapping[int, UserDecision], seqs: range) -> None:
        """New overrides, which speak of the events in `seqs`."""
        self.overrides, self._plain = overrides, False
        touched = self.units_within(seqs)
        for number in touched:
            self.units[number].special = True
            owns = [(self.cells[at], overrides.get(self.cells[at].seq, NO_DECISION)) for at in self.units[number].cells]
            for cell, own in owns:
                if own.masked:
                    self._meter.set_mask(cell, own.text)
            if any(own.pinned for _, own in owns):
                self._pinned.add(number)
            else:
                self._pinned.discard(number)
        self._hold()
        self._measure({*touched, *self._question()})

    def _question(self) -> list[int]:
        """The turn's user message, where something was decided about it: that holds once it is answered."""
        return [number for number in self.openers[-1:] if number >= 0 and self.units[number].special]

    # Sums

    @contextmanager
    def measured_once(self) -> Iterator[None]:
        """Take in many events: what overrides and compactions make of the units is looked at when all are there."""
        self._measuring = False
        yield
        self._measuring = True
        if not self._plain:
            self._hold()
            self._measure(range(len(self.units)))

    def _measure(self, numbers: Iterable[int]) -> None:
        """Look at units cell by cell and write what they cost into the sums."""
        if not self._measuring:
            return
        view = self.view()
        newest = len(self.units) - 1
        costs = {number: unit_cost(self.units[number], view, self._meter, number < newest) for number in numbers}
        self.sums.put(costs, self._held)


# Functions, not methods that are bound to a conversation: such a one would wait for the collector, with all its cells.
_ADDERS: dict[type, Callable[[Conversation, Event, Any], bool]] = {
    ToolResult: Conversation._add_result,
    ToolCall: Conversation._add_call,
    AssistantMessage: Conversation._add_reply,
    UserMessage: Conversation._add_user,
    SystemMessage: Conversation._add_system,
}
