"""The state of one cell: the single place where a cell's state, tokens and text are decided.

The planner measures with it and the items show it, so the sums and the items cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from workbench.context import fold
from workbench.context.cells import Cell, Unit
from workbench.context.control import NO_DECISION, UserDecision, with_pair
from workbench.context.items import Edit, State
from workbench.context.measure import Meter
from workbench.context.running_sums import UnitCost
from workbench.context.stages import mask, normalise, override, truncate
from workbench.context.stages.fit import FittedResult
from workbench.log.events import Content, KeptEvent

NO_ASIDES: Mapping[str, int] = {}
NOTHING_FITTED: Mapping[int, FittedResult] = {}


class View(Struct, frozen=True, gc=False):
    """What decides about single cells: everything but the two cuts (history and groups) and the summaries."""

    cells: Sequence[Cell]
    length: int
    """Cells beyond this were added later and do not exist here."""
    overrides: Mapping[int, UserDecision]
    kept: Mapping[int, KeptEvent]
    """What compactions kept of their ranges, by sequence number."""
    cover: Mapping[int, int]
    """The compaction in force that covers an event, by sequence number."""
    masked: mask.MaskedSpan
    latest: int
    """The sequence number of the latest user message while its turn is open: it stays whole. 0: the turn is over."""
    is_record: bool = False
    """Whether the plan is a record of what another agent sent."""
    asides: Sequence[int] = ()
    """The cells that are never sent, in order: each by the number of other cells before it."""
    aside_kinds: Mapping[str, int] = NO_ASIDES
    """How many cells are never sent, by group."""
    fitted: Mapping[int, FittedResult] = NOTHING_FITTED
    """The results that were cut so that the request fits, by sequence number."""


Fate = tuple[State, int, Content | None, bool]
"""The outcome for one cell before the cuts: its state, its tokens as sent, what is sent, and whether the tokens are
exact. A bare tuple, because every item of every request begins with one."""


def partner_of(cell: Cell, view: View) -> Cell | None:
    """The other half of a call and its result, if it exists yet."""
    return view.cells[cell.partner] if 0 <= cell.partner < view.length else None


def own_of(cell: Cell, view: View) -> UserDecision:
    """The user's decision on a cell, including that on the other half of its pair."""
    own = view.overrides.get(cell.seq, NO_DECISION)
    partner = partner_of(cell, view)
    if partner is not None:
        own = with_pair(own, view.overrides.get(partner.seq, NO_DECISION))
    return own


def fate_of(cell: Cell, view: View) -> Fate:
    """The outcome for a cell before the cuts: the stages are asked in order, and the first that applies decides."""
    if cell.unit < 0:
        return "dropped" if cell.fate else "aside", 0, None, cell.exact
    if view.cover and cell.seq in view.cover:
        return "summarised", 0, None, cell.exact
    if view.overrides:
        own, is_latest = own_of(cell, view), cell.seq == view.latest
        if override.is_excluded(own, is_latest):
            return "excluded", 0, None, cell.exact
        if own.pinned:
            return cell.state, cell.tokens, cell.content, cell.exact
        masked, text = override.is_masked(own, cell.kind, is_latest), own.text
    else:
        masked, text = None, ""
    if masked is None:
        masked = cell.number >= 0 and mask.lies_between(cell.number, cell.turn, view.masked)
    if masked:
        return (
            "masked",
            cell.mask_tokens,
            text or mask.mask_marker(cell.original_tokens, cell.id, cell.kind),
            cell.exact,
        )
    if view.fitted and (fitted := view.fitted.get(cell.seq)) is not None:
        return "truncated", fitted.cut.tokens, fitted.cut.parts or fitted.cut.text, fitted.cut.exact
    cut = cell.cut
    if cut is not None and cell.seq != view.latest:
        return "truncated", cut.tokens, cut.parts or cut.text, cut.exact
    state: State = "sent" if cell.agent_cut is None else cell.agent_cut.state
    return state, cell.tokens, cell.event_content if cell.changed is None else cell.changed, cell.exact


def is_sent(cell: Cell, view: View) -> bool:
    """Whether a cell, or what is left of it, is sent unless a cut leaves it out."""
    if cell.unit >= 0 and not view.overrides:  # nearly always: no marker has to be made
        return cell.event.seq not in view.cover
    return fate_of(cell, view)[2] is not None


def unit_cost(unit: Unit, view: View, meter: Meter, complete: bool) -> UnitCost:
    """The cost of a unit unless a cut leaves it out; in a complete one, calls without a result get a synthetic one."""
    tokens = around = messages = 0
    begun = False
    for at in unit.cells:
        cell = view.cells[at]
        _, size, content, _ = fate_of(cell, view)
        if content is None:
            continue
        tokens += size
        begins = cell.kind == "tool_result" or not begun
        begun = begun or cell.kind != "tool_result"
        around, messages = around + meter.framing(cell.kind, begins, meter.author(cell)), messages + begins
        if complete and cell.kind == "tool_call" and cell.partner < 0:
            tokens, messages = tokens + meter.no_result.tokens, messages + 1
            around += meter.around_result(cell)
    return UnitCost(tokens + around, around, messages)


def edits_of(cell: Cell, state: State, view: View, results: int) -> list[Edit]:
    """Every decision on a cell before the cuts, in the order of the stages, with its reason.

    `state` is the state of its fate, `results` is how many results are in the scope of masking, for the reasons.
    """
    edits: list[Edit] = []
    size = cell.original_tokens
    if cell.fate:
        return [normalise.drop_edit(size, cell.fate)]
    if state == "aside":
        return [fold.aside_edit(size, view.is_record and cell.kind == "reasoning")]
    own = own_of(cell, view) if view.overrides else NO_DECISION
    if cell.agent_cut is not None:
        edits.append(override.agent_cut(cell.agent_cut, size))
    if cell.note:
        edits.append(normalise.change_edit(size, cell.tokens, cell.note))
    if state == "excluded":
        return [*edits, override.exclude_edit(view.overrides.get(cell.seq, NO_DECISION), cell.tokens)]
    if own.pinned or state == "summarised":
        return edits
    before, cut = cell.tokens, cell.cut
    if cut is not None and state in ("truncated", "masked"):
        kept = cell.seq in view.kept
        edits.append(fold.kept_edit(before, cut.tokens) if kept else truncate.truncate_edit(before, cut))
        before = cut.tokens
    if state == "truncated" and (fitted := view.fitted.get(cell.seq)) is not None:
        edits.append(fitted.edit())
    if state == "masked" and own.masked:
        edits.append(override.masked_by_hand_edit(own, before, size, cell.mask_tokens))
    elif state == "masked" and mask.lies_between(cell.number, cell.turn, view.masked):
        edits.append(mask.mask_edit(cell.number, results, view.masked, before, size, cell.mask_tokens))
    return edits
