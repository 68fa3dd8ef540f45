"""Plans of any size, and what the triggers say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.logs import number
from support.talk import planned, preset, turns
from workbench.compaction.record import read_record
from workbench.compaction.triggers import check_triggers, decide_compaction
from workbench.compaction.values import CompactionDecision, TriggerCheck
from workbench.config.values import replace
from workbench.context.budget import Limits
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy
from workbench.log.events import Body, Failure


def sized(tokens: int, window: int, name: str = "codex", source: str = "option") -> ContextPlan:
    """A plan of so many tokens for a window of this size, all of which a request may have."""
    made = planned(turns(1), preset(name))
    totals, budget = made.totals._replace(tokens=tokens), made.budget._replace(history=0, turn=tokens)
    return replace(made, totals=totals, budget=budget, limits=Limits(window, source, 0, 0))


def look(made: ContextPlan, log: Sequence[Body], policy: CompactionPolicy, **more: Any) -> dict[str, TriggerCheck]:
    """The checks by trigger; of the two about the window, the policy's own."""
    events = number(log)
    return {
        check.trigger: check
        for check in reversed(check_triggers(made, events, read_record(events), policy, **more).all)
    }


def decision(made: ContextPlan, log: Sequence[Body], policy: CompactionPolicy, **more: Any) -> CompactionDecision:
    """What is decided after a turn, where nobody can be asked, unless `more` says otherwise."""
    events = number(log)
    return decide_compaction(made, events, read_record(events), policy, **{"headless": True, "turn_over": True, **more})


def failure(kind: str = "timeout") -> Failure:
    """A compaction that was not made."""
    return Failure("compaction", f"{kind}: no")
