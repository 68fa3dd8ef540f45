"""`workbench lab`: whole sessions under every policy: tokens, cost, and what the model would have missed.

`lab --json` prints

    {"sources": [{"source", "model", "requests", "policies": [{"policy", "requests", "tokens", "peak", "overflows",
                  "compactions", "lost", "cut", "masked", "dropped", "misses", "missed_requests",
                  "misses_per_100", "missed_in_100", "reread_tokens", "reread_cost",
                  "cache_read", "cache_written", "cost", "invalid", "window",
                  "missed": [{"kind", "fact", "used", "held", "request"}],
                  "compacted": [{"request", "tokens_before", "tokens_after", "lost", "cost", "made_by", "problem"}],
                  "points": [{"request", "event", "tokens", "fits", "cache_read", "cache_written", "misses"}]}],
                  "waste": {"tokens", "carried", "cost", "kinds": [...], "tools": [...], "items": [...]}}],
     "policies": [...],
     "waste": {...},
     "failed": [{"source", "error"}]}

where the last `policies` and `waste` have the same figures summed over all sources, `cost` is in dollars and null where
no price is known, and a miss is a fact that the answer `used` (an event) and that only events which the policy had
taken away `held` (the last of them). `waste` is as `waste --json` has it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from workbench.cli.options import options_of
from workbench.cli.summaries import with_model_summaries
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.output_files import STANDARD
from workbench.config.text import counted, line_width, print_streamed_json, printable
from workbench.config.values import replace
from workbench.context.policy_names import RECORDED
from workbench.lab.pages import lab_page
from workbench.lab.parquet import write_parquet
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.reports import lab_csv, report_lines, streamed_lab_json
from workbench.lab.result_files import ResultFile
from workbench.lab.running.corpus import find_corpus
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.progress import ProgressLine, status_line
from workbench.lab.running.source_reader import SourceReader
from workbench.lab.running.tasks import LabPolicy, LabTask, TaskOutcome, all_policies
from workbench.lab.running.workers import run_all
from workbench.lab.values import SourceRun
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.views.judged_policies import judge_policies

_NAMED = 3
"""How many of the files that are no transcripts are named."""


def run_lab(options: argparse.Namespace) -> int:
    """Replay every source under every policy, and print or write the results."""
    kinds = {"csv": options.csv, "html": options.html, "parquet": options.parquet}
    file = next((ResultFile(kind, name) for kind, name in kinds.items() if name is not None), None)
    if file is not None:
        file.check_writable()
    failed: list[tuple[str, str]] = []
    with Services() as services:
        policies = named_policies(options.policies or all_policies(), options_of(options), services)
        is_streamed = options.json or options.csv == STANDARD
        outcomes = replay_corpus(options, options_of(options), policies, services, is_streamed=is_streamed)
        if options.summarise:
            outcomes = with_model_summaries(list(outcomes), options, services)
        if options.judge:
            outcomes = with_judgements(outcomes, options.judge, services)
        found = _runs_of(outcomes, failed)
        first = list(islice(found, 1))  # before anything is written: the call may be wrong
        _write_results(chain(first, found), failed, file, is_json=options.json)
    return 1 if failed and not first else 0


def _runs_of(outcomes: Iterable[TaskOutcome], failed: list[tuple[str, str]]) -> Iterator[SourceRun]:
    """The sessions, each as it comes. What failed is added to the list."""
    for outcome in outcomes:
        if outcome.error and not outcome.is_other:
            failed.append((outcome.task.source, outcome.error))
        yield from outcome.runs


def _write_results(
    found: Iterator[SourceRun], failed: Sequence[tuple[str, str]], file: ResultFile | None, *, is_json: bool
) -> None:
    if is_json:
        print_streamed_json(streamed_lab_json(found, failed))
    elif file is None:
        print("\n".join(report_lines(found, line_width())))
    else:
        with file.open_result() as target:
            if file.kind == "parquet":
                write_parquet(found, target)
            else:
                for text in [lab_page(found, failed)] if file.kind == "html" else lab_csv(found):
                    target.write(text.encode("utf-8", "replace"))  # the name of a file need not be text


def named_policies(refs: Sequence[str], asked: Options, services: Services) -> tuple[LabPolicy, ...]:
    """The policies without duplicates; files with the same name are called by their paths. A mistake in the call is
    raised here once, and not for every source."""
    names: dict[str, str] = {}
    for ref in refs:
        setup = services.set_up(replace(asked, policy=ref, knobs=() if ref == RECORDED else asked.knobs))
        names[ref] = setup.loaded.policy.name
    many = Counter(names.values())
    return tuple(LabPolicy(ref, name=ref if many[name] > 1 else "") for ref, name in names.items())


def replay_corpus(
    options: argparse.Namespace,
    asked: Options,
    policies: tuple[LabPolicy, ...],
    services: Services,
    *,
    is_streamed: bool = False,
) -> Iterable[TaskOutcome]:
    """The outcome of every source that the command names, as they come. What cannot be read is named on standard error,
    or raises WrongCall if it is the only source. `is_streamed`: each is printed before the next one comes."""
    with status_line("looking for transcripts…"):
        entries = find_corpus(options.sources, services)
    made = LabTask("", policies, asked, waste=True)
    closed = [TaskOutcome(made._replace(source=each.ref), error=each.error) for each in entries if each.error]
    tasks = [made._replace(source=each.ref, is_guess=each.is_guess) for each in entries if not each.error]
    others: list[str] = []
    progress = ProgressLine(tasks, services.source_bytes, is_hidden=is_streamed and sys.stdout.isatty())
    with KeptRuns(services, fresh=options.fresh) as kept, progress as line:
        replays = run_all(tasks, jobs=options.jobs, cluster=options.cluster, progress=line.show_outcome, kept=kept)
        for outcome in chain(closed, replays):
            if outcome.is_other:
                others.append(outcome.task.source)
            elif outcome.error:
                if len(entries) == 1:
                    raise WrongCall(outcome.error)
                line.print_line(f"· left out: {outcome.error}")
            yield outcome
        if others:
            more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
            named = f"{', '.join(others[:_NAMED])}{more}"
            line.print_line(f"· {counted(len(others), 'file')} in the folders: no transcript ({named})")
        if line.kept and len(tasks) > 1:
            line.print_line(
                f"· {counted(line.kept, 'source')} of {len(tasks):,} kept from before; --fresh replays them"
            )
    if len(entries) == len(others):
        raise WrongCall(f"{' '.join(options.sources)}: no transcript found")


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
