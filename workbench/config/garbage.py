"""Python's cyclic garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 100_000
"""With this many values, a full collection is a pause that the user sees."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Make very many values without cycles: the collector would scan the growing heap again and again.

    Afterwards it does not scan them either: that would stop every thread for half a second.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if gc.get_count()[0] > MANY:
                gc.freeze()
            gc.enable()


def keep_what_is_loaded() -> None:
    """What a program has imported stays: to look through it for garbage would stop the screen for 0.2 s each time."""
    gc.freeze()


def start_without_collector() -> None:
    """Import a program without collecting: it would be scanned several times while it grows, and has no garbage."""
    gc.disable()


def collector_from_here() -> None:
    """Exclude what is imported from later collections. Does nothing if the collector is running already."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
