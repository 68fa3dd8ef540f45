"""Runs tasks on a Dask cluster, with the interface of `ProcessWorkers`.

A Dask worker runs whatever its scheduler sends, and Dask trusts what comes back. So users name a scheduler, and it has
to be their own. The answers of workers are read as figures and as nothing else.

An order is one function call for a worker: for the lab, a task. A parcel is the orders that are sent together.
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
from workbench.config.optional_packages import import_optional, is_installed
from workbench.config.text import counted
from workbench.lab.running.code_stamp import CodeStamp, StrangeWorker, own_stamp, stamp_difference
from workbench.lab.running.fetching import LOCAL
from workbench.lab.running.processes import copied_from, interrupts_delayed, process_context
from workbench.lab.running.tasks import LabTask, TaskOutcome
from workbench.lab.values import SourceRun

_Answer = tuple[tuple[SourceRun, ...], str, bool]
"""The runs, the error, and whether the source is no transcript."""
_NO_TASK = LabTask("", ())
"""In place of the task, which a worker does not send back."""
PATIENCE: Final = "10s"
"""How long to wait for a scheduler."""
PAUSE: Final = 0.02
"""Seconds in which orders are collected before they are sent."""
SHARES: Final = 8
"""Each worker gets at least this many parcels, if there are enough orders, so that all finish together."""
MOST_TRIES: Final = 3
"""How many workers try to read a source: one that lacks the files fails fast, and so would get most of the orders."""
WATCH: Final = 1.0
"""Seconds until it is checked that a worker that an order waits for still runs."""
MOST_ORDERS: Final = 8
"""The most orders in a parcel. Dask needs some milliseconds per parcel, as long as a short transcript takes."""


class _Order(NamedTuple):
    future: Future[Any]
    """Receives the result."""
    near: str
    """What the function reads, a source: a worker that has read it before is preferred."""
    packed: bytes
    """The function and its arguments."""
    tried: tuple[str, ...] = ()
    """The workers that could not read the source."""


_QUIET: Final = {
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.http.routes": [],
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "2s",
}
"""Settings for a cluster on this machine. By default Dask samples each worker up to a hundred times a second, for web
pages that are not open."""


class DaskWorkers:
    """Runs functions on a cluster. If a worker dies, another one runs its functions again, three times at most."""

    def __init__(self, address: str, jobs: int) -> None:
        self._cluster: Any = _local_cluster(jobs) if address == LOCAL else None
        distributed = import_optional("distributed", "--cluster", "cluster")
        try:
            self._client: Any = distributed.Client(self._cluster or address, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise WrongCall(f"--cluster {address}: no scheduler answers there: {error}") from None
        self._stamp = None if address == LOCAL else own_stamp()
        """What every worker is compared with; None where all of them are copies of this process."""
        if self._stamp is not None:
            _be_quiet()
            self._refuse_strangers(address, self._stamp)
        self._lock = Lock()
        self._waiting: list[_Order] = []
        self._workers: frozenset[str] = frozenset()
        """The addresses of the workers when orders were sent last."""
        self._owners: dict[str, str] = {}
        """By `near`: the address of the worker that read it last."""

    def _refuse_strangers(self, address: str, stamp: CodeStamp) -> None:
        """Raise before the first task if a worker would count differently. One that joins later refuses its tasks."""
        try:
            answers = self._client.run(stamp_difference, stamp, on_error="return")
        except Exception as error:  # the connection is lost
            self._client.close()
            raise WorkbenchError(f"--cluster {address}: the workers did not answer: {error}") from None
        # A worker that just died has lost its connection, and the scheduler may not know yet.
        lost = import_optional("distributed.comm", "--cluster", "cluster").CommClosedError
        alive = {worker: each for worker, each in answers.items() if not isinstance(each, lost)}
        # An answer is an exception or words; an empty text is agreement.
        strange = {worker: each for worker, each in alive.items() if each != ""}
        if strange:
            self._client.close()
            worker, found = min(strange.items())
            says = f"has {found}" if isinstance(found, str) else f"has no Workbench, or an older one: {found}"
            more = f" (and {len(strange) - 1} more of {len(alive)} workers)" if len(strange) > 1 else ""
            raise StrangeWorker(f"--cluster {address}: worker {worker} {says}{more}; nothing was replayed")

    def submit_near(self, near: str, function: Callable[..., TaskOutcome], /, *args: Any) -> Future[TaskOutcome]:
        """Run a function that every worker can import. The worker that had the same `near` before gets it, unless it is
        busy and another is free. Orders that come at the same time are sent together."""
        # As bytes: Dask would search every value for objects of its own.
        ours: Future[TaskOutcome] = Future()
        with self._lock:
            self._waiting.append(_Order(ours, near, pickle.dumps((function, args))))
            if len(self._waiting) == 1:
                Timer(PAUSE, self._send).start()
        return ours

    def _send(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        with suppress(Exception):  # a lost connection: each parcel fails with the same error
            self._workers = frozenset(self._client.nthreads())
        size = min(max(1, len(waiting) // (SHARES * max(1, len(self._workers)))), MOST_ORDERS)
        by_owner: dict[str, list[_Order]] = {}
        for order in waiting:
            by_owner.setdefault(self._owners.get(order.near, ""), []).append(order)
        for owner, orders in by_owner.items():
            for at in range(0, len(orders), size):
                self._send_parcel(orders[at : at + size], owner)

    def _send_parcel(self, parcel: list[_Order], owner: str = "") -> None:
        """`owner`: the worker that should get it, if it still runs."""
        wish: dict[str, Any] = {"workers": owner, "allow_other_workers": True} if owner else {}
        self._submit(parcel, wish)

    def _submit(self, parcel: list[_Order], wish: dict[str, Any]) -> Future[tuple[str, list[bytes]]] | None:
        """Send orders to workers as wished; None if there is no connection any more."""
        try:
            executor = self._client.get_executor(pure=False, **wish)
            theirs: Future[tuple[str, list[bytes]]] = executor.submit(
                _run_parcel, [order.packed for order in parcel], self._stamp
            )
        except Exception as error:  # a lost connection
            for order in parcel:
                order.future.set_exception(error)
            return None
        theirs.add_done_callback(partial(self._set_outcomes, parcel))
        return theirs

    def _set_outcomes(self, parcel: list[_Order], theirs: Future[tuple[str, list[bytes]]]) -> None:
        if theirs.cancelled():
            for order in parcel:
                order.future.cancel()
        elif (error := theirs.exception()) is None:
            self._answer(parcel, theirs.result())
        elif isinstance(error, StrangeWorker):
            for order in parcel:
                order.future.set_exception(error)
        elif len(parcel) > 1:  # one of them may have killed the workers; the others are tried without it
            for order in parcel:
                self._send_parcel([order])
        else:
            parcel[0].future.set_exception(error)

    def _answer(self, parcel: list[_Order], answer: Any) -> None:
        """Set the results that a worker sent. Every future gets a result or an error, whatever came back."""
        try:
            owner, answers = msgspec.convert(answer, tuple[str, list[bytes]])
            if len(answers) != len(parcel):
                raise msgspec.ValidationError(f"{len(answers)} answers to {len(parcel)} orders")
        except msgspec.ValidationError as error:
            owner, answers = "", []
            for order in parcel:
                order.future.set_exception(_bad_answer(error))
        for order, packed in zip(parcel, answers, strict=False):
            try:
                outcome = unpack_outcome(packed)
            except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors as well
                order.future.set_exception(_bad_answer(error))
                continue
            if outcome.error and not outcome.is_other:
                self._try_elsewhere(order._replace(tried=(*order.tried, owner)), outcome)
            else:
                self._owners[order.near] = owner
                order.future.set_result(outcome)

    def _try_elsewhere(self, order: _Order, outcome: TaskOutcome) -> None:
        """Let another worker read a source; if there is none, the outcome of the last one counts."""
        others = self._workers.difference(order.tried)
        if not others or len(order.tried) == MOST_TRIES or self._stamp is None:
            before = len(order.tried) - 1
            also = f", and neither could {counted(before, 'other worker')}" if before else ""
            order.future.set_result(outcome._replace(error=outcome.error + also))
            return
        # None but these: an idle worker, as the one without the files soon is, takes orders from a busy one.
        theirs = self._submit([order], {"workers": sorted(others), "allow_other_workers": False})
        if theirs is not None:
            self._watch_later(others, order, theirs, outcome)

    def _watch_later(self, others: frozenset[str], order: _Order, theirs: Future[Any], outcome: TaskOutcome) -> None:
        """Check after a while that any of the workers that an order waits for still runs."""
        timer = Timer(WATCH, self._watch, (others, order, theirs, outcome))
        timer.daemon = True
        timer.start()

    def _watch(self, others: frozenset[str], order: _Order, theirs: Future[Any], outcome: TaskOutcome) -> None:
        if theirs.done():
            return
        with suppress(Exception):  # a lost connection: the order fails with it
            if others.isdisjoint(self._client.nthreads()):
                order.future.set_result(outcome)
                theirs.cancel()
                return
        self._watch_later(others, order, theirs, outcome)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster. A scheduler that we did not start keeps running."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _local_cluster(jobs: int) -> Any:
    """Start processes on this machine. They are forked from one that imports everything while we do the same."""
    if is_installed("distributed"):
        copied_from("workbench.lab.running.workers", "distributed.nanny")
    distributed = import_optional("distributed", "--cluster", "cluster")
    import_optional("cryptography", "--cluster", "cluster")
    method = process_context().get_start_method()
    import_optional("dask", "--cluster", "cluster").config.set(
        _QUIET | {"distributed.worker.multiprocessing-method": method}
    )
    with interrupts_delayed():  # half a cluster cannot be closed
        return distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            memory_limit=0,  # no limit, as for processes without Dask
            env=dict(os.environ),  # the process they are forked from may have an older environment
            dashboard_address="127.0.0.1:0",  # Dask always listens; its default port may be in use
            scheduler_kwargs={"dashboard": False},
            security=distributed.Security.temporary(),  # without it any user of this machine could run code here
            silence_logs=logging.CRITICAL,  # errors come back with their task
        )


def _be_quiet() -> None:
    """Dask logs a page of lines when a connection is lost; the command says it in one."""
    for name in (*logging.root.manager.loggerDict, "asyncio"):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _run_parcel(parcel: list[bytes], stamp: CodeStamp | None) -> tuple[str, list[bytes]]:
    """Runs on a worker: its address, and the results."""
    from distributed import get_worker

    address = get_worker().address
    if stamp is None:
        return address, [_run_order(packed) for packed in parcel]
    difference = stamp_difference(stamp)
    if difference:
        raise StrangeWorker(f"worker {address} joined with {difference}; its figures are not used")
    return address, [_run_order(packed, address) for packed in parcel]


def _run_order(packed: bytes, address: str = "") -> bytes:
    """`address`: the worker, which an error names."""
    function, args = pickle.loads(packed)  # safe: who runs the scheduler can run anything here
    outcome: TaskOutcome = function(*args)
    if outcome.error and address:
        outcome = outcome._replace(error=f"{outcome.error} (on worker {address})")
    return packed_outcome(outcome)


def packed_outcome(outcome: TaskOutcome) -> bytes:
    """An outcome as bytes, without its task."""
    answer: _Answer = (outcome.runs, outcome.error, outcome.is_other)
    try:
        return msgspec.msgpack.encode(answer)
    except UnicodeEncodeError:  # half a surrogate pair; JSON can escape it
        return json.dumps(msgspec.to_builtins(answer)).encode()


def unpack_outcome(packed: bytes) -> TaskOutcome:
    """The outcome from these bytes. Raises ValueError for anything else."""
    if packed.startswith(b"["):  # JSON: no list in msgpack begins with this byte
        answer = msgspec.convert(json.loads(packed), _Answer)
    else:
        answer = msgspec.msgpack.decode(packed, type=_Answer)
    found, error, is_other = answer
    runs = tuple(source._replace(runs=tuple(source.runs)) for source in found)
    costs = [run.cost for source in runs for run in source.runs]
    if not all(cost is None or math.isfinite(cost) for cost in costs):
        raise ValueError("expected a cost, got no number")
    return TaskOutcome(_NO_TASK, runs, error, is_other=is_other)


def _bad_answer(error: Exception) -> WorkbenchError:
    return WorkbenchError(f"what the worker answered is no result: {error}")
