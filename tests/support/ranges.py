"""Ranges that would be compacted, and the events they lead to."""

from __future__ import annotations

from collections.abc import Sequence

from support.logs import number
from support.talk import COUNTER, ROOMY
from workbench.compaction.selection import select_range
from workbench.compaction.values import SelectedRange, Trigger
from workbench.context.budget import Limits
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.log.events import Body, Compaction, Event


def range_of(
    bodies: Sequence[Body],
    policy: Policy,
    limits: Limits = ROOMY,
    *,
    live: bool = False,
    trigger: Trigger = "turns",
) -> SelectedRange:
    """What would be compacted at the end of this conversation."""
    return range_of_log(number(bodies), policy, limits, live=live, trigger=trigger)


def range_of_log(
    events: Sequence[Event],
    policy: Policy,
    limits: Limits = ROOMY,
    *,
    live: bool = False,
    trigger: Trigger = "turns",
) -> SelectedRange:
    """The same for a log."""
    made = plan(events, policy, limits, COUNTER, live=live)
    return select_range(made, events, policy.compaction, limits, COUNTER, trigger=trigger)


def event_of(selected: SelectedRange, policy: Policy, summary: str = "the summary") -> Compaction:
    """The event that it leads to."""
    knobs = policy.compaction
    return Compaction(
        selected.first, selected.last, summary, selected.kept, knobs.place, knobs.preface, knobs.acknowledgement
    )
