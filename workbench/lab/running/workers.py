"""Many sources: all cores of this machine, or the machines of a Dask cluster. Everything that the lab replays runs
through `LabWorkers.run`, and comes back in the order in which it was asked for.

A source that cannot be read is an outcome like any other. A process that dies takes its source with it and no other: it
is tried once more in a new one, and then named.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from queue import SimpleQueue
from typing import Any, Protocol, Self, TypeVar
from uuid import uuid4

from workbench.config.errors import WorkbenchError
from workbench.lab.optional_packages import has_extra
from workbench.lab.running.fetching import LOCAL, NONE
from workbench.lab.running.kept_runs import KeptRuns, KnownTask
from workbench.lab.running.processes import ProcessDied, ProcessWorkers
from workbench.lab.running.source_reader import SourceReader, room
from workbench.lab.running.tasks import LabPolicy, LabTask, TaskOutcome, portable_policies, run_task
from workbench.sources.services import Services
from workbench.traces.formats import UnknownFormat

Progress = Callable[[TaskOutcome], object]
"""Told of each outcome as it comes, in any order."""
T = TypeVar("T")
_AHEAD = 1_024
"""Tasks that a cluster has at a time: more than it has workers."""
SECONDS = 1e-7
"""For a byte of a source under one policy, about: few are quicker."""
START = 1.5
"""Seconds that Dask takes longer to begin."""
WORTH = 10
"""Work that takes so many times as long is given to Dask."""


class LabWorkers:
    """Whoever does the work: this process, some of this machine, or a cluster. They stay for many runs."""

    def __init__(self, jobs: int = 0, cluster: str = "", *, again: int = 0) -> None:
        """`jobs`: processes on this machine, 0 for one per core, 1 for none but this. `cluster`: the address of a Dask
        scheduler, `local` for Dask on this machine, `none` for processes without it; empty: what suits the work that is
        left when there is some. `again`: so many more policies come for the same sources; each worker keeps what it has
        read, and gets them again where that can be."""
        self._jobs = jobs or cores()
        self._again = again
        self._run = uuid4().hex if again else ""
        self._ahead = 1
        """So many tasks are handed out before the first of them is back."""
        self.is_dask = False
        self._policies: dict[tuple[tuple[LabPolicy, ...], tuple[str, ...]], tuple[LabPolicy, ...]] = {}
        self._executor: _Workers | None = self._started(cluster) if cluster else None

    def _started(self, cluster: str) -> _Workers:
        if cluster != NONE:
            from workbench.lab.running.clusters import DaskWorkers  # late: its packages are an extra

            self._ahead, self.is_dask = _AHEAD, True
            return DaskWorkers(cluster, self._jobs)
        self._ahead = 4 * self._jobs if self._jobs > 1 else 1
        return ProcessWorkers(self._jobs) if self._jobs > 1 else _ThisProcess()

    def _suits(self, tasks: Sequence[LabTask], kept: KeptRuns | None) -> str:
        """Dask, where it is there and the time that it takes to begin does not matter."""
        if kept is None or self._jobs == 1 or not (has_extra("distributed") and has_extra("cryptography")):
            return NONE
        seconds = 0.0
        for task in tasks:
            seconds += kept.work_left(task, self._again) * SECONDS / self._jobs
            if seconds >= WORTH * START:
                return LOCAL
        return NONE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Whoever is still at work is not waited for."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def run(
        self, tasks: Sequence[LabTask], progress: Progress | None = None, kept: KeptRuns | None = None
    ) -> Iterator[TaskOutcome]:
        """What became of each task, in their order. What is `kept` from before is not done again."""
        finished: SimpleQueue[int] = SimpleQueue()
        running: dict[int, tuple[KnownTask, Future[TaskOutcome] | None]] = {}
        outcomes: dict[int, TaskOutcome] = {}
        coming = iter(enumerate(tasks))
        for at in range(len(tasks)):
            while at not in outcomes:
                for number, task in islice(coming, self._ahead - len(running)):
                    known = kept.look(task) if kept is not None else KnownTask(task)
                    if self._executor is None and known.rest is not None:
                        self._executor = self._started(self._suits(tasks[number:], kept))
                    running[number] = known, self._begun(number, known.rest, finished)
                done = finished.get()
                outcomes[done] = _outcome(*running.pop(done), kept)
                if progress is not None:
                    progress(outcomes[done])
            yield outcomes.pop(at)

    def _begun(self, number: int, task: LabTask | None, finished: SimpleQueue[int]) -> Future[TaskOutcome] | None:
        if task is None or self._executor is None:
            finished.put(number)
            return None
        made = self._portable(task) if self.is_dask else task
        future = self._executor.submit_near(task.source, attempt, made, self._run)
        future.add_done_callback(lambda _: finished.put(number))
        return future

    def _portable(self, task: LabTask) -> LabTask:
        """The same for another machine. Most tasks have the same policies: these are looked up once."""
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
    """The same for who has one run to do."""
    with LabWorkers(min(jobs or cores(), len(tasks) or 1), cluster) as workers:
        yield from workers.run(tasks, progress, kept)


class _Workers(Protocol):
    def submit_near(self, near: str, function: Callable[..., TaskOutcome], /, *args: Any) -> Future[TaskOutcome]: ...

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None: ...


class _ThisProcess:
    """Does at once what is submitted, and closes what was opened for it in the end."""

    def submit_near(self, near: str, function: Callable[..., T], /, *args: Any) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(function(*args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with suppress(AttributeError):  # where nothing was done
            _mine.reader.close()
            del _mine.reader


def cores() -> int:
    """Those that this process may use."""
    with suppress(AttributeError):  # not on every platform
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _outcome(known: KnownTask, future: Future[TaskOutcome] | None, kept: KeptRuns | None) -> TaskOutcome:
    task = known.task
    if future is None:
        return TaskOutcome(task, known.merged(()), is_kept=True)
    try:
        outcome = future.result()
    except ProcessDied:
        return TaskOutcome(task, error=f"{task.source}: the process that replayed it died")
    except CancelledError:
        raise WorkbenchError("the connection to the cluster is lost") from None
    except Exception as error:  # of Dask: no worker survived it, or what came is no answer
        return TaskOutcome(task, error=f"{task.source}: {error}")
    wanted = len(known.rest.policies) if known.rest is not None else 0
    if any(len(run.runs) != wanted for run in outcome.runs):
        return TaskOutcome(task, error=f"{task.source}: the results that came back are for other policies")
    if kept is not None and outcome.runs:
        kept.keep(known, outcome.runs)
    return outcome._replace(task=task, runs=known.merged(outcome.runs) if outcome.runs else ())


_mine = threading.local()
"""Of each thread that works: its reader. SQLite's connections are not shared, nor opened for each task."""


def attempt(task: LabTask, run: str = "") -> TaskOutcome:
    """Replay a source wherever this runs; what goes wrong with it is its outcome. `run`: its sources come again."""
    reader: SourceReader | None = getattr(_mine, "reader", None)
    if reader is None:
        reader = _mine.reader = SourceReader(Services(), room(cores()))
    try:
        return TaskOutcome(task, run_task(task, reader.read(task, run)))
    except UnknownFormat as error:
        return TaskOutcome(task, error=str(error), is_other=task.is_guess)
    except WorkbenchError as error:
        return TaskOutcome(task, error=str(error))
    except Exception as error:  # a fault of ours must not cost the other sources
        return TaskOutcome(task, error=f"{task.source}: {type(error).__name__}: {error}")
