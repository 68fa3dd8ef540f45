"""The lab: many transcripts in one process, in two, and on Dask.

Several processes are as quick as the busiest of them: its processor's time counts, so that a busy machine does not
decide, or half of all that is spent, where that is more. What it takes to start them is a row of its own. The yardstick
is how much two processes gain that share nothing: on two threads of one core that is less than twice.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import psutil

from bench.harness import Rounds, Row, Scale, Target, Yardstick, absolute, beside, rounds, wall
from bench.labs import made_events
from bench.pace import end_samples, sample_anew, sampling_processes
from workbench.lab.running.tasks import LabPolicy, LabTask, all_policies
from workbench.lab.running.workers import LabWorkers
from workbench.log.codec import encode_event

CHARACTERS = 20_000
"""Of one transcript."""
FIRST = 8
"""Transcripts that are replayed before, so that all processes have loaded what they need."""
DATA = "WORKBENCH_DATA_DIR"
SCALING = 0.85
"""Of what two spinning processes gain."""
SPIN = "import time; sum(range(6_000_000)); print(time.process_time())"


def _spun(processes: int) -> float:
    """The processor's time of the busiest of so many processes that do the same at once."""
    command = [sys.executable, "-c", SPIN]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return max(float(each.communicate()[0]) for each in running)


SPINNING = Yardstick("two spinning processes", lambda: 2 * _spun(1) / _spun(2), waits=True)
"""For what several processes gain."""


def _replayed(tasks: list[LabTask], started: list[float], jobs: int, cluster: str = "") -> float:
    """How long the tasks behind the first ones take; every count is made anew."""
    before = os.environ.get(DATA)
    with TemporaryDirectory() as folder:
        os.environ[DATA] = folder
        try:
            began = wall()
            with LabWorkers(jobs, cluster) as workers:
                _done(workers, tasks[:FIRST])
                started.append(wall() - began)
                sample_anew()
                spent = _spent()
                _done(workers, tasks[FIRST:])
                end_samples()
                each = [now - spent.get(process, 0.0) for process, now in _spent().items()]
                return max(*each, sum(each) / jobs) if jobs > 1 else sum(each)
        finally:
            if before is None:
                del os.environ[DATA]
            else:
                os.environ[DATA] = before


def _done(workers: LabWorkers, tasks: list[LabTask]) -> None:
    errors = [outcome.error for outcome in workers.run_tasks(tasks) if outcome.error]
    assert not errors, errors[0]


def _spent() -> dict[int, float]:
    """The processor's time of this process and all that it has started for the work."""
    here, samplers = psutil.Process(), sampling_processes()
    found = (each for each in (here, *here.children(recursive=True)) if each.pid not in samplers)
    return {each.pid: sum(each.cpu_times()[:2]) for each in found}


def run(scale: Scale) -> Iterator[Row]:
    """The same transcripts in three ways, in turns."""
    starts: dict[str, list[float]] = {"one": [], "two": [], "dask": []}
    with TemporaryDirectory() as folder:
        tasks = []
        for number in range(scale.transcripts + FIRST):
            path = Path(folder) / f"{number}.jsonl"
            path.write_text("\n".join(map(encode_event, made_events(CHARACTERS, number))), "utf-8")
            tasks.append(LabTask(str(path), tuple(map(LabPolicy, all_policies()))))
        works = {
            "one": partial(_replayed, tasks, starts["one"], 1),
            "two": partial(_replayed, tasks, starts["two"], 2),
            "dask": partial(_replayed, tasks, starts["dask"], 2, "local"),
        }
        found = rounds(
            works,
            scale.slow_repeats,
            gc_on=True,
            warm_up=False,
            yardstick=SPINNING,
            waits=["one"],  # what two gain is held against the yardstick, which shares the processors in the same way
            parallel=["two", "dask"],
        )
        name = f"{scale.transcripts} transcripts"
        yield found.until_sure(partial(_gained, f"{name}, gained by two processes", found))
        yield beside(f"{name}, Dask on two processes", found, "dask", "two", "two processes", at_most=1.3)
        yield absolute("two processes, until they are ready", median(starts["two"]))
        yield absolute("Dask on two processes, until they are ready", median(starts["dask"]))


def _gained(name: str, found: Rounds) -> Row:
    """How much faster two processes are, as a share of what is possible."""
    gained, possible = found.ratio("one", "two"), found[SPINNING.name]
    low, high = found.middle("one", "two")
    middle, moved = (low / possible, high / possible), found.moved(SPINNING.name)
    return Row(
        name,
        gained,
        "times",
        possible,
        SPINNING.name,
        gained / possible,
        Target("at least", SCALING),
        moved,
        middle,
        found.few,
    )
