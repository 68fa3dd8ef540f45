"""How signals end work in an event loop: the work ends first, as with Ctrl+C.

So the commands of a running tool end too, the part of an answer that came is kept, and the terminal is restored.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from workbench.config.ending import ENDING

_T = TypeVar("_T")


def run(work: Coroutine[Any, Any, _T], end: Callable[[], object] | None = None) -> _T:
    """`asyncio.run`. If a signal ended it, raises SystemExit with the code that a shell gives for that signal.

    `end` asks the work to end by itself; without it the work is cancelled.
    """
    told: list[int] = []
    try:
        done = asyncio.run(_watched(work, end, told))
    except asyncio.CancelledError:
        if not told:
            raise
    if told:
        raise SystemExit(128 + told[0])
    return done


def told_to_stop() -> asyncio.Event:
    """An event that Ctrl+C or SIGTERM sets. Call it before the address of a server is announced."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, *heeded()):
        with suppress(NotImplementedError):  # Windows has no signal handlers on its loops
            loop.add_signal_handler(each, stopped.set)
    return stopped


def heeded() -> list[signal.Signals]:
    """The signals that end the program. Ignored ones stay ignored: that is what `nohup` is for."""
    return [each for each in ENDING if signal.getsignal(each) is not signal.SIG_IGN]


async def _watched(work: Coroutine[Any, Any, _T], end: Callable[[], object] | None, told: list[int]) -> _T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop(number: int) -> None:
        told.append(number)
        (end or task.cancel)()

    # Without `end`, Ctrl+C is left to asyncio, which cancels the work.
    watched = {each: signal.getsignal(each) for each in (*heeded(), *([signal.SIGINT] if end else []))}
    try:
        for each in watched:
            loop.add_signal_handler(each, stop, each)
    except RuntimeError:  # not the main thread, and only that one gets signals
        watched = {}
    try:
        return await work
    finally:
        for each, before in watched.items():
            loop.remove_signal_handler(each)
            if before is not None:
                signal.signal(each, before)
