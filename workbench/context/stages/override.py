"""Override: the user's decisions on single items, and what another agent did to them.

Excluded items leave with their pair. Masked ones become a marker. Pinned ones pass every stage unchanged. None of this
applies to the latest user message, which stays whole while its turn is open.
"""

from __future__ import annotations

from workbench.context.control import UserDecision
from workbench.context.items import Edit, Kind
from workbench.log.events import AgentCut


def is_excluded(own: UserDecision, is_latest: bool) -> bool:
    """Whether an item is left out; `own` is the decision on it and on its pair. Another agent's always applies."""
    return own.excluded and (not is_latest or bool(own.why))


def is_masked(own: UserDecision, kind: Kind, is_latest: bool) -> bool | None:
    """Whether an item becomes a marker; None if the user left that to the policy. A call is never masked."""
    if own.pinned or is_latest:
        return False
    return None if own.masked is None else own.masked and kind != "tool_call"


def exclude_edit(own: UserDecision, tokens: int) -> Edit:
    """The edit for an excluded item; `own` is the decision on the item itself, without its pair."""
    why = (own.why or "excluded by hand") if own.excluded else "excluded with the other half of its pair"
    return Edit(own.stage or "override", "excluded", tokens, 0, why)


def masked_by_hand_edit(own: UserDecision, before: int, original: int, marker: int) -> Edit:
    """The edit for an item masked by hand, or replaced by a plug-in's stage."""
    instead = "replaced by" if own.stage else "replaced by a marker of"
    why = f"{own.why or 'masked by hand'}; {original:,} tokens {instead} {marker:,}"
    return Edit(own.stage or "override", "masked", before, marker, why)


def agent_cut(cut: AgentCut, left: int) -> Edit:
    """The edit for an agent's own cut before it sent the item; the original is in no log."""
    done = "cut" if cut.state == "truncated" else "replaced"
    own_count = f" (by its own count {cut.size})" if cut.size else ""
    why = f"{done} by {cut.by} before it was sent: {left:,} tokens left{own_count}"
    return Edit("override", cut.state, max(cut.tokens, left), left, why)


def excluded_call_edit(tokens: int) -> Edit:
    """The edit for the synthetic result of an excluded call."""
    return Edit("override", "excluded", tokens, 0, "left out with its call")
