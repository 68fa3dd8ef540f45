"""What became of one cell, given what holds now: the single place where a cell's state, tokens and text are decided.

The planner measures with it and the rows show it, so the sums and the rows cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.context.cells import Cell
from workbench.context.control import NO_DECISION, UserDecision, with_pair
from workbench.context.items import Edit, Stage, State
from workbench.context.stages import mask
from workbench.log.events import Content, KeptEvent


class View(NamedTuple):
    """What decides about single cells: everything but the two cuts (history and groups) and the summaries."""

    cells: Sequence[Cell]
    length: int
    """Cells beyond this were added later and do not exist here."""
    overrides: Mapping[int, UserDecision]
    kept: Mapping[int, KeptEvent]
    """What compactions kept of their ranges, by sequence number."""
    mask_first: int
    mask_upto: int
    mask_turn: int
    """The only turn that is masked; -1: all of them."""
    latest: int
    """The sequence number of the latest user message: always whole."""


Fate = tuple[State, int, Content | None, bool]
"""The outcome for one cell, as far as it is decided without the cuts: its state, its tokens as sent, what is sent, and
whether the tokens are exact. A bare tuple, because every row of every request begins with one."""


def partner_of(cell: Cell, view: View) -> Cell | None:
    """The other half of a call and its result, if it is there yet."""
    return view.cells[cell.partner] if 0 <= cell.partner < view.length else None


def own_of(cell: Cell, view: View) -> UserDecision:
    """The user's decision on a cell, that on the other half of its pair considered."""
    own = view.overrides.get(cell.seq, NO_DECISION)
    partner = partner_of(cell, view)
    if partner is not None:
        own = with_pair(own, view.overrides.get(partner.seq, NO_DECISION))
    return own


def is_masked(cell: Cell, own: UserDecision, view: View) -> bool:
    """Whether a cell is masked, by hand or because its result lies in the middle."""
    if own.pinned or cell.seq == view.latest:
        return False
    if own.masked is not None:
        return own.masked and cell.kind != "tool_call"
    return _in_the_middle(cell, view)


def _in_the_middle(cell: Cell, view: View) -> bool:
    return view.mask_first <= cell.number < view.mask_upto and view.mask_turn in (-1, cell.turn)


def fate_of(cell: Cell, view: View) -> Fate:
    """What becomes of a cell before the cuts."""
    if cell.unit < 0:
        return "dropped" if cell.fate else "aside", 0, None, cell.exact
    if cell.cover >= 0:
        return "summarised", 0, None, cell.exact
    if view.overrides:
        own = own_of(cell, view)
        if own.excluded and cell.seq != view.latest:
            return "excluded", 0, None, cell.exact
        if own.pinned:
            return "sent", cell.tokens, cell.content, cell.exact
        masked = is_masked(cell, own, view)
    else:
        masked = cell.number >= 0 and _in_the_middle(cell, view)
    if masked:
        return "masked", cell.mask_tokens, mask.marker(cell.original_tokens, cell.id, cell.kind), cell.exact
    cut = cell.cut
    if cut is not None and cell.seq != view.latest:
        return "truncated", cut.tokens, cut.parts or cut.text, cut.exact
    return "sent", cell.tokens, cell.content, cell.exact


def is_sent(cell: Cell, view: View) -> bool:
    """Whether a cell, or what is left of it, is sent if no cut takes it away."""
    return fate_of(cell, view)[2] is not None


def edits_of(cell: Cell, state: State, view: View, results: int) -> list[Edit]:
    """Every decision on a cell before the cuts, in the order of the stages, with its reason.

    `state` is what its fate says, `results` is how many results the scope of masking holds, for the reason's numbers.
    """
    edits: list[Edit] = []
    size = cell.original_tokens
    if cell.fate:
        return [Edit("normalise", "dropped", size, 0, cell.fate)]
    if state == "aside":
        return [Edit("fold", "aside", size, 0, "kept for reading, never sent")]
    own = own_of(cell, view) if view.overrides else NO_DECISION
    if cell.note:
        edits.append(Edit("normalise", "sent", size, cell.tokens, cell.note))
    if state == "excluded":
        mine = view.overrides.get(cell.seq, NO_DECISION)
        why = "excluded by hand" if mine.excluded else "excluded with the other half of its pair"
        return [*edits, Edit("override", "excluded", cell.tokens, 0, why)]
    if own.pinned or state == "summarised":
        return edits
    if cell.cut is not None and state in ("truncated", "masked"):
        stage: Stage = "fold" if cell.seq in view.kept else "truncate"
        edits.append(Edit(stage, "truncated", cell.tokens, cell.cut.tokens, cell.cut.why))
    if state == "masked":
        edits.append(_mask_edit(cell, own, view, results))
    return edits


def _mask_edit(cell: Cell, own: UserDecision, view: View, results: int) -> Edit:
    before = cell.cut.tokens if cell.cut else cell.tokens
    if own.masked:
        why = f"masked by hand; {cell.original_tokens:,} tokens replaced by a marker of {cell.mask_tokens:,}"
        return Edit("override", "masked", before, cell.mask_tokens, why)
    scope = "the session" if view.mask_turn < 0 else "the turn"
    why = (
        f"result {cell.number + 1} of {results} in {scope} lies between the first {view.mask_first} and the last "
        f"{results - view.mask_upto}; {cell.original_tokens:,} tokens replaced by a marker of {cell.mask_tokens:,}"
    )
    return Edit("mask", "masked", before, cell.mask_tokens, why)
