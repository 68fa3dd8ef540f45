"""Cuts of logs, and the events they lead to."""

from __future__ import annotations

from collections.abc import Sequence

from support.logs import number
from support.talk import COUNTER, ROOMY
from workbench.compaction.selection import select
from workbench.compaction.values import Cut
from workbench.context.budget import Limits
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.log.events import Body, Compaction, Event


def cut_of(
    bodies: Sequence[Body], policy: Policy, limits: Limits = ROOMY, *, overflow: bool = False, live: bool = False
) -> Cut:
    """What would be compacted at the end of this conversation."""
    return cut_of_log(number(bodies), policy, limits, overflow=overflow, live=live)


def cut_of_log(
    events: Sequence[Event], policy: Policy, limits: Limits = ROOMY, *, overflow: bool = False, live: bool = False
) -> Cut:
    """The same for a log."""
    made = plan(events, policy, limits, COUNTER, live=live)
    return select(made, events, policy.compaction, limits, COUNTER, overflow=overflow)


def event_of(cut: Cut, policy: Policy, summary: str = "the summary") -> Compaction:
    """The event that a cut leads to."""
    knobs = policy.compaction
    return Compaction(cut.first, cut.last, summary, cut.kept, knobs.place, knobs.preface, knobs.acknowledgement)
