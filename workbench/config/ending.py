"""How signals end the program.

SIGTERM and SIGHUP end it as Ctrl+C does: it cleans up first. SIGQUIT ends it at once, even while it waits. Before that
it only does what the user would have to clean up: the terminal, commands that tools started, half-written files.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from workbench.config.system import ENDING, QUIT

_last: dict[object, Callable[[], object]] = {}
"""What to do before SIGQUIT ends the program."""
_whole: list[object] = []
"""Blocks that must not be interrupted halfway."""
_asked: list[int] = []
"""SIGQUIT, if it came during such a block."""


@contextmanager
def ending_by_signals() -> Iterator[None]:
    """While a command runs: SIGTERM and SIGHUP raise SystemExit, so that it cleans up; SIGQUIT ends the process."""
    handlers = dict.fromkeys(ENDING, _raise_exit) | ({QUIT: _quit} if QUIT else {})
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        handlers = {}
    before = {each: signal.getsignal(each) for each in handlers}
    changed = [each for each, handler in before.items() if handler is signal.SIG_DFL]
    for each in changed:
        signal.signal(each, handlers[each])
    try:
        yield
    finally:
        for each in changed:
            signal.signal(each, before[each])


@contextmanager
def at_quit(do: Callable[[], object]) -> Iterator[None]:
    """Call `do` before SIGQUIT ends the program, if it comes within the block. `do` must not wait or take a lock."""
    key = object()
    _last[key] = do
    try:
        yield
    finally:
        del _last[key]


@contextmanager
def finished_before_quit() -> Iterator[None]:
    """Delay SIGQUIT until the block ends: for short work that must be cleaned up once it has begun."""
    key = object()
    _whole.append(key)
    try:
        yield
    finally:
        _whole.remove(key)
        if _asked and not _whole:
            _quit(_asked[0], None)


def _raise_exit(number: int, _: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)  # a second signal ends it at once
    raise SystemExit(128 + number)


def _quit(number: int, _: FrameType | None) -> None:
    if _whole:
        _asked.append(number)
        return
    for do in tuple(_last.values()):
        with suppress(Exception):
            do()
    os._exit(128 + number)
