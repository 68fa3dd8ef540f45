"""Chooses which results of a request are cut so that it fits, and to which size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from workbench.context.cells import Cell, Unit
from workbench.context.measure import Meter
from workbench.context.plan_items import Cuts
from workbench.context.stages.fit import LEAST, FittedResult, common_cap, fit_reason
from workbench.context.view import View, fate_of, own_of


class _LongResult(NamedTuple):
    """A result that may be cut."""

    at: int
    cell: Cell
    tokens: int


def fit_results(
    view: View, units: Sequence[Unit], cuts: Cuts, meter: Meter, tokens: int
) -> Mapping[int, FittedResult] | None:
    """By sequence number: the cuts that make a request of so many tokens fit. None if no cuts are enough.

    They leave the whole reserve for the answer, or else what the smallest useful answer needs.
    """
    long, limits = list(_long_results(view, units, cuts)), meter.limits
    for room in (limits.target, limits.capacity):
        cap = common_cap([each.tokens for each in long], tokens - room)
        if cap is None:
            continue
        made = {each.cell.seq: fitted for each in long if (fitted := _cut(each, meter, cap, tokens, room)) is not None}
        if tokens - sum(each.saved for each in made.values()) <= limits.capacity:
            return made
    return None


def _long_results(view: View, units: Sequence[Unit], cuts: Cuts) -> Iterator[_LongResult]:
    """The results that are sent, whole or cut to their own cap, without pinned and masked ones."""
    for number in cuts.sent_units():
        for at in units[number].cells:
            cell = view.cells[at]
            if cell.kind != "tool_result":
                continue
            state, tokens, _, _ = fate_of(cell, view)
            is_pinned = bool(view.overrides) and own_of(cell, view).pinned
            if state in ("sent", "truncated") and tokens > LEAST and not is_pinned:
                yield _LongResult(at, cell, tokens)


def _cut(result: _LongResult, meter: Meter, cap: int, tokens: int, room: int) -> FittedResult | None:
    cut = meter.cut_to(result.cell, cap) if result.tokens > cap else None
    if cut is None or cut.tokens >= result.tokens:
        return None
    why = fit_reason(tokens, room, result.tokens, cut)
    return FittedResult(result.at, result.cell.unit, cut._replace(why=why), result.tokens - cut.tokens)
