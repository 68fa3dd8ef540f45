"""`workbench lab --judge N`: what is still known at the end of a session under each policy, by the rules of `judge`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.running.progress import status_line
from workbench.lab.running.source_reader import SourceReader
from workbench.lab.running.tasks import LabTask, TaskOutcome
from workbench.lab.values import SourceRun
from workbench.sources.services import Services
from workbench.views.judged_policies import judge_policies


def with_judgements(outcomes: Iterable[TaskOutcome], wanted: int, services: Services) -> Iterator[TaskOutcome]:
    """The outcomes with a judgement of every run. No model is asked."""
    reader = SourceReader(services)
    for outcome in outcomes:
        runs = outcome.runs
        with status_line(f"judging {outcome.task.source}…"):
            try:
                labs = reader.read_sources(outcome.task) if runs else []
                pairs = zip(runs, labs, strict=True)
                runs = tuple(_judged(outcome.task, run, lab, wanted) for run, lab in pairs)
            except WorkbenchError as error:
                print(printable(f"· {outcome.task.source}: not judged: {error}"), file=sys.stderr)
        yield outcome._replace(runs=runs)


def _judged(task: LabTask, source_run: SourceRun, lab: LabSource, wanted: int) -> SourceRun:
    """The conversation with the share of each policy."""
    policies = [(each.ref, (*task.options.knobs, *each.knobs)) for each in task.policies]
    shares = judge_policies(lab, policies, wanted)
    runs = [replace(run, judged=share) for run, share in zip(source_run.runs, shares, strict=True)]
    return source_run._replace(runs=tuple(runs))
