"""A judgement for the screen, at once and by rule: of the newest compaction, of a draft, or of the digest of now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workbench.compaction.values import SummaryDraft
from workbench.config.text import counted, percent
from workbench.context.plan import ContextPlan
from workbench.context.policy_names import DEFAULT
from workbench.judge.by_rule import RuleScores, judge_by_rule
from workbench.judge.contexts import (
    JudgedSource,
    PlannedContext,
    compacted_context,
    find_compaction,
    judged_source,
    plan_compaction,
    plan_context,
    write_context,
)
from workbench.judge.report import interval_words
from workbench.judge.values import KINDS, JudgedContext, Score
from workbench.log.events import Compaction
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source
from workbench.wire.event_builder import is_sealed

PROBES = 40
"""Questions to ask; asking by rule costs nothing."""
LOST_SHOWN = 12


class QuickJudgement(NamedTuple):
    """A context and its scores."""

    context: JudgedContext
    scores: RuleScores
    numbers: Mapping[str, int]
    """The numbers of events, by id."""


async def judge_at_once(services: Services, options: Options, source: Source) -> QuickJudgement:
    """Judge the newest compaction of the log whose summary can be read; else one by the digest, as it could be made
    now. Asks no model and stores nothing."""
    made = [event for event in source.events if isinstance(event.body, Compaction) and not is_sealed(event.body)]
    if made:
        event = find_compaction(source.events, made[-1].seq)
        base = judged_source(services, options, source, source.events[: event.seq - 1])
        planned = compacted_context(services, options, source, event)
    else:
        base = judged_source(services, options, source, source.events)
        planned = await _by_digest(services, options, source)
    return _judged(base, planned)


def judge_proposed(services: Services, source: Source, plan: ContextPlan, draft: SummaryDraft) -> QuickJudgement:
    """Judge a summary that is not in the log. `plan`: the request with it."""
    base = judged_source(services, Options(), source, source.events)
    return _judged(base, plan_context("the proposed summary", plan, draft.made_by, draft.summary))


def _judged(base: JudgedSource, planned: PlannedContext) -> QuickJudgement:
    [scores] = judge_by_rule(base, [planned], PROBES)
    return QuickJudgement(planned.context, scores, {item.id: item.seq for item in base.items if item.seq})


async def _by_digest(services: Services, options: Options, source: Source) -> PlannedContext:
    policy = source.policy or services.settings.policy or DEFAULT
    recorded = RecordedSession(services, options, source) if source.recorded else None
    to_write = await plan_compaction(services, options, source, policy, "", recorded)
    return (await write_context(services, source, to_write)).planned


def judgement_rows(judged: QuickJudgement) -> list[tuple[str, str]]:
    """The judgement as labels and values."""
    context, scores, numbers = judged
    by = f", summary by {context.made_by}" if context.made_by else ""
    rows = [("judged", f"{context.name}, {context.tokens:,} tokens{by}")]
    rows += [("note", context.note)] if context.note else []
    if not scores.all.probes:
        return [*rows, ("score", "none: there is nothing to ask about in what is replaced")]
    rows.append(("score", _score_words(scores.all)))
    rows += [(kind, _score_words(scores.kinds[kind])) for kind in KINDS]
    rows.append(("how", "asked and graded by rule: it finds the same words, not the same meaning"))
    for probe in scores.lost[:LOST_SHOWN]:
        where = ", ".join(f"#{numbers[event]}" for event in probe.events[:3] if event in numbers)
        rows.append(("lost", f"{probe.question} → {'; '.join(probe.expected)}{where and f' ({where})'}"))
    more = len(scores.lost) - LOST_SHOWN
    return [*rows, *([("", f"and {more:,} more")] if more > 0 else [])]


def _score_words(score: Score) -> str:
    if score.mean is None:
        return "–, no question of this kind"
    interval = f", 95 % of resamples {interval_words(score)}" if score.low is not None else ""
    return f"{percent(score.mean, 0)} of {counted(score.probes, 'question')}{interval}"
