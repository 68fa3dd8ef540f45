"""How signals end work in an event loop: the work ends first, as with Ctrl+C.

So the commands of a running tool end too, the part of an answer that came is kept, and the terminal is restored.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from workbench.config.system import ENDING

_T = TypeVar("_T")


def run_until_signal(work: Coroutine[Any, Any, _T], end: Callable[[], object] | None = None) -> _T:
    """`asyncio.run`. If a signal ended it, raises SystemExit with the code that a shell gives for that signal.

    `end` asks the work to end by itself; without it the work is cancelled.
    """
    caught: list[int] = []
    try:
        done = asyncio.run(_watched(work, end, caught))
    except asyncio.CancelledError:
        if not caught:
            raise
    if caught:
        raise SystemExit(128 + caught[0])
    return done


def run_for_result(work: Coroutine[Any, Any, _T]) -> _T:
    """`asyncio.run` for work with a large result. Python would write the result out, as part of its task, and throw
    the text away: it compares the handler of Ctrl+C, which knows the task, with the values of an enum."""
    found: list[_T] = []

    async def keep() -> None:
        found.append(await work)

    asyncio.run(keep())
    return found[0]


def stop_requested() -> asyncio.Event:
    """An event that Ctrl+C or SIGTERM sets. Call it before the address of a server is announced."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, *ending_signals()):
        with suppress(NotImplementedError):  # Windows has no signal handlers on its loops
            loop.add_signal_handler(each, stopped.set)
    return stopped


def ending_signals() -> list[signal.Signals]:
    """The signals that end the program. Ignored ones stay ignored: that is what `nohup` is for."""
    return [each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN]


async def _watched(work: Coroutine[Any, Any, _T], end: Callable[[], object] | None, caught: list[int]) -> _T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop(number: int) -> None:
        caught.append(number)
        (end or task.cancel)()

    # Without `end`, Ctrl+C is left to asyncio, which cancels the work.
    watched = {each: signal.getsignal(each) for each in (*ending_signals(), *([signal.SIGINT] if end else []))}
    try:
        for each in watched:
            loop.add_signal_handler(each, stop, each)
    except (RuntimeError, NotImplementedError):  # not the main thread, which alone gets signals; or Windows
        watched = {}
    try:
        return await work
    finally:
        for each, before in watched.items():
            loop.remove_signal_handler(each)
            if before is not None:
                signal.signal(each, before)
