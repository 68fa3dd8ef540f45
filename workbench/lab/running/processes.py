"""Runs functions in processes of this machine. Each process has a thread here that waits for it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

    if sys.platform == "win32":
        ProcessContext = SpawnContext
    else:
        from multiprocessing.context import ForkServerContext

        ProcessContext = ForkServerContext | SpawnContext

T = TypeVar("T")
ATTEMPTS = 2
"""A process may be killed from outside once; if two die, the function is to blame."""
_ANOTHERS = 3
"""The distance of an order that a worker leaves to another one, because that one is free and has its `near`."""


class ProcessDied(Exception):
    """The process that ran a function died."""


def process_context() -> ProcessContext:
    """How to start processes. This one has threads and must not be forked; a fork server is used where there is one."""
    if sys.platform != "win32" and "forkserver" in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("forkserver")
    return multiprocessing.get_context("spawn")


def copied_from(*modules: str) -> None:
    """Start the fork server, which imports these modules once for all processes. One that runs already stays. The
    server and its processes ignore ctrl+c, which is for this process."""
    context = process_context()
    if context.get_start_method() == "forkserver":
        from multiprocessing import forkserver  # late: not on every platform

        context.set_forkserver_preload(list(modules))
        with interrupts_delayed(signal.SIG_IGN):  # which is inherited
            forkserver.ensure_running()


@contextmanager
def interrupts_delayed(meanwhile: signal.Handlers | None = None) -> Iterator[None]:
    """Delay ctrl+c to the end of the block. `meanwhile`: another handler, which may ignore it."""
    signals: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    before = signal.signal(signal.SIGINT, meanwhile or (lambda number, _: signals.append(number)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if signals:
        raise KeyboardInterrupt


class _Order(NamedTuple):
    future: Future[Any]
    near: str
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class ProcessWorkers(Executor):
    """Runs functions in processes. If a process dies, only the function that it ran fails."""

    def __init__(self, jobs: int) -> None:
        self._context = process_context()
        copied_from("workbench.lab.running.workers")
        self._mine = threading.local()
        self._processes: set[BaseProcess] = set()
        self._changed = threading.Condition()
        self._orders: list[_Order] = []
        self._owners: dict[str, int] = {}
        """By `near`: the worker that had it last."""
        self._busy: set[int] = set()
        self._is_closing = False
        self._lock = threading.Lock()
        self._is_over = False
        """Whether no more processes may be started."""
        self._threads = [threading.Thread(target=self._serve, args=(me,), name=f"lab {me}") for me in range(jobs)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., T], /, *args: Any, **named: Any) -> Future[T]:
        """Run a function that can be sent to another process."""
        return self._ordered("", function, args, named)

    def submit_near(self, near: str, function: Callable[..., T], /, *args: Any) -> Future[T]:
        """Like `submit`. The process that had `near` before gets it again, unless it is busy and another is free."""
        return self._ordered(near, function, args, {})

    def _ordered(
        self, near: str, function: Callable[..., T], args: tuple[Any, ...], named: dict[str, Any]
    ) -> Future[T]:
        future: Future[T] = Future()
        with self._changed:
            self._orders.append(_Order(future, near, (function, args, named)))
            self._changed.notify_all()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes. `wait=False`: do not wait for the functions that they run."""
        with self._changed:
            self._is_closing = True
            for order in self._orders if cancel_futures else ():
                order.future.cancel()
            self._orders = [] if cancel_futures else self._orders
            self._changed.notify_all()
        if not wait:
            with self._lock:
                self._is_over = True
                for process in self._processes:
                    process.terminate()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            process.terminate()
            process.join()

    def _serve(self, me: int) -> None:
        while (order := self._next(me)) is not None:
            answer: Any = None
            failed: BaseException | None = None
            try:
                answer = self._in_process(order.call)
            except Exception as error:
                failed = error
            with self._changed:  # first: the caller may submit more for the same worker at once
                self._busy.remove(me)
            if failed is None:
                order.future.set_result(answer)
            else:
                order.future.set_exception(failed)

    def _next(self, me: int) -> _Order | None:
        """Wait for the next order; None when there will be no more."""
        with self._changed:
            while True:
                order = min(self._orders, key=lambda order: self._distance(me, order), default=None)
                if order is not None and self._distance(me, order) < _ANOTHERS:
                    break
                if self._is_closing and order is None:
                    return None
                self._changed.wait()
            self._orders.remove(order)
            self._busy.add(me)
            if order.near:
                self._owners[order.near] = me
            self._changed.notify_all()
            return order

    def _distance(self, me: int, order: _Order) -> int:
        owner = self._owners.get(order.near)
        if owner is None or owner == me:
            return owner is None
        return _ANOTHERS - 1 if owner in self._busy else _ANOTHERS

    def _in_process(self, call: object) -> Any:
        for _ in range(ATTEMPTS):
            try:
                pipe = self._pipe()
                pipe.send(call)
                is_result, value = pipe.recv()
            except (EOFError, OSError):
                self._mine.pipe = None
                continue
            if is_result:
                return value
            raise value
        raise ProcessDied

    def _pipe(self) -> Connection:
        """The pipe to this thread's own process. Starts the process where there is none."""
        if getattr(self._mine, "pipe", None) is None:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_work, args=(theirs, os.getcwd(), dict(os.environ)), daemon=True)
            with self._lock:
                if self._is_over:
                    raise OSError
                process.start()
                self._processes.add(process)
            theirs.close()
            self._mine.pipe = ours
        pipe: Connection = self._mine.pipe
        return pipe


def _work(pipe: Connection, folder: str, environ: dict[str, str]) -> None:
    """The loop of a process: run what comes until the pipe is closed. Ctrl+c is for the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The fork server started earlier, so its folder and its environment may be out of date.
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    while True:
        try:
            function, args, named = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer = (True, function(*args, **named))
        except Exception as error:
            answer = (False, error)
        try:
            pipe.send(answer)
        except OSError:  # the parent is gone
            return
