"""Blocking work beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Wait for some work in a thread of its own.

    Unlike the loop's own pool, a thread that never comes back (a stuck disk, somebody's hook) keeps neither the
    program from ending nor other work from starting.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type]  # a T whenever there is no error
        else:
            done.set_exception(error)

    def body() -> None:
        result: T | None = None
        failed: BaseException | None = None
        try:
            result = work()
        except Exception as error:
            failed = error
        except BaseException as error:  # SystemExit and the like must not end the loop
            failed = RuntimeError(f"{type(error).__name__}: {error}")
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=body, daemon=True, name="workbench-tool").start()
    return await done
