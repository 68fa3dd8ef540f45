"""Background threads that block neither the screen, nor an event loop, nor the end of the program."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def background(work: Callable[[], T]) -> Future[T]:
    """Do the work on its own thread. The caller may wait for the result or ignore it.

    The program waits at its end for the threads of asyncio and of Textual's workers, so quitting while a large file
    is planned would take long. It does not wait for this one.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # now nobody can cancel it, so setting the result cannot fail

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    Thread(target=run, daemon=True).start()
    return future


async def in_background(work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """Wait for work in the background. Unlike in the loop's own pool, work that hangs does not block other work."""
    import asyncio  # late: callers without a loop need not load it

    def safely() -> T:
        try:
            return work(*args, **more)
        except BaseException as error:
            if isinstance(error, Exception) and not isinstance(error, StopIteration):
                raise
            # No future carries a StopIteration, and SystemExit and the like must not end the loop.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    return await asyncio.wrap_future(background(safely))
