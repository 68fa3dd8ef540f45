"""Selection: which part of the past a compaction replaces, and what of it stays.

The range is a span of the log; what lies in it and is not summarised is named in `kept`. So the selected range is
exactly what the planner marks `summarised` once the event is appended, in whatever order the events came.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.compaction.candidates import Candidates, ItemUnit, candidates_in
from workbench.compaction.progress import ReportProgress, ignore_progress
from workbench.compaction.strategies import KeptMessage, StrategyChoice, StrategyInputs, choose_units
from workbench.compaction.summary_sizes import fixed_tokens, summaries_can_shrink, summaries_exceed_share
from workbench.compaction.values import CompactionRefused, SelectedRange, Trigger
from workbench.config.text import counted
from workbench.config.values import replace
from workbench.context.budget import Limits
from workbench.context.control import compaction_range
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy
from workbench.context.setup import Setup
from workbench.log.events import Event, KeptEvent
from workbench.models.tokens import TokenCounter

ENOUGH = 0.5
"""If a conversation no longer fits, a choice that frees less than this share of the request is not enough."""
WORTHWHILE = 0.25
"""The same share for a request that still fits but has reached the policy's size: it would soon reach it again."""

_BY_SIZE = frozenset[Trigger]({"threshold", "tokens"})


def select_range(
    plan: ContextPlan,
    events: Sequence[Event],
    policy: CompactionPolicy,
    limits: Limits,
    counter: TokenCounter,
    trigger: Trigger = "turns",
    report: ReportProgress = ignore_progress,
) -> SelectedRange:
    """What a compaction would replace now. Raises `CompactionRefused` if that is nothing new.

    Whole units only. Pinned items, excluded ones and the open turn stay. If the conversation has outgrown the window
    (the trigger is `overflow`, or the plan says so) and the policy's own choice does not help enough, the finished
    iteration groups of the open turn go too, and recent turns are no longer spared; if even that is nothing, earlier
    summaries that take too much room are summarised.

    Agents often work in one or two long turns, which a policy would spare. So if its own choice is nothing
    (`manual`), or frees too little of a request that has reached the policy's size (`threshold`, `tokens`), the
    finished iteration groups of the spared turns go too; user messages, answers and what `compaction.keep_messages`
    spares stay.
    """
    candidates = candidates_in(plan, events, report)
    inputs = StrategyInputs(policy, limits, counter, fixed_tokens(plan))
    choice = choose_units(candidates, inputs)
    is_too_long = trigger == "overflow" or _outgrown(plan, candidates)
    if is_too_long and not _is_enough(choice, plan, limits):
        choice = choose_units(candidates, replace(inputs, groups=True, tight=True))
    elif _is_nothing(choice) if trigger == "manual" else trigger in _BY_SIZE and not _is_worthwhile(choice, plan):
        choice = choose_units(candidates, replace(inputs, groups=True))
    summaries_alone = is_too_long and _is_nothing(choice) and summaries_can_shrink(plan, limits)
    if _is_nothing(choice) and not summaries_alone:
        raise CompactionRefused("nothing", f"nothing to compact: {_why_nothing(candidates, choice)}")
    if summaries_alone:
        return _range_of_summaries(candidates)
    merges = not policy.update and summaries_exceed_share(plan, policy, limits)
    return _range_of(candidates, choice, policy, merges=merges)


def select_for(
    setup: Setup, plan: ContextPlan, events: Sequence[Event], trigger: Trigger, report: ReportProgress = ignore_progress
) -> SelectedRange:
    """The selection for a trigger. Previews and compactions both use it, so that they agree."""
    policy = setup.loaded.policy.compaction
    return select_range(plan, events, policy, setup.limits, setup.counter, trigger=trigger, report=report)


def _is_nothing(choice: StrategyChoice) -> bool:
    return all(unit.summarised for unit in choice.wanted)


def _outgrown(plan: ContextPlan, candidates: Candidates) -> bool:
    """Whether the request is too long, or fits only because results were cut or iteration groups dropped."""
    if plan.overflows:
        return True
    turn = candidates.units[candidates.open_from :]
    return any(unit.items[0].state == "dropped" for unit in turn)


def _is_worthwhile(choice: StrategyChoice, plan: ContextPlan) -> bool:
    return sum(unit.tokens for unit in choice.wanted) >= WORTHWHILE * (plan.totals.tokens + plan.cut_to_fit)


def _is_enough(choice: StrategyChoice, plan: ContextPlan, limits: Limits) -> bool:
    total = plan.totals.tokens + plan.cut_to_fit
    freed = sum(unit.tokens for unit in choice.wanted)
    return freed >= ENOUGH * total and total - freed <= limits.capacity


def _why_nothing(candidates: Candidates, choice: StrategyChoice) -> str:
    if not candidates.units:
        return "the conversation is empty"
    free = [unit for unit in candidates.units if unit.number not in candidates.barred]
    if any(unit.summarised for unit in candidates.units) and all(unit.summarised for unit in free):
        return "all that may be summarised is summarised already"
    if not choice.retained and candidates.open_from == 0 and not (choice.spares and free):
        return "there is only the turn that is going on"
    if not free:
        return "all of it is kept: the latest user message, and what was pinned or excluded"
    spares = f" ({choice.spares})" if choice.spares else ""
    return f"the policy summarises {choice.why}{spares}, and so far that is nothing"


def _range_of(
    candidates: Candidates, choice: StrategyChoice, policy: CompactionPolicy, *, merges: bool
) -> SelectedRange:
    """`merges`: earlier summaries are summarised too, though the policy would read what they replace."""
    chosen = [*choice.wanted, *(each.unit for each in choice.retained)]
    first = min(seq for unit in chosen for seq in unit.seqs)
    last = max(seq for unit in chosen for seq in unit.seqs)
    updates = policy.update or merges
    if updates:
        first, last = _reach(first, last, candidates.effective.compactions)
    previous = [
        event
        for event in candidates.effective.compactions
        if first <= compaction_range(event)[0] and compaction_range(event)[1] <= last
    ]
    wanted = {unit.number for unit in choice.wanted if not (merges and unit.summarised)}
    if not updates:
        # A summary that is replaced without being updated: what it replaced is read again.
        wanted |= {unit.number for unit in candidates.units if _is_replaced(unit, first, last, candidates)}
    items = tuple(item for unit in candidates.units if unit.number in wanted for item in unit.items)
    staying = [
        unit
        for unit in candidates.units
        if unit.number not in wanted and not unit.summarised and any(first <= seq <= last for seq in unit.seqs)
    ]
    kept, tokens = _kept(staying, choice.retained, candidates, first, last)
    staying_items = tuple(item for unit in staying for item in unit.items if item.state != "excluded")
    why = f"{choice.why}, and the summaries before, which take too much room" if merges and previous else choice.why
    return SelectedRange(
        first, last, items, kept, tokens, tuple(previous), why, staying_items, merges and bool(previous)
    )


def _range_of_summaries(candidates: Candidates) -> SelectedRange:
    """The range of all earlier summaries. What they kept stays."""
    earlier = candidates.effective.compactions
    first, last = (
        min(compaction_range(event)[0] for event in earlier),
        max(compaction_range(event)[1] for event in earlier),
    )
    staying = [
        unit for unit in candidates.units if not unit.summarised and any(first <= seq <= last for seq in unit.seqs)
    ]
    kept, tokens = _kept(staying, (), candidates, first, last)
    why = f"{counted(len(earlier), 'earlier summary', 'earlier summaries')} alone, which take too much room"
    return SelectedRange(first, last, (), kept, tokens, tuple(earlier), why, (), True)


def _reach(first: int, last: int, compactions: Sequence[Event]) -> tuple[int, int]:
    """The range widened to contain every compaction in force before its end, so that their summaries are updated."""
    for event in compactions:
        begin, end = compaction_range(event)
        if begin <= last:
            first, last = min(first, begin), max(last, end)
    return first, last


def _is_replaced(unit: ItemUnit, first: int, last: int, candidates: Candidates) -> bool:
    inside = all(first <= seq <= last for seq in unit.seqs)
    return inside and unit.summarised and unit.number not in candidates.barred


def _kept(
    staying: Sequence[ItemUnit], retained: Sequence[KeptMessage], candidates: Candidates, first: int, last: int
) -> tuple[tuple[KeptEvent, ...], int]:
    """What stays of the range, in log order, and its cost."""
    own = {each.unit.number: each for each in retained}
    kept: list[KeptEvent] = []
    tokens = 0
    for unit in staying:
        mine = own.get(unit.number)
        tokens += mine.tokens if mine else unit.tokens
        for seq in unit.seqs:
            if first <= seq <= last:
                kept.append(KeptEvent(seq, (mine.text if mine else None) or candidates.shortened.get(seq)))
    return tuple(sorted(kept, key=lambda each: each.seq)), tokens
