"""The machines of a Dask cluster, asked as the processes of this one are.

Dask runs on a worker whatever its scheduler sends there, and trusts what comes back: a scheduler is named by its user
and has to be his own. What our own workers answer is read as figures, and nothing else.
"""

from __future__ import annotations

import json
import logging
import math
import os
import pickle
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Lock, Timer
from typing import Any, Final, NamedTuple

import msgspec

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.lab.optional_packages import has_extra, import_extra
from workbench.lab.running.fetching import LOCAL
from workbench.lab.running.processes import copied_from, process_context, uninterrupted
from workbench.lab.running.tasks import LabTask, TaskOutcome
from workbench.lab.values import SourceRun

_Answer = tuple[tuple[SourceRun, ...], str, bool]
"""The sources, the error, and whether it is no transcript."""
_NO_TASK = LabTask("", ())
PATIENCE: Final = "10s"
"""For a scheduler to answer."""
PAUSE: Final = 0.02
"""Seconds in which orders are gathered."""
SHARES: Final = 8
"""Parcels for each worker, at least, where there are orders enough: the last ones must not wait for one of them."""
LARGEST: Final = 8
"""Orders of a parcel: Dask takes some milliseconds for each, as long as a short transcript."""


class _Order(NamedTuple):
    future: Future[Any]
    """Whoever waits for it."""
    near: str
    packed: bytes
    """What is to be done."""


_QUIET: Final = {
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.http.routes": [],
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "2s",
}
"""On one machine: by default Dask looks up to a hundred times a second at what each worker does, for pages that nobody
has opened."""


class DaskWorkers:
    """Does what is submitted on a cluster. What a worker did that is gone is done by another, three times at most."""

    def __init__(self, address: str, jobs: int) -> None:
        self._cluster: Any = _local_cluster(jobs) if address == LOCAL else None
        distributed = import_extra("distributed", "--cluster")
        try:
            self._client: Any = distributed.Client(self._cluster or address, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise WrongCall(f"--cluster {address}: no scheduler answers there: {error}") from None
        self._lock = Lock()
        self._waiting: list[_Order] = []
        self._owners: dict[str, str] = {}
        """The address of the worker that was the last to be near something."""

    def submit_near(self, near: str, function: Callable[..., TaskOutcome], /, *args: Any) -> Future[TaskOutcome]:
        """A function that every worker has, and what it is called with; by the worker that did something with `near`
        before, unless it has much to do and another has not. What comes at once goes in parcels."""
        # As bytes: Dask would look through all that goes and comes for something of its own, value by value.
        ours: Future[TaskOutcome] = Future()
        with self._lock:
            self._waiting.append(_Order(ours, near, pickle.dumps((function, args))))
            if len(self._waiting) == 1:
                Timer(PAUSE, self._send).start()
        return ours

    def _send(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        workers = 1
        with suppress(Exception):  # whatever Dask says of a connection that is gone: it will say it of each parcel, too
            workers = len(self._client.nthreads()) or 1
        size = min(max(1, len(waiting) // (SHARES * workers)), LARGEST)
        by_owner: dict[str, list[_Order]] = {}
        for order in waiting:
            by_owner.setdefault(self._owners.get(order.near, ""), []).append(order)
        for owner, orders in by_owner.items():
            for at in range(0, len(orders), size):
                self._send_parcel(orders[at : at + size], owner)

    def _send_parcel(self, parcel: list[_Order], owner: str = "") -> None:
        wish: dict[str, Any] = {"workers": owner, "allow_other_workers": True} if owner else {}
        try:
            executor = self._client.get_executor(pure=False, **wish)
            theirs = executor.submit(_called, [order.packed for order in parcel])
        except Exception as error:  # whatever Dask says of a connection that is gone
            for order in parcel:
                order.future.set_exception(error)
        else:
            theirs.add_done_callback(partial(self._hand_on, parcel))

    def _hand_on(self, parcel: list[_Order], theirs: Future[tuple[str, list[bytes]]]) -> None:
        if theirs.cancelled():
            for order in parcel:
                order.future.cancel()
        elif (error := theirs.exception()) is None:
            self._answer(parcel, theirs.result())
        elif len(parcel) > 1:  # one of them may have cost the workers their lives; the others are done without it
            for order in parcel:
                self._send_parcel([order])
        else:
            parcel[0].future.set_exception(error)

    def _answer(self, parcel: list[_Order], answer: Any) -> None:
        """Hand on what a worker sent. Whatever that is, everybody who waits gets a result or an error."""
        try:
            owner, answers = msgspec.convert(answer, tuple[str, list[bytes]])
            if len(answers) != len(parcel):
                raise msgspec.ValidationError(f"{len(answers)} answers to {len(parcel)} orders")
        except msgspec.ValidationError as error:
            owner, answers = "", []
            for order in parcel:
                order.future.set_exception(_not_understood(error))
        self._owners.update((order.near, owner) for order in parcel if owner)
        for order, packed in zip(parcel, answers, strict=False):
            try:
                order.future.set_result(unpacked(packed))
            except (ValueError, RecursionError) as error:  # msgspec's own are ValueErrors, too
                order.future.set_exception(_not_understood(error))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; a scheduler that was there before goes on."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _local_cluster(jobs: int) -> Any:
    """Processes of this machine. They are copies of one that imports everything while this one does the same."""
    if has_extra("distributed"):
        copied_from("workbench.lab.running.workers", "distributed.nanny")
    distributed = import_extra("distributed", "--cluster")
    import_extra("cryptography", "--cluster")
    method = process_context().get_start_method()
    import_extra("dask", "--cluster").config.set(_QUIET | {"distributed.worker.multiprocessing-method": method})
    with uninterrupted():  # half a cluster cannot be closed
        return distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            memory_limit=0,  # that of the machine, as for processes without Dask
            env=dict(os.environ),  # the process that they are copies of may have been started before it was as it is
            dashboard_address="127.0.0.1:0",  # Dask listens in any case, by default where another of its kind may be
            scheduler_kwargs={"dashboard": False},
            security=distributed.Security.temporary(),  # else whoever has an account here could have us run anything
            silence_logs=logging.CRITICAL,  # what goes wrong with a task comes back with it
        )


def _called(parcel: list[bytes]) -> tuple[str, list[bytes]]:
    """Where it was done, and what came of it."""
    from distributed import get_worker

    return get_worker().address, [_one(packed) for packed in parcel]


def _one(packed: bytes) -> bytes:
    function, args = pickle.loads(packed)  # from whoever runs the scheduler, who can run anything here anyway
    return packed_outcome(function(*args))


def packed_outcome(outcome: TaskOutcome) -> bytes:
    """What came of a task, without the task."""
    answer: _Answer = (outcome.runs, outcome.error, outcome.is_other)
    try:
        return msgspec.msgpack.encode(answer)
    except UnicodeEncodeError:  # half a character of a log; JSON has an escape for it
        return json.dumps(msgspec.to_builtins(answer)).encode()


def unpacked(packed: bytes) -> TaskOutcome:
    """The same on the other side; raises ValueError for anything else."""
    if packed.startswith(b"["):  # JSON; in the other form no list begins so
        answer = msgspec.convert(json.loads(packed), _Answer)
    else:
        answer = msgspec.msgpack.decode(packed, type=_Answer)
    found, error, is_other = answer
    runs = tuple(source._replace(runs=tuple(source.runs)) for source in found)
    costs = [run.cost for source in runs for run in source.runs]
    if not all(cost is None or math.isfinite(cost) for cost in costs):
        raise ValueError("expected a cost, got no number")
    return TaskOutcome(_NO_TASK, runs, error, is_other=is_other)


def _not_understood(error: Exception) -> WorkbenchError:
    return WorkbenchError(f"what the worker answered is no result: {error}")
