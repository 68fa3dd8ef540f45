"""The items of a plan: every one, sent or not, with its state and the reasons; made on access."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import islice
from typing import NamedTuple, overload

from msgspec import Struct

from workbench.config.values import replace
from workbench.context import fold
from workbench.context.cells import Cell, Unit
from workbench.context.items import IN_REQUEST, Edit, Item, Slot, State
from workbench.context.stages import normalise, override
from workbench.context.stages.fit import FittedResult
from workbench.context.stages.groups import GroupCut
from workbench.context.stages.history import HistoryCut
from workbench.context.view import View, edits_of, fate_of, is_sent
from workbench.log.events import text_of
from workbench.models.tokens import TokenCount


class Cuts(Struct, frozen=True, gc=False):
    """Where history and the current turn are cut."""

    turn: int
    """The number of the current turn."""
    turn_start: int
    """Its first unit."""
    behind: int
    """The first unit after its user message."""
    units: int
    """The number of units."""
    history: HistoryCut
    groups: GroupCut
    """Units of the turn from `behind` up to its first are dropped."""
    held: frozenset[int]
    results: int
    """How many results are in the scope of masking."""

    def cut_of(self, unit: int) -> HistoryCut | GroupCut | None:
        """The cut that leaves out a unit; None: none does."""
        if unit in self.held:
            return None
        if unit < self.turn_start:
            return self.history if unit < self.history.start and unit != self.history.opener else None
        return self.groups if self.behind <= unit < self.groups.first else None

    def sent_units(self, extra: Iterable[int] = ()) -> Iterator[int]:
        """The units that are sent, in order; also `extra`, the units with an insert before them."""
        start, behind = self.history.start, self.behind
        early = {unit for unit in (*self.held, *extra, self.history.opener) if 0 <= unit < start}
        yield from sorted(early)
        first = self.groups.first
        if first <= behind:
            yield from range(start, self.units)
            return
        yield from range(start, behind)
        yield from sorted({unit for unit in (*self.held, *extra) if behind <= unit < first})
        yield from range(first, self.units)


class PlacedSummary(NamedTuple):
    """The items of a compaction in force, and the unit that they come before."""

    before: int
    items: tuple[Item, ...]
    compaction: int
    """The compaction's event."""


class PlanItems(Sequence[Item]):
    """All items, sent or not, in request order. An item is made on access."""

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
        no_result: TokenCount,
    ) -> None:
        self.fixed = fixed
        self.view = view
        self._units = units
        self.cuts = cuts
        self._summaries = summaries
        self._repairs = repairs
        self._repair_count = repair_count
        self._open_repairs = open_repairs
        self._no_result = no_result
        self._places: Mapping[int, int | None] | None = None
        self._hidden = 0
        """Cells that are skipped, because they are never sent."""
        self._reasons = True
        """Whether items have their edits."""

    @property
    def asides(self) -> Mapping[str, int]:
        """How many items are never sent, by group: usage, thinking, snapshots."""
        return self.view.aside_kinds

    @property
    def tools(self) -> range:
        """The indexes of the tool definitions."""
        at = [number for number, item in enumerate(self.fixed) if item.kind == "tool_definition"]
        return range(at[0], at[-1] + 1) if at else range(0)

    def tokens_behind(self, seq: int) -> int:
        """The tokens that are sent of the conversation after an event."""
        view, tokens = self.view, 0
        for at in range(view.length - 1, -1, -1):
            cell = view.cells[at]
            if cell.seq <= seq:
                break
            _, size, content, _ = fate_of(cell, view)
            if content is not None and self.cuts.cut_of(cell.unit) is None:
                tokens += size
        return tokens

    @property
    def leaves_out(self) -> bool:
        """Whether part of the conversation is left out because room is short."""
        return self.cuts.history.start > 0 or self.cuts.groups.first > self.cuts.behind

    @property
    def dropped_groups(self) -> int:
        """How many iteration groups of the current turn are left out because room is short."""
        cells, view, cuts = self.view.cells, self.view, self.cuts
        if not (view.cover or view.overrides or cuts.held):  # without exceptions, every unit has something to send
            return max(0, cuts.groups.first - cuts.behind)
        dropped = (self._units[unit].cells for unit in range(cuts.behind, cuts.groups.first) if unit not in cuts.held)
        return sum(any(at < view.length and is_sent(cells[at], view) for at in group) for group in dropped)

    @property
    def summaries(self) -> tuple[Item, ...]:
        """The items that replace what was summarised."""
        return tuple([item for summary in self._summaries for item in summary.items])

    def candidates(self) -> PlanItems:
        """The items without those that are never sent, whatever is decided."""
        items = copy(self)
        items.__dict__.pop("_inserts", None)
        items._hidden = sum(self.asides.values())
        return items

    def without_reasons(self) -> PlanItems:
        """The items without their edits, which take half of the time, for callers that do not read them."""
        items = copy(self)
        items._reasons = False
        return items

    def _shown_before(self, cell: int) -> int:
        """How many of the cells before one are not skipped."""
        asides = self.view.asides
        return cell - bisect_left(range(self._hidden), cell, key=lambda at: asides[at] + at)

    def with_places(self, places: Mapping[int, int | None]) -> PlanItems:
        """The items with other sequence numbers: the events they were planned from have other places in a log."""
        items = copy(self)
        items._places = places
        items.fixed = tuple(
            item if item.seq is None else item._replace(seq=places.get(item.seq)) for item in self.fixed
        )
        return items

    def with_fitted(self, fitted: Mapping[int, FittedResult]) -> PlanItems:
        """The items with results that were cut so that the request fits."""
        items = copy(self)
        items.view = replace(self.view, fitted=fitted)
        return items

    def with_fixed(self, item: Item) -> PlanItems:
        """The items and one more after the fixed ones, only to be shown; it is in no request."""
        items = copy(self)
        items.fixed = (*self.fixed, item)
        return items

    @cached_property
    def _inserts(self) -> tuple[list[int], list[Item | int]]:
        """What comes between the cells: indexes after the fixed items, and an item or a call without a result."""
        at: list[tuple[int, Item | int]] = []
        for call in (*self._repairs[: self._repair_count], *self._open_repairs):
            unit = self._units[self.view.cells[call].unit]
            last = max(index for index in unit.cells if index < self.view.length)
            at.append((last + 1, call))
        for summary in self._summaries:  # in the same place they come after the calls
            place = self._first_cell(summary.before)
            at.extend((place, item) for item in summary.items)
        at.sort(key=lambda entry: entry[0])
        places = [self._shown_before(place) + number for number, (place, _) in enumerate(at)]
        return places, [what for _, what in at]

    def _first_cell(self, unit: int) -> int:
        return self._units[unit].cells[0] if unit < self.cuts.units else self.view.length

    def __len__(self) -> int:
        return len(self.fixed) + self.view.length - self._hidden + len(self._inserts[0])

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1:
                return list(islice(self._items_from(start), max(0, stop - start)))
            return [self[number] for number in range(start, stop, step)]
        length, fixed = len(self), len(self.fixed)
        number = index + length if index < 0 else index
        if not 0 <= number < length:
            raise IndexError(index)
        if number < fixed:
            return self.fixed[number]
        number -= fixed
        places, what = self._inserts
        before = bisect_right(places, number)
        if before and places[before - 1] == number:
            return self._inserted(what[before - 1])
        shown = number - before
        return self._item(self.view.cells[shown + bisect_right(self.view.asides, shown, 0, self._hidden)])

    def __iter__(self) -> Iterator[Item]:
        return self._items_from(0)

    def _items_from(self, index: int) -> Iterator[Item]:
        """The items from one on, without looking up the place of each."""
        yield from self.fixed[index:]
        places, what = self._inserts
        number = max(0, index - len(self.fixed))
        done = bisect_left(places, number)
        shown, asides = number - done, self.view.asides
        passed = bisect_right(asides, shown, 0, self._hidden)
        for at in range(shown + passed, self.view.length):
            if passed < self._hidden and asides[passed] + passed == at:
                passed += 1
                continue
            while done < len(places) and places[done] == at - passed + done:
                yield self._inserted(what[done])
                done += 1
            yield self._item(self.view.cells[at])
        for rest in what[done:]:
            yield self._inserted(rest)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PlanItems)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, like a list

    def sent_items(self) -> Iterator[Item]:
        """The items that are sent, in order, without making those that are left out."""
        yield from (item for item in self.fixed if item.in_request)
        summaries: dict[int, list[Item]] = {}
        item_of, units = self._item, self._units
        for summary in self._summaries:
            summaries.setdefault(summary.before, []).extend(summary.items)
        missing = {*self._repairs[: self._repair_count], *self._open_repairs}
        cells, length, cover = self.view.cells, self.view.length, self.view.cover
        for number in self.cuts.sent_units(summaries):
            if number in summaries:
                yield from summaries[number]
            lacking = []
            for at in units[number].cells:
                if at < length and not (cover and cells[at].seq in cover):
                    item = item_of(cells[at])
                    if item.state in IN_REQUEST:
                        yield item
                    if at in missing:
                        lacking.append(self._inserted(at))
            if lacking:
                yield from (item for item in lacking if item.in_request)
        yield from summaries.get(self.cuts.units, ())

    # One item

    def _item(self, cell: Cell) -> Item:
        view = self.view
        state, tokens, content, exact = fate_of(cell, view)
        cut = self.cuts.cut_of(cell.unit) if content is not None else None
        edits = self._edits(cell, state, tokens, cut) if self._reasons else ()
        event = cell.event
        own = view.overrides.get(event.seq) if view.overrides else None
        pinned = own is not None and own.pinned and state != "excluded"
        if cut is not None:
            state, tokens, content = "dropped", 0, None
        kind, role, read = cell.form
        original = read(event.body)
        seq = event.seq if self._places is None else self._places.get(event.seq)
        # By position, not by name: the items are very many, and names would make each take three times as long.
        return Item(
            event.id,
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
            original if type(original) is str else text_of(original),
            content,
            cell.unit,
            cell.wire_id,
            cell.name if kind == "message" else "",
        )

    def _slot(self, cell: Cell) -> Slot:
        return "turn" if cell.turn == self.cuts.turn else "history"

    def _edits(self, cell: Cell, state: State, tokens: int, cut: HistoryCut | GroupCut | None) -> tuple[Edit, ...]:
        plain = state == "sent" and not cell.note and not self.view.overrides
        edits = [] if plain else edits_of(cell, state, self.view, self.cuts.results)
        if state == "summarised":
            edits.append(fold.summarise_edit(cell.tokens, self._summaries[self.view.cover[cell.seq]].compaction))
        if cut is not None:
            edits.append(cut.drop(tokens))
        return tuple(edits)

    def _inserted(self, what: Item | int) -> Item:
        if isinstance(what, Item):
            return what
        call = self.view.cells[what]
        tokens = self._no_result.tokens
        edits = [normalise.repair_edit(call.wire_id, tokens)]
        state = fate_of(call, self.view)[0]
        if is_sent(call, self.view):
            cut = self.cuts.cut_of(call.unit)
            if cut is not None:
                edits.append(cut.drop(tokens))
                state = "dropped"
        else:
            edits.append(
                override.excluded_call_edit(tokens) if state == "excluded" else fold.unneeded_result_edit(state, tokens)
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
            exact=self._no_result.exact,
            pinned=False,
            edits=tuple(edits),
            text=sent,
            original=normalise.NO_RESULT,
            content=sent,
            unit=call.unit,
            call_id=call.wire_id,
        )
