"""The tally: the cells and units so far with sums over them, and what changes those: masks, pins and overrides."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from workbench.context.cells import Cell, Unit
from workbench.context.control import NO_DECISION, UserDecision
from workbench.context.measure import Meter, framing
from workbench.context.running_sums import RunningSums, UnitCost
from workbench.context.view import View, fate_of, is_sent
from workbench.log.events import KeptEvent

_by_seq = attrgetter("seq")


def _mask_delta(cell: Cell) -> int:
    """What masking a result adds to its cost; less than nothing, as a rule."""
    return cell.mask_tokens - (cell.tokens if cell.cut is None else cell.cut.tokens)


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What is settled before the first event is added."""

    overrides: Mapping[int, UserDecision] = field(default_factory=dict)
    cover: Mapping[int, int] = field(default_factory=dict)
    """By sequence number: which standing compaction summarises the event."""
    kept: Mapping[int, KeptEvent] = field(default_factory=dict)
    unpaired: Mapping[int, str] = field(default_factory=dict)
    """By sequence number: results known to have no call, and why."""


class Tally:
    """The conversation so far, and what it costs."""

    def __init__(self, meter: Meter, ground: Preconditions) -> None:
        self._meter = meter
        self._masking = meter.policy.masking
        self.ground = ground
        self.overrides: Mapping[int, UserDecision] = ground.overrides
        self._plain = not (ground.overrides or ground.cover or ground.kept)
        """Nothing but the stages decides about single cells, so that they need not be looked at one by one."""
        self.cells: list[Cell] = []
        self.units: list[Unit] = []
        self.sums = RunningSums()
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
            self._masking.keep_first,
            self._mask.upto,
            self.turn if self._masking.scope == "turn" else -1,
            self.latest,
        )

    def role(self, number: int, view: View) -> str | None:
        """Who speaks first in a unit that is sent; None when nothing of it is, or when it is a system message."""
        for at in self.units[number].cells:
            cell = self.cells[at]
            if is_sent(cell, view):
                return cell.role if cell.role in ("user", "assistant") else None
        return None

    # Cells

    def _store(self, cell: Cell) -> None:
        """Put a cell beside the units: it is never sent."""
        self.cells.append(cell)
        self.original_tokens += cell.original_tokens

    def _join(self, unit: Unit, cell: Cell, tokens: int, begins: bool, name: int = 0) -> None:
        """Put a cell into the newest unit and its cost into the sums; `begins`: a message of its own."""
        unit.cells.append(len(self.cells))
        self.cells.append(cell)
        self.original_tokens += cell.tokens if cell.whole is None else cell.whole
        if self._plain:
            self.sums.add(tokens, framing(cell.kind, begins, name), int(begins))
        else:
            self._join_special(unit, cell)

    def _join_special(self, unit: Unit, cell: Cell) -> None:
        """Look at what overrides and compactions say about a new cell."""
        seq = cell.seq
        cell.cover = self.ground.cover.get(seq, -1)
        own = self.overrides.get(seq)
        if own is not None:
            unit.special = True
            if own.masked:
                self._meter.set_mask(cell)
        if seq in self.ground.kept:
            unit.special = True
        if seq in self.ground.kept or (own is not None and own.pinned):
            self._pinned.add(cell.unit)
            self._hold()
        self._measure([cell.unit])

    # Masking

    def _number(self, cell: Cell) -> None:
        """Give a new result its number, and mask those that now lie in the middle."""
        freed = 0
        if cell.tokens >= self._masking.min_tokens:
            cell.number = len(self._results)
            self._meter.set_mask(cell)
            freed = -_mask_delta(cell)
        self._results.append(len(self.cells) - 1)
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
        wanted = self._pinned | {self.openers[self.units[number].turn] for number in self._pinned} - {-1}
        changed = wanted.symmetric_difference(self._held)
        self._held, self.held = wanted, sorted(wanted)
        self._measure(changed)

    def set_overrides(self, overrides: Mapping[int, UserDecision], seqs: range) -> None:
        """New overrides, which speak of the events in `seqs`."""
        self.overrides, self._plain = overrides, False
        first = bisect_left(self.cells, seqs.start, key=_by_seq)
        touched = {cell.unit for cell in self.cells[first : bisect_left(self.cells, seqs.stop, key=_by_seq)]} - {-1}
        for number in touched:
            self.units[number].special = True
            owns = [(self.cells[at], overrides.get(self.cells[at].seq, NO_DECISION)) for at in self.units[number].cells]
            for cell, own in owns:
                if own.masked:
                    self._meter.set_mask(cell)
            if any(own.pinned for _, own in owns):
                self._pinned.add(number)
            else:
                self._pinned.discard(number)
        self._hold()
        self._measure(touched)

    # Sums

    def _measure(self, numbers: Iterable[int]) -> None:
        """Look at units cell by cell and write what they cost into the sums."""
        view = self.view()
        newest = len(self.units) - 1
        self.sums.put({number: self._cost(self.units[number], view, number < newest) for number in numbers}, self._held)

    def _cost(self, unit: Unit, view: View, complete: bool) -> UnitCost:
        tokens = around = messages = 0
        begun = False
        for at in unit.cells:
            cell = self.cells[at]
            _, size, content, _ = fate_of(cell, view)
            if content is None:
                continue
            tokens += size
            begins = cell.kind == "tool_result" or not begun
            begun = begun or cell.kind != "tool_result"
            around, messages = around + framing(cell.kind, begins, self._meter.name(cell.name)), messages + begins
            if complete and cell.kind == "tool_call" and cell.partner < 0:
                tokens, messages = tokens + self._meter.no_result.tokens, messages + 1
                around += framing("tool_result", True)
        return UnitCost(tokens + around, around, messages)
