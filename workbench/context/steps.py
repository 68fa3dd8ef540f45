"""From one plan to the next, as a log grows: which cells changed, and how much both requests have in common.

Only what can have changed is compared. So following a log costs what its requests change, for a log of any length; if
the past is rebuilt (a compaction, a late result) everything is compared once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workbench.context.arrange import Arrangement
from workbench.context.cells import Cell
from workbench.context.compare import same_tokens
from workbench.context.items import Item, State
from workbench.context.outline import Outline
from workbench.context.plan import ContextPlan
from workbench.context.plan_items import Cuts
from workbench.context.planner import Planner
from workbench.context.stages.fit import FittedResult
from workbench.context.stages.mask import MaskedSpan
from workbench.context.view import View, fate_of
from workbench.models.framing import REPLY_PRIMING

SENT_STATES: frozenset[State] = frozenset({"sent", "truncated", "masked"})
"""States with something in the request."""


class CellChange(NamedTuple):
    """A cell whose state or tokens changed."""

    cell: Cell
    before: State | None
    """None: it is new."""
    after: State


class PlanStep(NamedTuple):
    """A plan, and its differences from the one before."""

    outline: Outline
    changes: list[CellChange]
    same: int
    """Tokens of the common beginning of both requests, to the precision of whole items; 0 for the first one."""

    @property
    def plan(self) -> ContextPlan:
        """The plan, with its verdict and all its figures."""
        return self.outline.plan()


class _Seen(NamedTuple):
    """What decided about the plan before."""

    outline: Outline
    view: View
    cuts: Cuts
    extra: tuple[Item, ...]

    @property
    def parts(self) -> Arrangement:
        """What it was made of."""
        return self.outline.parts


_Fate = tuple[int, State, int]
"""For a cell: its event, its state, and its tokens."""


class PlanSteps:
    """Follows a planner. Call `step` after every change that counts; everything in between is one step."""

    def __init__(self) -> None:
        self._seen: _Seen | None = None
        self._fates: list[_Fate] = []
        self._results: dict[tuple[int, int], int] = {}
        """The cell of a result that masking counts, by turn and number."""
        self._noted = 0
        """Cells before this one are in it already."""

    def step(self, planner: Planner) -> PlanStep:
        """Plan now, and compare with the last time. Another planner of the same log may take over."""
        outline = planner.outline()
        now = _Seen(outline, outline.view, outline.cuts, outline.notes)
        changes: list[CellChange] = []
        first = len(self._fates)
        if self._is_same_past(now):
            for at in self._touched(now):
                if self._compare(at, now, changes):
                    first = min(first, at)
            same = self._same(now, first)
        else:
            first = self._compare_all(now, changes)
            same = same_tokens(self._seen.outline.plan(), outline.plan()) if self._seen is not None else 0
        self._note_results(now.view)
        self._seen = now
        return PlanStep(outline, changes, same)

    def state(self, at: int) -> State:
        """The state of a cell."""
        return self._fates[at][1]

    # Which cells

    def _is_same_past(self, now: _Seen) -> bool:
        was = self._seen
        return (
            was is not None
            and was.parts.conversation is now.parts.conversation
            and was.parts.base.summaries is now.parts.base.summaries
            and was.view.overrides is now.view.overrides
        )

    def _touched(self, now: _Seen) -> Iterator[int]:
        """The cells that may have changed, the new ones last."""
        was = self._seen
        assert was is not None
        units, known = now.parts.conversation.units, len(self._fates)
        numbers = set(_turned(was.cuts, now.cuts))
        cells = {at for number in numbers for at in units[number].cells if at < known}
        cells.update(at for at in _refitted(was.view.fitted, now.view.fitted) if at < known)
        places = (self._results.get(key, -1) for key in _remasked(was.view.masked, now.view.masked))
        cells.update(at for at in places if at >= 0)
        if was.view.latest != now.view.latest:
            openers = (now.parts.conversation.openers[turn] for turn in {was.cuts.turn, now.cuts.turn})
            cells.update(at for unit in openers if unit >= 0 for at in units[unit].cells if at < known)
        yield from sorted(cells)
        yield from range(known, now.view.length)

    def _note_results(self, view: View) -> None:
        """Results get their numbers when they arrive, or all of them again if the past was rebuilt."""
        for at in range(self._noted, view.length):
            cell = view.cells[at]
            if cell.number >= 0:
                self._results[cell.turn if view.masked.turn >= 0 else -1, cell.number] = at
        self._noted = view.length

    # Their states

    def _compare(self, at: int, now: _Seen, changes: list[CellChange]) -> bool:
        """Whether a cell changed; a new one that is not sent is no difference."""
        cell = now.view.cells[at]
        state, tokens = _outcome(cell, now)
        is_new = at >= len(self._fates)
        before = None if is_new else self._fates[at]
        if before is not None and before[1:] == (state, tokens):
            return False
        if is_new:
            self._fates.append((cell.seq, state, tokens))
        else:
            self._fates[at] = (cell.seq, state, tokens)
        changes.append(CellChange(cell, before[1] if before else None, state))
        return not is_new

    def _compare_all(self, now: _Seen, changes: list[CellChange]) -> int:
        old = {seq: (state, tokens) for seq, state, tokens in self._fates}
        made: list[_Fate] = []
        for at in range(now.view.length):
            cell = now.view.cells[at]
            state, tokens = _outcome(cell, now)
            made.append((cell.seq, state, tokens))
            was = old.get(cell.seq)
            if was != (state, tokens):
                changes.append(CellChange(cell, was[0] if was else None, state))
        pairs = enumerate(zip(self._fates, made, strict=False))
        first = next((at for at, (was_, is_) in pairs if was_ != is_), min(len(self._fates), len(made)))
        self._fates, self._results, self._noted = made, {}, 0
        return first

    # The common beginning

    def _same(self, now: _Seen, first: int) -> int:
        """`first`: the first cell that is different, or new."""
        was = self._seen
        assert was is not None
        for old, new, around, ahead in (
            (was.parts.base.items, now.parts.base.items, 0, 0),
            (was.extra, now.extra, now.parts.meter.around_message, _fixed_cost(now)),
        ):
            same = _same_items(old, new, around)
            if same is not None:
                return ahead + same
        unit = now.view.cells[first].unit if first < now.view.length else now.cuts.units
        if unit < 0:  # never sent: what comes after it counts
            behind = (now.view.cells[at].unit for at in range(first, now.view.length))
            unit = next((number for number in behind if number >= 0), now.cuts.units)
        tokens = _cost_before(now, unit)
        if unit < now.cuts.units:
            tokens += self._cost_inside(now, unit, first)
        return min(tokens, was.outline.tokens - REPLY_PRIMING)

    def _cost_inside(self, now: _Seen, unit: int, upto: int) -> int:
        """The cost of a unit's cells before one of them."""
        tokens, begun, meter = 0, False, now.parts.meter
        for at in now.parts.conversation.units[unit].cells:
            if at >= upto:
                break
            if self._fates[at][1] in SENT_STATES:
                cell = now.view.cells[at]
                begins = cell.kind == "tool_result" or not begun
                begun = begun or cell.kind != "tool_result"
                tokens += self._fates[at][2] + meter.framing(cell.kind, begins, meter.author(cell))
        return tokens


def _outcome(cell: Cell, now: _Seen) -> tuple[State, int]:
    state, tokens, content, _ = fate_of(cell, now.view)
    if content is not None and now.cuts.cut_of(cell.unit) is not None:
        return "dropped", 0
    return state, tokens


def _turned(was: Cuts, now: Cuts) -> Iterator[int]:
    """The units that may be left out in only one of two plans."""
    starts = sorted((was.history.start, now.history.start))
    yield from range(*starts)
    yield from (opener for opener in {was.history.opener, now.history.opener} if opener >= 0)
    old, new = range(was.behind, was.groups.first), range(now.behind, now.groups.first)
    if old.start == new.start:
        yield from range(*sorted((old.stop, new.stop)))
    else:
        yield from old
        yield from new
    if was.held is not now.held:
        yield from was.held ^ now.held


def _remasked(was: MaskedSpan, now: MaskedSpan) -> Iterator[tuple[int, int]]:
    """The results, by turn and number, that may be masked in only one of two plans."""
    if was.turn == now.turn and was.first == now.first:
        yield from ((now.turn, number) for number in range(*sorted((was.upto, now.upto))))
    else:
        yield from ((span.turn, number) for span in (was, now) for number in range(span.first, span.upto))


def _refitted(was: Mapping[int, FittedResult], now: Mapping[int, FittedResult]) -> Iterator[int]:
    """The cells of results that are cut to fit in only one of two plans, or differently."""
    for seq in was.keys() | now.keys():
        if was.get(seq) != now.get(seq):
            yield (now.get(seq) or was[seq]).at


def _same_items(old: tuple[Item, ...], new: tuple[Item, ...], around: int) -> int | None:
    """Tokens of the common beginning of two requests' items, with their framing; None if they are the same."""
    if old is new:
        return None
    tokens = 0
    for before, after in zip(old, new, strict=False):
        if (before.slot, before.text) != (after.slot, after.text):
            return tokens
        tokens += after.tokens + around
    return None if len(old) == len(new) else tokens


def _fixed_cost(now: _Seen) -> int:
    """The cost of everything before the conversation, without the notice."""
    base, around = now.parts.base, now.parts.meter.around_message
    return base.cost - REPLY_PRIMING - sum(item.tokens + around for each in base.summaries for item in each.items)


def _cost_before(now: _Seen, unit: int) -> int:
    """The cost of a request before one of its units."""
    cuts, sums = now.cuts, now.parts.conversation.sums
    cost, history, around = sums.cost, cuts.history, now.parts.meter.around_message

    def span(first: int, end: int) -> int:
        return cost[end] - cost[first] if end > first else 0

    tokens = _fixed_cost(now) + sum(item.tokens + around for item in now.extra)
    tokens += span(history.start, min(unit, cuts.turn_start))
    if 0 <= history.opener < unit:
        tokens += span(history.opener, history.opener + 1)
    tokens += span(cuts.turn_start, min(unit, cuts.behind)) + span(max(cuts.groups.first, cuts.behind), unit)
    tokens += sums.apart_before(unit).cost - sum(each.saved for each in now.view.fitted.values() if each.unit < unit)
    summaries = (each for each in now.parts.base.summaries if each.before <= unit)
    return tokens + sum(item.tokens + around for each in summaries for item in each.items)
