"""`workbench lab --summarise`: the compactions of a replay again, with summaries that a model writes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple

from workbench.cli.asking import NEEDS_YES, require_confirmation
from workbench.compaction.compactor import DIGEST
from workbench.config.text import counted
from workbench.context.policy_names import RECORDED
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.progress import ProgressLine
from workbench.lab.running.tasks import LabTask, TaskOutcome
from workbench.lab.running.workers import run_all
from workbench.lab.values import PolicyRun
from workbench.lab.waste.output import in_dollars
from workbench.models.catalogue import REHEARSAL
from workbench.sources.services import Services

_PATIENCE = 3
"""After this many failed replays in a row, the model is not asked again."""


class _Order(NamedTuple):
    """One source under one policy: the unit that is kept if the rest is interrupted."""

    outcome: int
    policy: int
    task: LabTask
    runs: tuple[PolicyRun, ...]
    """The runs with the digest, one for each conversation."""


def with_model_summaries(
    outcomes: Sequence[TaskOutcome], options: argparse.Namespace, services: Services
) -> list[TaskOutcome]:
    """The outcomes with the model's summaries in place of the digests. Raises Refused if the user declines the cost."""
    made = list(outcomes)
    orders = [order for at, outcome in enumerate(outcomes) for order in _orders(at, outcome)]
    tasks = [order.task for order in orders]
    if not orders:
        print("· no policy compacts here, so that there is nothing to summarise", file=sys.stderr)
        return made
    with KeptRuns(services, fresh=options.fresh) as kept:
        _agree([order for order in orders if kept.policies_left(order.task)], outcomes, options)
        with ProgressLine(tasks, services.source_bytes, thing="replay") as line:
            results = run_all(tasks, jobs=options.jobs, cluster=options.cluster, progress=line.show_outcome, kept=kept)
            failed = 0
            try:
                for order, outcome in zip(orders, results, strict=True):
                    made[order.outcome] = _with(made[order.outcome], order.policy, outcome)
                    failed = failed + 1 if _failed(outcome) else 0
                    if failed == _PATIENCE:
                        line.print_line(
                            f"· the model failed {failed} times in a row; the rest is summarised by the {DIGEST}"
                        )
                        break
            except KeyboardInterrupt:
                line.print_line(
                    "· interrupted: what the model has summarised is kept, and the same call goes on from there"
                )
                raise
    return made


def _orders(at: int, outcome: TaskOutcome) -> list[_Order]:
    found = []
    for number, policy in enumerate(outcome.task.policies):
        runs = tuple(source.runs[number] for source in outcome.runs)
        if policy.ref != RECORDED and any(run.compactions for run in runs):
            task = outcome.task._replace(policies=(policy,), waste=False, summarise=True)
            found.append(_Order(at, number, task, runs))
    return found


def _agree(orders: Sequence[_Order], outcomes: Sequence[TaskOutcome], options: argparse.Namespace) -> None:
    """Ask the user before models are used that cost something."""
    runs = [
        (source.model, run)
        for order in orders
        for source, run in zip(outcomes[order.outcome].runs, order.runs, strict=True)
        if run.compactions
    ]
    models = sorted({run.summariser or model for model, run in runs} - {""})
    if options.yes or all(model.partition("/")[0] == REHEARSAL for model in models):
        return
    costs = [each.cost for _, run in runs for each in run.compactions]
    known = [cost for cost in costs if cost is not None]
    price = f"may cost {in_dollars(sum(known), 'about {}')}" if len(known) == len(costs) else "have no known price"
    who = " and ".join(models) if len(models) <= 2 else f"{len(models)} models"
    question = f"{counted(len(costs), 'summary', 'summaries')} by {who} {price}. Go on?"
    require_confirmation(question, declined="nothing was sent", unasked=f"{question} {NEEDS_YES}")


def _with(outcome: TaskOutcome, policy: int, fresh: TaskOutcome) -> TaskOutcome:
    """The outcome with the runs of one policy replaced by those with summaries."""
    runs = tuple(
        source._replace(runs=(*source.runs[:policy], *new.runs, *source.runs[policy + 1 :]))
        for source, new in zip(outcome.runs, fresh.runs, strict=False)
    )
    return outcome._replace(runs=runs or outcome.runs)


def _failed(outcome: TaskOutcome) -> bool:
    """Whether the model wrote none of the summaries of a replay. Without any it did not fail."""
    made = [each for source in outcome.runs for run in source.runs for each in run.compactions]
    without = [each for each in made if each.made_by == DIGEST and each.problem]
    return bool(outcome.error) or 0 < len(made) == len(without)
