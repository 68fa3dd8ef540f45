"""Work that must not hold up the screen."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

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
