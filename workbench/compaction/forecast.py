"""What happens next: which trigger fires, at how many tokens, and in about how many turns; and the words for it."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from operator import itemgetter
from typing import NamedTuple

from workbench.compaction.record import CompactionRecord
from workbench.compaction.triggers import check_triggers, exact_percent, share_of_window, tokens_behind
from workbench.compaction.values import CompactionDecision, Trigger, TriggerCheck
from workbench.config.text import counted, percent
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy, Measure
from workbench.log.events import Event


class Forecast(NamedTuple):
    """The trigger that fires next, and when."""

    trigger: Trigger | None
    """None: none will."""
    limit: int
    """The tokens, or turns, at which it fires."""
    turns: int | None
    """In about how many turns; None if not known."""
    why: str
    growth: float | None = None
    """Tokens per turn, if known; also used for when the window is full."""


def forecast_compaction(
    plan: ContextPlan,
    events: Sequence[Event],
    record: CompactionRecord,
    policy: CompactionPolicy,
    *,
    growth: float | None = None,
    turn_over: bool = True,
) -> Forecast:
    """The trigger that fires next, if turns continue as before.

    `growth`: tokens per turn by the ledger; without it, the mean of the turns since the last compaction.
    """
    if growth is None and record.turns:
        growth = tokens_behind(plan, record.covered) / record.turns
    if policy.mode == "off":
        return Forecast(None, 0, None, "none, because compaction is off", growth)
    looked = check_triggers(plan, events, record, policy, turn_over=turn_over)
    due = next((check for check in looked.all if check.fired), None)
    if due:
        return Forecast(due.trigger, due.fires_at, 0, f"now: {due.why}", growth)
    coming = [_coming(check, plan, policy, growth) for check in looked.by_policy]
    full = looked.left_out
    coming.append(_at(full, f"above {full.limit:,} tokens, the most that a request may have", growth))
    return min(coming, key=itemgetter(0))[1]._replace(growth=growth)


Distance = tuple[bool, float]
"""How far away: whether the turns are unknown, and the turns, or else the tokens."""


def _coming(
    check: TriggerCheck, plan: ContextPlan, policy: CompactionPolicy, growth: float | None
) -> tuple[Distance, Forecast]:
    if check.trigger == "turns":
        left = check.limit - check.measured
        why = f"at {check.limit} turns; now {check.measured}, in {left} more"
        return (False, left), Forecast("turns", check.limit, left, why)
    words = f"{'at' if policy.inclusive else 'above'} {check.limit:,} tokens"
    if check.trigger == "threshold":
        words += f" ({exact_percent(share_of_window(policy))} of {plan.limits.window:,})"
    return _at(check, words, growth)


def _at(check: TriggerCheck, words: str, growth: float | None) -> tuple[Distance, Forecast]:
    limit, now = check.fires_at, f"{words}; now {check.measured:,}"
    left = limit - check.measured
    if growth is None or growth <= 0:
        why = f"{now}, and {'how fast that grows is not known' if growth is None else 'that does not grow'}"
        return (True, left), Forecast(check.trigger, limit, None, why)
    turns = ceil(left / growth)
    why = f"{now}, {in_turns(turns)}{' of' if turns <= SOON else ' with turns of'} {growth:,.0f} tokens"
    return (False, left / growth), Forecast(check.trigger, limit, turns, why)


# In words


SOON = 50
"""The largest number of turns worth showing."""
NEW: dict[Measure, str] = {"plan": "", "since_compaction": " new tokens", "reported": ""}


def in_turns(turns: int | None) -> str:
    """When, in words; empty if not known."""
    if turns is None:
        return ""
    return f"in about {counted(turns, 'turn')}" if turns <= SOON else "not soon"


def next_step(coming: Forecast, decision: CompactionDecision, policy: CompactionPolicy, window: int) -> str:
    """What happens next, in a few words: when it compacts, or why it does not."""
    if not policy.automatic:
        return "no automatic compaction"
    if decision.action != "none":
        return f"compacts next turn{': asks first' if decision.action == 'ask' else ''}"
    if decision.held:
        return f"compaction due, but {decision.held.partition(':')[0]}"
    if coming.trigger == "turns":
        return f"compacts after {counted(coming.limit if coming.turns is None else coming.turns, 'more turn')}"
    share = f" ({percent(coming.limit / window)})" if window else ""
    when = in_turns(coming.turns)
    return f"compacts at {coming.limit:,}{NEW[policy.measure]}{share}{when and f', {when}'}"
