"""The plan: what the model sees, as a value. The request is rendered from it and the inspector draws it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, overload

from workbench.context import fold
from workbench.context.budget import Budget, Limits
from workbench.context.cells import Cell, Unit
from workbench.context.items import Edit, Item, Slot, State
from workbench.context.stages import normalise, override
from workbench.context.stages.groups import GroupCut
from workbench.context.stages.history import HistoryCut
from workbench.context.view import View, edits_of, fate_of, is_sent
from workbench.log.events import text_of


class Verdict(NamedTuple):
    """Whether the request can be sent."""

    status: Literal["fits", "too_large", "waiting"]
    why: str

    @property
    def fits(self) -> bool:
        """Only a plan that fits is ever sent."""
        return self.status == "fits"


class Totals(NamedTuple):
    """Sums over the plan."""

    tokens: int
    """Items and framing: the size of the request."""
    items: int
    framing: int
    original_tokens: int
    """What the items would cost whole."""


class Cuts(NamedTuple):
    """Where history and the current turn are cut, and what stands beside them."""

    turn: int
    """The number of the current turn."""
    turn_start: int
    """Its first unit."""
    behind: int
    """The first unit behind its user message."""
    units: int
    """How many units there were."""
    history: HistoryCut
    groups: GroupCut
    """Units of the turn from `behind` up to its first are dropped."""
    held: frozenset[int]
    results: int
    """How many results the scope of masking holds."""

    def sent_units(self, beside: Iterable[int] = ()) -> Iterator[int]:
        """The units that are sent, in order; with them `beside`, the units before which something else stands."""
        start, behind = self.history.start, self.behind
        early = {unit for unit in (*self.held, *beside, self.history.opener) if 0 <= unit < start}
        yield from sorted(early)
        first = self.groups.first
        if first <= behind:
            yield from range(start, self.units)
            return
        yield from range(start, behind)
        yield from sorted({unit for unit in (*self.held, *beside) if behind <= unit < first})
        yield from range(first, self.units)


class PlacedSummary(NamedTuple):
    """A standing compaction's rows and the unit before which they stand."""

    before: int
    rows: tuple[Item, ...]
    compaction: int
    """Its event."""


class PlanRows(Sequence[Item]):
    """All items, sent or not, in request order. An item is made when it is looked at."""

    def __init__(
        self,
        fixed: tuple[Item, ...],
        view: View,
        units: Sequence[Unit],
        cuts: Cuts,
        summaries: tuple[PlacedSummary, ...],
        repairs: Sequence[int],
        repair_count: int,
        open_repairs: tuple[int, ...],
        no_result: tuple[int, bool],
    ) -> None:
        self._fixed = fixed
        self._view = view
        self._units = units
        self._cuts = cuts
        self._summaries = summaries
        self._repairs = repairs
        self._repair_count = repair_count
        self._open_repairs = open_repairs
        self._no_result = no_result
        self._places: Mapping[int, int | None] | None = None
        self._hidden = 0
        """Cells that are passed over, because they are never sent."""
        self._reasons = True
        """Whether a row says why it is what it is."""

    @property
    def asides(self) -> Mapping[str, int]:
        """How many rows there are of what is never sent, by what they are: usage, thinking, snapshots."""
        return self._view.aside_kinds

    @property
    def tools(self) -> range:
        """Where the definitions of tools stand, one behind the other."""
        at = [number for number, row in enumerate(self._fixed) if row.kind == "tool_definition"]
        return range(at[0], at[-1] + 1) if at else range(0)

    def candidates(self) -> PlanRows:
        """The rows without those of what is never sent, whatever is decided."""
        rows = copy(self)
        rows.__dict__.pop("_inserts", None)
        rows._hidden = sum(self.asides.values())
        return rows

    def without_reasons(self) -> PlanRows:
        """The same rows without their edits, which take half of a row's time: for whoever reads none of them."""
        rows = copy(self)
        rows._reasons = False
        return rows

    def _shown_before(self, cell: int) -> int:
        """How many of the cells before one are not passed over."""
        asides = self._view.asides
        return cell - bisect_left(range(self._hidden), cell, key=lambda at: asides[at] + at)

    def _cell(self, shown: int) -> Cell:
        """One of the cells that are not passed over."""
        return self._view.cells[shown + bisect_right(self._view.asides, shown, 0, self._hidden)]

    def placed(self, places: Mapping[int, int | None]) -> PlanRows:
        """The same rows with other sequence numbers: the events they were planned from stand elsewhere in a log."""
        rows = copy(self)
        rows._places = places
        rows._fixed = tuple(row if row.seq is None else row._replace(seq=places.get(row.seq)) for row in self._fixed)
        return rows

    def with_fixed(self, row: Item) -> PlanRows:
        """The same rows and one more behind the fixed ones, for whoever shows it; it is in no request."""
        rows = copy(self)
        rows._fixed = (*self._fixed, row)
        return rows

    @cached_property
    def _inserts(self) -> tuple[list[int], list[Item | int]]:
        """What stands between the cells: row numbers behind the fixed rows, and a row or a call without result."""
        at: list[tuple[int, int, Item | int]] = []
        for summary in self._summaries:
            place = self._first_cell(summary.before)
            at.extend((place, 0, row) for row in summary.rows)
        for call in (*self._repairs[: self._repair_count], *self._open_repairs):
            unit = self._units[self._view.cells[call].unit]
            last = max(index for index in unit.cells if index < self._view.length)
            at.append((last + 1, -1, call))
        at.sort(key=lambda entry: entry[:2])
        places = [self._shown_before(place) + number for number, (place, _, _) in enumerate(at)]
        return places, [what for _, _, what in at]

    def _first_cell(self, unit: int) -> int:
        return self._units[unit].cells[0] if unit < self._cuts.units else self._view.length

    def __len__(self) -> int:
        return len(self._fixed) + self._view.length - self._hidden + len(self._inserts[0])

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(index)
        if number < len(self._fixed):
            return self._fixed[number]
        number -= len(self._fixed)
        places, what = self._inserts
        before = bisect_right(places, number)
        if before and places[before - 1] == number:
            return self._inserted(what[before - 1])
        return self._row(self._cell(number - before))

    def __iter__(self) -> Iterator[Item]:
        yield from self._fixed
        places, what = self._inserts
        done = passed = 0
        for at in range(self._view.length):
            if passed < self._hidden and self._view.asides[passed] + passed == at:
                passed += 1
                continue
            while done < len(places) and places[done] == at - passed + done:
                yield self._inserted(what[done])
                done += 1
            yield self._row(self._view.cells[at])
        for rest in what[done:]:
            yield self._inserted(rest)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PlanRows)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, like a list

    def in_request(self) -> Iterator[Item]:
        """The items that are sent, in order, without looking at what was left out before them."""
        yield from (row for row in self._fixed if row.in_request)
        summaries: dict[int, list[Item]] = {}
        for summary in self._summaries:
            summaries.setdefault(summary.before, []).extend(summary.rows)
        missing = {*self._repairs[: self._repair_count], *self._open_repairs}
        cells, length, cover = self._view.cells, self._view.length, self._view.cover
        for number in self._cuts.sent_units(summaries):
            if number in summaries:
                yield from summaries[number]
            lacking = []
            for at in self._units[number].cells:
                if at < length and cells[at].seq not in cover:
                    row = self._row(cells[at])
                    if row.in_request:
                        yield row
                    if at in missing:
                        lacking.append(self._inserted(at))
            yield from (row for row in lacking if row.in_request)
        yield from summaries.get(self._cuts.units, ())

    # One row

    def _cut_of(self, unit: int) -> HistoryCut | GroupCut | None:
        """Which of the two cuts leaves out a unit."""
        cuts = self._cuts
        if unit in cuts.held:
            return None
        if unit < cuts.turn_start:
            return cuts.history if unit < cuts.history.start and unit != cuts.history.opener else None
        return cuts.groups if cuts.behind <= unit < cuts.groups.first else None

    def _row(self, cell: Cell) -> Item:
        view = self._view
        state, tokens, content, exact = fate_of(cell, view)
        cut = self._cut_of(cell.unit) if content is not None else None
        edits = self._edits(cell, state, tokens, cut) if self._reasons else ()
        seq: int | None
        seq, item_id, _, body = cell.event
        own = view.overrides.get(seq) if view.overrides else None
        pinned = own is not None and own.pinned and state != "excluded"
        if cut is not None:
            state, tokens, content = "dropped", 0, None
        kind, role, read = cell.form
        said = read(body)
        if self._places is not None:
            seq = self._places.get(seq)
        # By place, not by name: there are very many rows, and names would make each take three times as long.
        return Item(
            item_id,
            seq,
            cell.turn,
            self._slot(cell),
            cell.role if role == "system" else role,
            kind,
            cell.tool,
            state,
            tokens,
            cell.tokens if cell.whole is None else cell.whole,
            exact,
            pinned,
            edits,
            content if content is None or type(content) is str else text_of(content),
            said if type(said) is str else text_of(said),
            content,
            cell.unit,
            cell.wire_id,
            cell.name if kind == "message" else "",
        )

    def _slot(self, cell: Cell) -> Slot:
        return "turn" if cell.turn == self._cuts.turn else "history"

    def _edits(self, cell: Cell, state: State, tokens: int, cut: HistoryCut | GroupCut | None) -> tuple[Edit, ...]:
        plain = state == "sent" and not cell.note and not self._view.overrides
        edits = [] if plain else edits_of(cell, state, self._view, self._cuts.results)
        if state == "summarised":
            edits.append(fold.summarise(cell.tokens, self._summaries[self._view.cover[cell.seq]].compaction))
        if cut is not None:
            edits.append(cut.drop(tokens))
        return tuple(edits)

    def _inserted(self, what: Item | int) -> Item:
        if isinstance(what, Item):
            return what
        call = self._view.cells[what]
        tokens, exact = self._no_result
        edits = [normalise.repair(call.wire_id, tokens)]
        state = fate_of(call, self._view)[0]
        if is_sent(call, self._view):
            cut = self._cut_of(call.unit)
            if cut is not None:
                edits.append(cut.drop(tokens))
                state = "dropped"
        else:
            edits.append(
                override.leave_with_call(tokens) if state == "excluded" else fold.leave_with_call(state, tokens)
            )
        sent = normalise.NO_RESULT if state == "sent" else None
        return Item(
            id=f"{call.id}.result",
            seq=None,
            turn=call.turn,
            slot=self._slot(call),
            role="tool",
            kind="tool_result",
            tool=call.tool,
            state=state,
            tokens=tokens if sent else 0,
            original_tokens=tokens,
            exact=exact,
            pinned=False,
            edits=tuple(edits),
            text=sent,
            original=normalise.NO_RESULT,
            content=sent,
            unit=call.unit,
            call_id=call.wire_id,
        )


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """What the model sees, and why."""

    model: str
    limits: Limits
    policy: str
    verdict: Verdict
    budget: Budget
    totals: Totals
    rows: PlanRows
    warnings: tuple[str, ...] = ()
    gives_way: bool = False
    """Whether the policy leaves something out where room is short."""
    reported: int | None = None
    """What the provider counted for this request; None where it was not sent, or nothing was reported."""
    unattributed: int = 0
    """In the request, but in no row: what was reported beyond our count (below 0: what we counted too much), or, for a
    request that was not reported, the part of it that is not in the log, as calibrated."""

    @property
    def size(self) -> int:
        """The whole request, as the provider counted it or is expected to."""
        return self.totals.tokens + self.unattributed

    def as_reported(self, reported: int | None, rest: int = 0) -> ContextPlan:
        """The plan of a request that was sent, and what was reported for it: it fitted, whatever we think.

        `rest`: what it had beside the rows, as far as is known, where nothing was reported.
        """
        rest = rest if reported is None else reported - self.totals.tokens
        size, window = self.totals.tokens + rest, self.limits.window
        free = window - size - self.budget.margin - self.budget.reserve
        about = "about " if reported is None else ""
        sent = f"{about}{size:,} tokens were sent, "
        sent += f"more than the window of {window:,} holds" if size > window else f"of a window of {window:,}"
        return replace(
            self,
            verdict=Verdict("fits", sent),
            budget=self.budget._replace(unattributed=rest, free=free),
            reported=reported,
            unattributed=rest,
        )

    @property
    def room(self) -> int:
        """The most tokens a request may have before something is left out of it, or it is refused."""
        return self.limits.target if self.gives_way else self.limits.capacity

    @property
    def max_output(self) -> int | None:
        """The bound on the answer that is sent with the request; None: it is sent without one."""
        return self.limits.bound(self.totals.tokens)
