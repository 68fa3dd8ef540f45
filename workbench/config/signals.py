"""How signals end what runs in an event loop: its work ends first, as with Ctrl+C.

So commands that a tool started end with the program, what came of an answer is kept, and a terminal is as it was.
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
    """`asyncio.run`; when one of the signals ended it, SystemExit with the code that a shell gives for it.

    `end` is how to end the work, which then comes to its end by itself; without it the work is cancelled.
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
    """Set by ctrl+c, or by being told to end. To be asked for before anybody hears of what is served until then."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, *heeded()):
        with suppress(NotImplementedError):  # Windows has no signal handlers on its loops
            loop.add_signal_handler(each, stopped.set)
    return stopped


def heeded() -> list[signal.Signals]:
    """The signals that end the program. What is ignored stays so: that is what `nohup` is for."""
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
    except RuntimeError:  # not the main thread, which alone gets signals
        watched = {}
    try:
        return await work
    finally:
        for each, before in watched.items():
            loop.remove_signal_handler(each)
            if before is not None:
                signal.signal(each, before)
