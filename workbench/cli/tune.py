"""`workbench tune`: search for the best knobs for your sessions, and measure them on sessions that were held out.

`tune --json` prints

    {"objective", "weigh", "seed", "base", "tried",
     "training": {"sources", "requests"}, "held_out": {"sources", "requests"},
     "front": {"spent", "missed", "policies": [{"policy", "set", "preset", "best", "value", "figures"}]},
     "presets": [...], "best": {..., "extends", "knobs"},
     "compared": [{"policy", "training", "held_out"}], "verdict", "sessions": {"better", "worse", "same"},
     "interval": {"sessions", "objective": {"value", "low", "high", "may_be_none"}, "missed_in_100": {...}},
     "seeds": {"searches": [{"seed", "policy", "set"}], "same_policy", "same_knobs"},
     "interrupted", "file", "written",
     "failed": [{"source", "error"}]}

where `figures`, `training` and `held_out` under `compared` are the figures of `lab --json`, `spent` is what the front
sets against misses (`cost`, or `tokens` where no price is known), and `file` is the text of the policy file.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from workbench.cli.options import options_of
from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.config.output_files import STANDARD, OutputFile
from workbench.config.system import usable_cores
from workbench.config.text import counted, line_width, print_json, printable
from workbench.config.values import replace
from workbench.context.load import describe_policy, load_policy
from workbench.context.policy_names import DEFAULT, PRESETS, RECORDED
from workbench.lab.running.corpus import find_corpus
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.progress import ProgressLine
from workbench.lab.running.tasks import LabPolicy, LabTask
from workbench.lab.running.workers import LabWorkers
from workbench.lab.tuning.knob_ranges import search_ranges
from workbench.lab.tuning.objective import DEFAULT_OBJECTIVE, LIMIT, Objective, parse_objective
from workbench.lab.tuning.report import TuningReport
from workbench.lab.tuning.scoring import Figures, PolicyScore, SessionScoring
from workbench.lab.tuning.search import AT_ONCE, KnobSearch, Measure, TriedPolicy, best_tried, require_optuna
from workbench.lab.tuning.tune_corpus import (
    PRESET_POLICIES,
    SearchEnd,
    TuneCorpus,
    TuneParts,
    TuneResult,
    TuneSession,
    part_scorings,
    split_sessions,
    tune_result,
)
from workbench.sources.services import Services


def run_tune(options: argparse.Namespace) -> int:
    """Search, print the result, and write it."""
    require_optuna()
    objective = parse_objective(DEFAULT_OBJECTIVE if options.objective is None else options.objective)
    if not 0 <= options.hold_out < 1:
        raise WrongCall(f"--hold-out: expected a share from 0 to below 1, got {options.hold_out:g}")
    output = _writable(options.output, force=options.force)
    with Services() as services, KeptRuns(services, fresh=options.fresh) as kept:
        tuning = _TuneRun(options, objective, services, kept)
        found = tuning.found()
    report = TuningReport(found, objective, tuning.base, options.seed, options_of(options))
    text = report.policy_file(date.today())
    unwritten = ""
    if output is not None:
        try:
            with output.writing() as file:
                file.write(text.encode())
        except WorkbenchError as error:  # the result is printed instead
            unwritten, output = str(error), None
    if options.json:
        more = {"interrupted": tuning.is_interrupted, "file": text, "written": output.name if output else None}
        failed = [{"source": name, "error": error} for name, error in tuning.corpus.failed]
        print_json(report.tuning_json() | more | {"failed": failed})
    else:
        ending = f"Written: {printable(output.name)}" if output else text.rstrip("\n")
        print("\n".join([*report.tuning_lines(line_width()), "", ending]))
    if unwritten:
        raise WorkbenchError(unwritten)
    return 130 if tuning.is_interrupted else 0


def _writable(output: str | None, *, force: bool) -> OutputFile | None:
    """The file for the result, checked before the search starts; None: the result is printed."""
    if output is None or output == STANDARD:
        return None
    file = OutputFile(os.path.expanduser(output), "--output")
    if Path(file.name).stem in PRESETS:
        raise WrongCall(f"--output {output}: has the name of a preset; expected another file name")
    file.check_writable()
    if os.path.lexists(file.name) and not file.is_stream and not force:
        raise Refused(f"{output}: already exists; --force writes over it")
    return file


class _TuneRun:
    def __init__(self, options: argparse.Namespace, objective: Objective, services: Services, kept: KeptRuns) -> None:
        self._options = options
        self._objective = objective
        self._weigh = services.source_bytes
        asked = options_of(options)
        self._fixed = asked.knobs
        self.base = options.policy or DEFAULT
        if self.base == RECORDED:
            raise WrongCall(f"--policy {RECORDED}: is what was sent; expected a policy to begin from")
        has = {row.name: row.value for row in describe_policy(load_policy(self.base, sets=self._fixed))}
        fixed = [each.partition("=")[0].strip() for each in self._fixed]
        self._ranges = search_ranges(options.knob or (), has.get, fixed)
        entries = find_corpus(options.sources, services)
        self._tasks = [LabTask(each.ref, (), asked, is_guess=each.is_guess) for each in entries if not each.error]
        self.corpus = TuneCorpus(self._tasks, kept)
        self.corpus.failed += [(each.ref, each.error) for each in entries if each.error]
        self.is_interrupted = self._gave_up = False
        self._ends: list[SearchEnd] = []

    def found(self) -> TuneResult:
        """The best policy, or the best so far if Ctrl+C was pressed."""
        with self._workers() as workers:
            with ProgressLine(self._tasks, self._weigh) as line:
                sessions = self._usable(self.corpus.read_sessions(workers, self.base, line.show_outcome), line)
                parts = split_sessions(sessions, self._options.hold_out)
                if not parts.held_out:
                    why = "one session cannot be split" if len(sessions) == 1 else "as you wish"
                    line.print_line(
                        f"· nothing is held out ({why}): how good the result is elsewhere will not be known"
                    )
            alike = self._options.weigh == "sessions"
            scorings = part_scorings(parts, self._objective, self.base, is_alike=alike)
            tried = self._searched(workers, parts, scorings.training)
            held_out = () if self.is_interrupted else self._on_held_out(workers, parts, tried)
        if self.is_interrupted and not held_out:  # with new workers: the old ones may still be busy
            with self._workers() as workers:
                held_out = self._on_held_out(workers, parts, tried)
        if not held_out:
            parts = replace(parts, held_out=())
        return tune_result(tried, self.base, self._fixed, parts, scorings, held_out, self._ends)

    def _workers(self) -> LabWorkers:
        jobs = min(self._options.jobs or usable_cores(), len(self._tasks) or 1)
        return LabWorkers(jobs, self._options.cluster, more_rounds=self._options.budget * self._options.seeds)

    def _on_held_out(self, workers: LabWorkers, parts: TuneParts, tried: list[TriedPolicy]) -> Sequence[Figures]:
        """Measure the best policy on each held-out session; empty if there are none, or if the user interrupts."""
        if not parts.held_out or self._gave_up:
            return ()
        best = best_tried(tried).policy
        try:
            return self.corpus.measure_sessions(workers, parts.held_out, [best])[best]
        except KeyboardInterrupt:
            self.is_interrupted = self._gave_up = True
            print("\r· interrupted: it was not tried on the sessions that it never saw", file=sys.stderr)
            return ()

    def _searched(self, workers: LabWorkers, parts: TuneParts, scoring: SessionScoring) -> list[TriedPolicy]:
        """Search with each seed. What one search has measured, the next one knows."""
        batches = max(0, self._options.budget - len(PRESET_POLICIES)) // AT_ONCE + 1
        expected = self.corpus.tasks_of(parts.training) * batches * self._options.seeds
        tried: dict[LabPolicy, TriedPolicy] = {}
        known: dict[LabPolicy, PolicyScore] = {}
        with ProgressLine(expected, self._weigh, thing="replay") as line:

            def measure(policies: Sequence[LabPolicy]) -> list[PolicyScore]:
                rows = self.corpus.measure_sessions(workers, parts.training, policies, line.show_outcome)
                return [scoring.score(rows[each]) for each in policies]

            try:
                for seed in range(self._options.seed, self._options.seed + self._options.seeds):
                    own = []
                    for each in self._search(measure, seed, known).try_policies():
                        own.append(each)
                        tried.setdefault(each.policy, each)
                        best = best_tried(list(tried.values()))
                        line.note = f", {len(tried)} policies tried, the best has {best.value:,.6g}"
                    self._ends.append(SearchEnd(seed, best_tried(own)))
            except KeyboardInterrupt:
                if not tried:
                    raise
                self.is_interrupted = True
                line.print_line(f"· interrupted: the best of the {len(tried)} policies that were tried is what follows")
        return list(tried.values())

    def _search(self, measure: Measure, seed: int, known: dict[LabPolicy, PolicyScore]) -> KnobSearch:
        return KnobSearch(
            self.base,
            self._fixed,
            self._ranges,
            measure,
            presets=PRESET_POLICIES,
            budget=self._options.budget,
            seed=seed,
            known=known,
        )

    def _usable(self, sessions: list[TuneSession], line: ProgressLine) -> list[TuneSession]:
        """The sessions with a price, if the objective needs one. Prints which are left out."""
        for _, error in self.corpus.failed:
            line.print_line(f"· left out: {error}")
        if self.corpus.not_transcripts:
            line.print_line(f"· {counted(self.corpus.not_transcripts, 'file', 'files')} in the folders: no transcript")
        if not sessions:
            raise WrongCall(f"{' '.join(self._options.sources)}: no session with a request found")
        if "cost" not in self._objective.names:
            return sessions
        priced = [each for each in sessions if all(row["cost"] is not None for row in each.by_policy.values())]
        without = [each for each in sessions if each not in priced]
        models = ", ".join(sorted({each.model or "no model named" for each in without}))
        hint = f"--model NAME counts and prices all as that model's; or --objective 'tokens{LIMIT}'"
        if not priced:
            raise WrongCall(f"--objective: no price is known for these sessions ({models}); {hint}")
        if without:
            count = counted(len(without), "session")
            line.print_line(f"· left out: {count} without a known price ({models}); {hint}")
        return priced
