"""`workbench lab --judge N`: what is still known at the end of a session under each policy, by the rules of `judge`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.judge.by_rule import judge_by_rule
from workbench.judge.contexts import judged_source, plan_context
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.running.progress import status_line
from workbench.lab.running.source_reader import SourceReader
from workbench.lab.running.tasks import LabTask, TaskOutcome
from workbench.lab.values import JudgedShare, SourceRun
from workbench.sources.services import Services


def with_judgements(outcomes: Iterable[TaskOutcome], wanted: int, services: Services) -> Iterator[TaskOutcome]:
    """The outcomes with a judgement of every run. No model is asked."""
    reader = SourceReader(services)
    for outcome in outcomes:
        runs = outcome.runs
        with status_line(f"judging {outcome.task.source}…"):
            try:
                labs = reader.read_sources(outcome.task) if runs else []
                pairs = zip(runs, labs, strict=True)
                runs = tuple(_judged(outcome.task, run, lab, wanted, services) for run, lab in pairs)
            except WorkbenchError as error:
                print(printable(f"· {outcome.task.source}: not judged: {error}"), file=sys.stderr)
        yield outcome._replace(runs=runs)


def _judged(task: LabTask, source_run: SourceRun, lab: LabSource, wanted: int, services: Services) -> SourceRun:
    """The conversation with the scores of its policies: of what the last request under each of them holds."""
    if not lab.marks:
        return source_run
    base = judged_source(services, task.options, lab.source, lab.without_decisions)
    plans = [lab.plan_request(len(lab.marks), each.ref, (*task.options.knobs, *each.knobs)) for each in task.policies]
    contexts = [plan_context(run.policy, plan) for run, plan in zip(source_run.runs, plans, strict=True)]
    scores = [each.all for each in judge_by_rule(base, contexts, wanted)]
    shares = [
        None if each.mean is None else JudgedShare(each.probes, each.mean, each.low, each.high) for each in scores
    ]
    runs = [replace(run, judged=share) for run, share in zip(source_run.runs, shares, strict=True)]
    return source_run._replace(runs=tuple(runs))
