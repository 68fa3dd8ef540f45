"""Work in the background: it holds up neither the screen, nor an event loop, nor the end of the program."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def background(work: Callable[[], T]) -> Future[T]:
    """Do the work on a thread of its own; its result may be waited for, or left alone.

    The threads of asyncio and of Textual's workers are waited for when the program ends, and whoever quits while a
    large file is planned would wait with them. This one is not.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # from here on nobody can cancel it, so the result always finds its place

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
    """Wait for such work; unlike in the loop's own pool, work that never comes back keeps no other from starting."""
    import asyncio  # late: whoever waits has it, and others need not load it

    def safely() -> T:
        try:
            return work(*args, **more)
        except BaseException as error:
            if isinstance(error, Exception) and not isinstance(error, StopIteration):
                raise
            # No future carries a StopIteration, and SystemExit and the like must not end the loop.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error

    return await asyncio.wrap_future(background(safely))
