"""Replays many sources, on all cores of this machine or on a Dask cluster. Everything that the lab replays goes through
`LabWorkers.run_tasks`, and comes back in the order of the tasks.

A source that cannot be read is an outcome like any other. If a process dies, its source is tried once more in a new
process; if that dies as well, the outcome is an error. Other sources are not affected.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from typing import Any, Protocol, Self, TypeVar
from uuid import uuid4

from workbench.config.errors import WorkbenchError
from workbench.config.optional_packages import is_installed
from workbench.config.system import usable_cores
from workbench.config.values import replace
from workbench.lab.running.code_stamp import StrangeWorker
from workbench.lab.running.fetching import LOCAL, NONE
from workbench.lab.running.kept_runs import KeptRuns, KnownTask
from workbench.lab.running.processes import ProcessDied, ProcessWorkers
from workbench.lab.running.source_reader import SourceReader, memory_share
from workbench.lab.running.tasks import LabPolicy, LabTask, TaskOutcome, portable_policies, run_task
from workbench.sources.services import Services
from workbench.traces.formats import UnknownFormat

Progress = Callable[[TaskOutcome], object]
"""Called with each outcome as it comes, in any order."""
T = TypeVar("T")
_AHEAD = 1_024
"""How many tasks a cluster gets at a time: enough for all its workers."""
_WAITING = 1_000
"""Outcomes that may wait for an earlier task. If there are more, no new task is begun, so that memory stays bounded."""
SECONDS_PER_BYTE = 1e-7
"""A low estimate of how long a replay takes per byte of the source."""
DASK_START_SECONDS = 1.5
"""How many seconds longer Dask takes to start."""
DASK_WORTH_STARTS = 10
"""Dask is used for work that takes this many times as long as its start."""


class LabWorkers:
    """The workers: this process, several processes of this machine, or a cluster. They stay for many runs."""

    def __init__(self, jobs: int = 0, cluster: str = "", *, more_rounds: int = 0) -> None:
        """`jobs`: processes on this machine; 0: one per core; 1: only this process. `cluster`: the address of a Dask
        scheduler, `local` for Dask on this machine, `none` for processes without Dask; empty: chosen by how much work
        is left. `more_rounds`: how many more policies will come for the same sources. If any, each worker keeps the
        sources that it has read, and gets the same ones again if possible."""
        self._jobs = jobs or usable_cores()
        self._more_rounds = more_rounds
        self._run = uuid4().hex if more_rounds else ""
        self._ahead = 1
        """How many tasks are given out before the first one is finished."""
        self.is_dask = False
        self._policies: dict[tuple[tuple[LabPolicy, ...], tuple[str, ...]], tuple[LabPolicy, ...]] = {}
        self._executor: _Workers | None = self._start_workers(cluster) if cluster else None

    def _start_workers(self, cluster: str) -> _Workers:
        if cluster != NONE:
            from workbench.lab.running.clusters import DaskWorkers  # late: its packages are an extra

            self._ahead, self.is_dask = _AHEAD, True
            return DaskWorkers(cluster, self._jobs)
        self._ahead = 4 * self._jobs if self._jobs > 1 else 1
        return ProcessWorkers(self._jobs) if self._jobs > 1 else _ThisProcess()

    def _best_cluster(self, tasks: Sequence[LabTask], kept: KeptRuns | None) -> str:
        """Dask on this machine, if it is installed and there is enough work for its slower start."""
        if kept is None or self._jobs == 1 or not (is_installed("distributed") and is_installed("cryptography")):
            return NONE
        seconds = 0.0
        for task in tasks:
            seconds += kept.work_left(task, self._more_rounds) * SECONDS_PER_BYTE / self._jobs
            if seconds >= DASK_WORTH_STARTS * DASK_START_SECONDS:
                return LOCAL
        return NONE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Does not wait for tasks that are still running."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def run_tasks(
        self, tasks: Sequence[LabTask], progress: Progress | None = None, kept: KeptRuns | None = None
    ) -> Iterator[TaskOutcome]:
        """The outcome of each task, in their order. Runs in `kept` are not replayed again."""
        finished: SimpleQueue[int] = SimpleQueue()
        running: dict[int, tuple[KnownTask, Future[TaskOutcome] | None]] = {}
        outcomes: dict[int, TaskOutcome] = {}
        coming = iter(enumerate(tasks))
        for at in range(len(tasks)):
            while at not in outcomes:
                free = min(self._ahead - len(running), _WAITING - len(outcomes))
                for number, task in islice(coming, max(0, free)):
                    known = kept.find_known(task) if kept is not None else KnownTask(task)
                    if self._executor is None and known.rest is not None:
                        self._executor = self._start_workers(self._best_cluster(tasks[number:], kept))
                    running[number] = known, self._submit(number, known.rest, finished)
                done = finished.get()
                outcomes[done] = _outcome(*running.pop(done), kept)
                if progress is not None:
                    progress(outcomes[done])
            yield outcomes.pop(at)

    def _submit(self, number: int, task: LabTask | None, finished: SimpleQueue[int]) -> Future[TaskOutcome] | None:
        if task is None or self._executor is None:
            finished.put(number)
            return None
        made = self._portable(task) if self.is_dask else task
        future = self._executor.submit_near(task.source, attempt_task, made, self._run)
        future.add_done_callback(lambda _: finished.put(number))
        return future

    def _portable(self, task: LabTask) -> LabTask:
        """The same task for another machine. Most tasks share their policies, so these are converted once."""
        knobs = task.options.knobs
        policies = self._policies.get((task.policies, knobs))
        if policies is None:
            policies = self._policies[task.policies, knobs] = portable_policies(task.policies, knobs)
        return task._replace(policies=policies, options=replace(task.options, knobs=()), folder=os.getcwd())


def run_all(
    tasks: Sequence[LabTask],
    *,
    jobs: int = 0,
    cluster: str = "",
    progress: Progress | None = None,
    kept: KeptRuns | None = None,
) -> Iterator[TaskOutcome]:
    """Run these tasks with workers of their own."""
    with LabWorkers(min(jobs or usable_cores(), len(tasks) or 1), cluster) as workers:
        yield from workers.run_tasks(tasks, progress, kept)


class _Workers(Protocol):
    def submit_near(self, near: str, function: Callable[..., TaskOutcome], /, *args: Any) -> Future[TaskOutcome]: ...

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None: ...


class _ThisProcess:
    """Runs each function at once in this process."""

    def submit_near(self, near: str, function: Callable[..., T], /, *args: Any) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(function(*args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with suppress(AttributeError):  # no task was run
            _mine.reader.close()
            del _mine.reader


def _outcome(known: KnownTask, future: Future[TaskOutcome] | None, kept: KeptRuns | None) -> TaskOutcome:
    task = known.task
    if future is None:
        return TaskOutcome(task, known.merged(()), is_kept=True)
    try:
        outcome = future.result()
    except StrangeWorker:
        raise
    except ProcessDied:
        return TaskOutcome(task, error=f"{task.source}: the process that replayed it died")
    except CancelledError:
        raise WorkbenchError("the connection to the cluster is lost") from None
    except Exception as error:  # from Dask: it killed every worker, or the answer is invalid
        return TaskOutcome(task, error=f"{task.source}: {error}")
    wanted = len(known.rest.policies) if known.rest is not None else 0
    if any(len(run.runs) != wanted for run in outcome.runs):
        return TaskOutcome(task, error=f"{task.source}: the results that came back are for other policies")
    if kept is not None and outcome.runs:
        kept.keep_runs(known, outcome.runs)
    return outcome._replace(task=task, runs=known.merged(outcome.runs) if outcome.runs else ())


_mine = threading.local()
"""The reader of each worker's thread: connections of SQLite cannot be shared, and are too slow to open per task."""


def attempt_task(task: LabTask, run: str = "") -> TaskOutcome:
    """Replay a source in this process. Errors become part of the outcome. `run`: an id, if its sources come again."""
    reader: SourceReader | None = getattr(_mine, "reader", None)
    if reader is None:
        reader = _mine.reader = SourceReader(Services(), memory_share(usable_cores()))
    try:
        return TaskOutcome(task, run_task(task, reader.read_sources(task, run)))
    except UnknownFormat as error:
        return TaskOutcome(task, error=str(error), is_other=task.is_guess)
    except WorkbenchError as error:
        return TaskOutcome(task, error=str(error))
    except Exception as error:  # a bug in one replay must not stop the others
        return TaskOutcome(task, error=f"{task.source}: {type(error).__name__}: {error}")
