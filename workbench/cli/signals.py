"""Ending when told to: a signal that would end the program at once cancels its work, as ctrl+c does.

So commands that a tool started end with the program, and what came of an answer is kept.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """`asyncio.run`; when one of the signals ended it, SystemExit with the code that a shell gives for it."""
    told: list[int] = []
    try:
        return asyncio.run(_watched(work, told))
    except asyncio.CancelledError:
        if not told:
            raise
        raise SystemExit(128 + told[0]) from None


async def _watched(work: Coroutine[Any, Any, _T], told: list[int]) -> _T:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def end(number: int) -> None:
        told.append(number)
        task.cancel()

    # What is ignored stays so: that is what `nohup` is for.
    watched = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    try:
        for each in watched:
            loop.add_signal_handler(each, end, each)
    except RuntimeError:  # not the main thread, which alone gets signals
        watched = []
    try:
        return await work
    finally:
        for each in watched:
            loop.remove_signal_handler(each)
