"""`workbench judge`: was a summary good enough? A model answers questions about what it replaced."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

from workbench.cli.asking import NEEDS_YES, require_confirmation
from workbench.cli.options import options_of
from workbench.cli.sources import read_source_with_notes
from workbench.config.errors import Refused, WrongCall
from workbench.config.text import counted, line_width, print_json, printable
from workbench.config.values import replace
from workbench.context.policy_names import DEFAULT
from workbench.judge.asking import asked_model, is_rehearsed
from workbench.judge.budget import CostEstimate, Spending, price_words
from workbench.judge.contexts import (
    JudgedSource,
    PlannedContext,
    compacted_context,
    find_compaction,
    judged_source,
    plan_compaction,
    write_context,
)
from workbench.judge.grading import WORDS
from workbench.judge.judgement import Judgement, JudgeTask, judgement_of
from workbench.judge.record_file import JudgeRecord
from workbench.judge.report import judgement_json, report_judgement
from workbench.judge.runner import JudgeEnd, JudgeRun
from workbench.judge.values import HAND, Grade
from workbench.log.events import Compaction
from workbench.models.catalogue import is_built_in
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source

_HAND_GRADE = re.compile(r"(?P<probe>[0-9a-f]{8})(?:@(?P<context>.+))?=(?P<grade>right|partly|wrong)")


class _Call(NamedTuple):
    services: Services
    options: argparse.Namespace
    source: Source
    model: str
    judge: str
    spending: Spending

    def report_step(self, line: str) -> None:
        """Report a step on standard error."""
        if not self.options.json:
            print(printable(f"· {line}"), file=sys.stderr)


def run_judge(options: argparse.Namespace) -> int:
    """Judge a compaction, or one under each policy. The exit code is 1 if there is no score."""
    for each in options.grade or ():
        if not _HAND_GRADE.fullmatch(each):
            raise WrongCall(f"--grade: expected PROBE[@CONTEXT]=right, partly or wrong, got {each[:60]!r}")
    with Services() as services:
        source = read_source_with_notes(services, options.source)
        model = options.model or services.default_model
        spending = Spending(options.budget)
        call = _Call(services, options, source, model, options.judge or model, spending)
        judgement, end, record = asyncio.run(_judged(call))
        if options.json:
            print_json(judgement_json(judgement, end, record, source.name))
        else:
            print("\n".join(report_judgement(judgement, end, line_width())))
            print(f"record   {printable(record.problem or str(record.path))}")
            if spending.spent:
                print(f"cost     ${spending.spent:.4f}")
    return 0 if judgement.best() is not None else 1


async def _judged(call: _Call) -> tuple[Judgement, JudgeEnd, JudgeRecord]:
    options = call.options
    base, record, contexts = await _contexts(call)
    tries = 1 if is_rehearsed(call.model) else options.tries
    async with AsyncExitStack() as stack:
        answerer = await stack.enter_async_context(asked_model(call.services, call.model))
        judge = answerer
        if call.judge != call.model:
            judge = await stack.enter_async_context(asked_model(call.services, call.judge))
        task = JudgeTask(base, tuple(contexts), call.model, call.judge, options.probes, tries)
        run = JudgeRun(task, record, answerer, judge, call.spending, call.report_step)
        fitting = tuple(each for each in contexts if not run.too_large(each.context))
        for each in contexts:
            if each not in fitting:
                call.report_step(
                    f"{each.context.name} is left out: {call.model} has no room for its {each.context.tokens:,} tokens"
                )
        if not fitting:
            raise Refused(f"no context fits {call.model}; --window makes them smaller, --model names another model")
        if fitting != task.contexts:
            task = JudgeTask(base, fitting, call.model, call.judge, options.probes, tries)
            run = JudgeRun(task, record, answerer, judge, call.spending, call.report_step)
        _agree(call, run.estimate())
        end = await run.finish_judgement()
    _grade_by_hand(options.grade or (), options.why, judgement_of(task, record), record)
    return judgement_of(task, record), end, record


async def _contexts(call: _Call) -> tuple[JudgedSource, JudgeRecord, list[PlannedContext]]:
    """The conversation and the contexts to judge; their summaries are written here, if that was asked for."""
    services, options, source = call.services, call.options, call.source
    asked = options_of(options)
    made = any(isinstance(event.body, Compaction) for event in source.events)
    if options.compaction is not None or (not options.policies and made):
        event = find_compaction(source.events, options.compaction)
        base = judged_source(services, asked, source, source.events[: event.seq - 1])
        return base, JudgeRecord(base.key), [compacted_context(services, asked, source, event)]
    base = judged_source(services, asked, source, source.events)
    record = JudgeRecord(base.key)
    policies = list(dict.fromkeys(options.policies or [source.policy or services.settings.policy or DEFAULT]))
    summariser = call.model if options.summarise else ""
    recorded = RecordedSession(services, replace(asked, model=""), source) if source.recorded else None
    planned = [await plan_compaction(services, asked, source, policy, summariser, recorded) for policy in policies]
    _agree_to_summaries(call, [each.preview for each in planned if each.preview and each.key not in record.summaries])
    contexts = []
    for each in planned:
        written = await write_context(services, source, each, record.summaries.get(each.key))
        context = written.planned.context
        if context.made_by and not written.problems:
            record.add_summary(each.key, context.summary, context.made_by)
        call.spending.note_cost(written.cost)
        contexts.append(written.planned)
    return base, record, contexts


def _agree_to_summaries(call: _Call, previews: Sequence[object]) -> None:
    from workbench.compaction.values import CompactionPreview

    asked = [each for each in previews if isinstance(each, CompactionPreview) and each.model]
    if not asked or call.options.yes or all(is_built_in(each.model) for each in asked):
        return
    costs = [each.cost for each in asked]
    cost = None if None in costs else sum(each or 0.0 for each in costs)
    call.spending.check_budget(cost)
    _confirm(f"{counted(len(asked), 'summary', 'summaries')} by {call.model} {price_words(cost)}. Go on?")


def _agree(call: _Call, estimate: CostEstimate) -> None:
    """Say what it may cost, and ask if it may cost anything."""
    call.report_step(estimate.words())
    if estimate.is_free or not estimate.requests or call.options.yes:
        return
    limit = f", and stops before it costs more than ${call.options.budget:.2f}"
    _confirm(f"{estimate.words()}{limit if estimate.cost is not None else ', which no budget can limit'}. Go on?")


def _confirm(question: str) -> None:
    require_confirmation(question, declined="nothing was sent", unasked=f"{question} {NEEDS_YES}")


def _grade_by_hand(grades: Sequence[str], why: str, judgement: Judgement, record: JudgeRecord) -> None:
    """Note the user's own grades. They replace all others of the same answers, now and in later calls."""
    for text in grades:
        asked = _HAND_GRADE.fullmatch(text)
        assert asked is not None
        found = [
            answer.answer
            for each in judgement.contexts
            if asked["context"] in (None, each.context.name)
            for row in each.asked
            if row.probe.id == asked["probe"]
            for answer in row.answers
        ]
        if not found:
            raise WrongCall(
                f"--grade: {text[:60]}: no such answer; the probes and contexts are those of this judgement"
            )
        for answer in found:
            record.add_grade(Grade(answer.probe, answer.hash, WORDS[asked["grade"]], HAND, why or ""))
