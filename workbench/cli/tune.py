"""`workbench tune`: the knobs that do best on your sessions, found by search and tried on sessions that it never saw.

`tune --json` prints

    {"objective", "seed", "base", "tried", "training": {"sources", "requests"}, "held_out": {"sources", "requests"},
     "front": {"spent", "policies": [{"policy", "set", "preset", "best", "value", "figures"}]},
     "presets": [...], "best": {..., "extends", "knobs"},
     "compared": [{"policy", "training", "held_out"}], "verdict", "interrupted", "file", "written",
     "failed": [{"source", "error"}]}

where `figures`, `training` and `held_out` under `compared` are the figures of `lab --json`, `spent` is what the front
sets against misses (`cost`, or `tokens` where no price is known), and `file` is the text of the policy file.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

from workbench.cli.options import options_of
from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.config.output_files import STANDARD, OutputFile
from workbench.config.text import counted, line_width, print_json, printable
from workbench.context.load import DEFAULT, PRESETS, RECORDED, describe_policy, load_policy
from workbench.lab.corpus import corpus
from workbench.lab.kept import KeptRuns
from workbench.lab.knob_ranges import ranges
from workbench.lab.objective import DEFAULT_OBJECTIVE, Objective, parse_objective
from workbench.lab.progress import ProgressLine
from workbench.lab.running import LabWorkers, cores
from workbench.lab.search import AT_ONCE, Figures, KnobSearch, Tried, best, optuna_is_there
from workbench.lab.tasks import LabTask
from workbench.lab.tuning import PRESET_POLICIES, TuneCorpus, TuneParts, TuneResult, TuneSession, result, split
from workbench.lab.tuning_report import TuningReport
from workbench.sources.services import Services


def run(options: argparse.Namespace) -> int:
    """Search, tell what was found, and write it."""
    optuna_is_there()
    objective = parse_objective(DEFAULT_OBJECTIVE if options.objective is None else options.objective)
    if not 0 <= options.hold_out < 1:
        raise WrongCall(f"--hold-out: expected a share from 0 to below 1, got {options.hold_out:g}")
    output = _writable(options.output, force=options.force)
    with Services() as services, KeptRuns(services, fresh=options.fresh) as kept:
        tuning = _Tuning(options, objective, services, kept)
        found = tuning.found()
    report = TuningReport(found, objective, tuning.base, options.seed, options_of(options))
    text = report.policy(date.today())
    unwritten = ""
    if output is not None:
        try:
            with output.writing() as file:
                file.write(text.encode())
        except WorkbenchError as error:  # what was found is printed instead
            unwritten, output = str(error), None
    if options.json:
        more = {"interrupted": tuning.is_interrupted, "file": text, "written": output.name if output else None}
        failed = [{"source": name, "error": error} for name, error in tuning.corpus.failed]
        print_json(report.as_json() | more | {"failed": failed})
    else:
        told = f"Written: {printable(output.name)}" if output else text.rstrip("\n")
        print("\n".join([*report.lines(line_width()), "", told]))
    if unwritten:
        raise WorkbenchError(unwritten)
    return 130 if tuning.is_interrupted else 0


def _writable(output: str | None, *, force: bool) -> OutputFile | None:
    """Where the result goes, checked before time is spent on it; None: it is printed."""
    if output is None or output == STANDARD:
        return None
    file = OutputFile(os.path.expanduser(output), "--output")
    if Path(file.name).stem in PRESETS:
        raise WrongCall(f"--output {output}: has the name of a preset; expected another file name")
    file.check()
    if os.path.lexists(file.name) and not file.is_stream and not force:
        raise Refused(f"{output}: already exists; --force writes over it")
    return file


class _Tuning:
    """One call of the command."""

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
        self._ranges = ranges(options.knob or (), has.get, fixed)
        self._tasks = [
            LabTask(each.ref, (), asked, is_guess=each.is_guess) for each in corpus(options.sources, services)
        ]
        self.corpus = TuneCorpus(self._tasks, kept)
        self.is_interrupted = self._gave_up = False

    def found(self) -> TuneResult:
        """The best there is, or was when ctrl+c was pressed."""
        with self._workers() as workers:
            with ProgressLine(self._tasks, self._weigh) as line:
                sessions = self._usable(self.corpus.read(workers, self.base, line.tell), line)
                parts = split(sessions, self._options.hold_out)
                if not parts.held_out:
                    why = "one session cannot be split" if len(sessions) == 1 else "as you wish"
                    line.say(f"· nothing is held out ({why}): how good the result is elsewhere will not be known")
            tried = self._searched(workers, parts)
            held_out = None if self.is_interrupted else self._on_held_out(workers, parts, tried)
        if self.is_interrupted and held_out is None:  # by new workers: those before may be at what was given up
            with self._workers() as workers:
                held_out = self._on_held_out(workers, parts, tried)
        if held_out is None:
            parts = replace(parts, held_out=())
        return result(tried, self.base, self._fixed, parts, held_out)

    def _workers(self) -> LabWorkers:
        jobs = min(self._options.jobs or cores(), len(self._tasks) or 1)
        return LabWorkers(jobs, self._options.cluster, again=self._options.budget)

    def _on_held_out(self, workers: LabWorkers, parts: TuneParts, tried: list[Tried]) -> Figures | None:
        """None where nothing was held out, or who waits for it waits no longer."""
        if not parts.held_out or self._gave_up:
            return None
        try:
            return self.corpus.measure(workers, parts.held_out, [best(tried).policy])[0]
        except KeyboardInterrupt:
            self.is_interrupted = self._gave_up = True
            print("\r· interrupted: it was not tried on the sessions that it never saw", file=sys.stderr)
            return None

    def _searched(self, workers: LabWorkers, parts: TuneParts) -> list[Tried]:
        batches = max(0, self._options.budget - len(PRESET_POLICIES)) // AT_ONCE + 1
        expected = self.corpus.tasks_of(parts.training) * batches
        tried: list[Tried] = []
        with ProgressLine(expected, self._weigh, thing="replay") as line:
            search = KnobSearch(
                self.base,
                self._fixed,
                self._ranges,
                self._objective,
                lambda policies: self.corpus.measure(workers, parts.training, policies, line.tell),
                presets=PRESET_POLICIES,
                budget=self._options.budget,
                seed=self._options.seed,
            )
            try:
                for each in search.run():
                    tried.append(each)
                    line.note = f", {len(tried)} policies tried, the best has {best(tried).value:,.6g}"
            except KeyboardInterrupt:
                if not tried:
                    raise
                self.is_interrupted = True
                line.say(f"· interrupted: the best of the {len(tried)} policies that were tried is what follows")
        return tried

    def _usable(self, sessions: list[TuneSession], line: ProgressLine) -> list[TuneSession]:
        """Those with a price, where the objective needs one; what is left out is named."""
        for _, error in self.corpus.failed:
            line.say(f"· left out: {error}")
        if self.corpus.others:
            line.say(f"· {counted(self.corpus.others, 'file', 'files')} in the folders: no transcript")
        if not sessions:
            raise WrongCall(f"{' '.join(self._options.sources)}: no session with a request found")
        if "cost" not in self._objective.names:
            return sessions
        priced = [each for each in sessions if all(row["cost"] is not None for row in each.by_policy.values())]
        without = [each for each in sessions if each not in priced]
        models = ", ".join(sorted({each.model or "no model named" for each in without}))
        hint = "--model NAME counts and prices all as that model's; or name tokens in --objective, not cost"
        if not priced:
            raise WrongCall(f"--objective: no price is known for these sessions ({models}); {hint}")
        if without:
            told = counted(len(without), "session")
            line.say(f"· left out: {told} without a known price ({models}); {hint}")
        return priced
