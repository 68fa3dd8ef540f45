"""Cells in units, the decisions about them, and their cost, in running sums that are updated as they change."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter

from workbench.context.cells import Cell, Unit, aside_name
from workbench.context.control import NO_DECISION, UserDecision
from workbench.context.fold import Preconditions
from workbench.context.measure import Meter
from workbench.context.running_sums import RunningSums
from workbench.context.stages.normalise import is_blank
from workbench.context.view import View, is_sent, unit_cost
from workbench.log.events import ToolCall

_by_seq = attrgetter("seq")


def _mask_delta(cell: Cell) -> int:
    """What masking a result adds to its cost; usually negative."""
    return cell.mask_tokens - (cell.tokens if cell.cut is None else cell.cut.tokens)


class MeasuredUnits:
    """The units of a conversation: masked, held and counted."""

    def __init__(self, meter: Meter, ground: Preconditions) -> None:
        self._meter = meter
        self._masking = meter.policy.masking
        self.ground = ground
        self.overrides: Mapping[int, UserDecision] = ground.overrides
        self._plain = not (ground.overrides or ground.cover or ground.kept)
        """Whether only the stages decide about cells, so that no cell needs a separate check."""
        self.cells: list[Cell] = []
        self.units: list[Unit] = []
        self._asides: array[int] = array("L")
        self._aside_kinds: Mapping[str, int] = {}
        self.sums = RunningSums()
        self._measuring = True
        """Whether new cells are measured at once; otherwise later, all together."""
        self._freed_later: dict[int, int] = {}
        """What masking added to the cost of units meanwhile."""
        self.turn = 0
        self.begins_with_user = True
        """Whether no unit comes before the first user message."""
        self.openers: list[int] = [-1]
        """By turn: the unit of its user message; turn 0 has none."""
        self.held: list[int] = []
        """Units that are always sent, in order."""
        self.held_set: frozenset[int] = frozenset()
        self._pinned: set[int] = set()
        """Units with something pinned, or kept by a compaction."""
        self.original_tokens = 0
        """The cost of all cells, uncut."""
        self.latest = 0
        """The sequence number of the latest user message."""
        self._mask = meter.mask_window()
        self.results: list[int] = []
        """The indexes of the results within the scope of masking."""
        self.last_cut = 0
        """Where the last plan cut history: the next cut is near."""
        self.repairs: list[int] = []
        """The indexes of calls that will never have a result."""

    def count_with(self, meter: Meter) -> None:
        """Count with another meter from now on, which gives the same counts."""
        self._meter = meter

    # Units

    def units_within(self, seqs: range) -> set[int]:
        """The units with events in a range of the log."""
        cells = self.cells
        if self.ground.ordered:  # its events were moved
            return {cell.unit for cell in cells if cell.seq in seqs} - {-1}
        first, end = (bisect_left(cells, seq, key=_by_seq) for seq in (seqs.start, seqs.stop))
        return {cell.unit for cell in cells[first:end]} - {-1}

    def _open(self, reply: str | None, turn: int) -> Unit:
        """Begin a new unit. The one before is complete: missing results will not come."""
        unit, number = Unit(turn, reply), len(self.units)
        self._begin(unit, number)
        self.sums.add_unit(number)
        return unit

    def _begin(self, unit: Unit, number: int) -> None:
        """Add a unit, which gets this number. Its cost is not in the sums yet."""
        units = self.units
        units.append(unit)
        if not number:
            self.begins_with_user = unit.turn > 0
        elif (last := units[number - 1]).calls != last.results:
            self._repair(last)

    def _repair(self, unit: Unit) -> None:
        """Give each call of the last unit without a result a synthetic one."""
        lacking = [at for at in unit.cells if self._lacks_result(at)]
        number = self.cells[lacking[0]].unit
        self.repairs.extend(lacking)
        if self._plain:
            around = sum(self._meter.around_result(self.cells[at]) for at in lacking)
            self.sums.add_cost(number, len(lacking) * self._meter.no_result.tokens, around, len(lacking))
        else:
            self._measure([number])

    def _lacks_result(self, at: int) -> bool:
        cell = self.cells[at]
        return cell.partner < 0 and type(cell.event.body) is ToolCall

    def missing(self, view: View) -> tuple[int, ...]:
        """The calls of the newest unit that are sent and have no result yet."""
        units = self.units
        if not units or (unit := units[-1]).calls == unit.results:
            return ()
        lacking = [at for at in unit.cells if self._lacks_result(at)]
        if view.overrides or view.cover:
            lacking = [at for at in lacking if is_sent(self.cells[at], view)]
        return tuple(lacking)

    def opener_of(self, number: int) -> tuple[int, int]:
        """The user message that a unit's turn keeps if it is cut at the unit (-1: none, or always sent), and the first
        unit of the next turn."""
        turn, openers = self.units[number].turn, self.openers
        opener = openers[turn]
        if opener == number or opener in self.held_set:
            opener = -1
        return opener, openers[turn + 1]

    def view(self) -> View:
        """The current decisions about single cells."""
        cells, units, ground = self.cells, self.units, self.ground
        if self.overrides:
            is_over = self._is_over()
        else:
            is_over = bool(units) and not (newest := units[-1]).calls and newest.reply is not None
        return View(
            cells,
            len(cells),
            self.overrides,
            ground.kept,
            ground.cover,
            self._mask.span(self.turn),
            0 if is_over else self.latest,
            self._meter.is_record,
            self._asides,
            self._aside_kinds,
        )

    def _is_over(self) -> bool:
        """Whether the turn ends with an answer. An excluded one does not count, unless its question is excluded too."""
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
        """Add a cell outside the units: it is never sent."""
        if not cell.fate:
            self._asides.append(len(self.cells) - len(self._asides))
            name = aside_name(cell)
            self._aside_kinds = {**self._aside_kinds, name: self._aside_kinds.get(name, 0) + 1}  # earlier plans have it
        self.cells.append(cell)
        self.original_tokens += cell.original_tokens

    def _join(self, unit: Unit, cell: Cell, tokens: int, around: int, begins: bool) -> None:
        """Add a cell to the newest unit and its cost to the sums; `begins`: it is its own message."""
        cells = self.cells
        unit.cells.append(len(cells))
        cells.append(cell)
        self.original_tokens += cell.tokens if cell.whole is None else cell.whole
        if self._plain or (self._measuring and self._is_undecided(unit, cell)):
            sums, after = self.sums, cell.unit + 1  # as `add_cost` does: a call for each event would be seen
            sums.cost[after] += tokens + around
            sums.framing[after] += around
            if begins:
                sums.messages[after] += 1
        else:
            self._join_special(unit, cell)

    def _is_undecided(self, unit: Unit, cell: Cell) -> bool:
        """Whether no override and no compaction applies to a new cell, its unit, or the turn's user message."""
        if unit.special or cell.unit in self.held_set or self._question():
            return False
        seq, first, cover = cell.event.seq, self.cells[unit.cells[0]].event.seq, self.ground.cover
        return not (seq in cover or first in cover or seq in self.ground.kept or seq in self.overrides)

    def _join_special(self, unit: Unit, cell: Cell) -> None:
        """Apply overrides and compactions to a new cell."""
        self._decide(unit, cell)
        if self._measuring:
            self._measure([cell.unit, *self._question()])

    def _decide(self, unit: Unit, cell: Cell) -> None:
        """Apply the user's decision on a cell, and what a compaction kept of it."""
        own, kept = self.overrides.get(cell.seq), self.ground.kept.get(cell.seq)
        if own is not None:
            unit.special = True
            if own.masked:
                self._meter.set_mask(cell, own.text)
        if kept is not None:
            unit.special = True
            if cell.kind == "message" and kept.text and not is_blank(kept.text):
                cell.cut = self._meter.kept_part(cell, kept.text)
        if kept is not None or (own is not None and own.pinned):
            self._pinned.add(cell.unit)
            self._hold()

    # Masking

    def _number(self, cell: Cell, at: int) -> None:
        """Give a new result (the cell at index `at`) its number; mask those that are now in the middle."""
        freed = 0
        if cell.tokens >= self._masking.min_tokens:
            self._meter.set_mask(cell)
            freed = max(0, -_mask_delta(cell))
            if freed:
                cell.number = len(self.results)
        self.results.append(at)
        fresh = self._mask.add_result(freed)
        if fresh:
            self._masked([self.cells[self.results[number]] for number in fresh], 1)

    def _unmask_turn(self) -> None:
        """Unmask the results of the last turn when a new turn begins: they are history now."""
        masked = [self.cells[at] for at in self.results[self._masking.keep_first : self._mask.upto]]
        self._mask = self._meter.mask_window()
        self.results = []
        self._masked(masked, -1)

    def _masked(self, cells: list[Cell], sign: int) -> None:
        """Update the sums for results that were just masked (or, with -1, unmasked)."""
        if not self._plain:
            self._measure({cell.unit for cell in cells})
            return
        deltas: dict[int, int] = {} if self._measuring else self._freed_later
        for cell in cells:
            if cell.number >= 0:
                deltas[cell.unit] = deltas.get(cell.unit, 0) + sign * _mask_delta(cell)
        if self._measuring:
            self.sums.shift(deltas)

    # Overrides

    def _hold(self) -> None:
        """Hold the pinned units, each with the user message of its turn."""
        if not self._measuring:
            return
        wanted = frozenset(self._pinned | {self.openers[self.units[number].turn] for number in self._pinned} - {-1})
        changed = wanted.symmetric_difference(self.held_set)
        self.held_set, self.held = wanted, sorted(wanted)
        self._measure(changed)

    def set_overrides(self, overrides: Mapping[int, UserDecision], seqs: range) -> None:
        """Apply new overrides, which cover the events in `seqs`."""
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
        """The turn's user message, if it has a decision: that applies once it is answered."""
        return [number for number in self.openers[-1:] if number >= 0 and self.units[number].special]

    # Sums

    @contextmanager
    def measured_once(self) -> Iterator[None]:
        """Add many events: masks, overrides and compactions are applied to the sums when all are added."""
        self._measuring, self._freed_later = False, {}
        yield
        self._measuring = True
        self.sums.shift(self._freed_later)
        if not self._plain:
            self._hold()
            self._measure(range(len(self.units)))

    def _measure(self, numbers: Iterable[int]) -> None:
        """Measure units cell by cell and put their cost into the sums."""
        if not self._measuring:
            return
        view = self.view()
        newest = len(self.units) - 1
        costs = {number: unit_cost(self.units[number], view, self._meter, number < newest) for number in numbers}
        self.sums.set_costs(costs, self.held_set)
