"""Python's cyclic garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 100_000
"""Values from which on to look through them all is a pause that is seen."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Make very many values that hold no cycles: the collector would walk the growing heap again and again.

    Nor does it look through them afterwards, which would stop every thread for half a second.
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
    """Import a program: it would be looked through for garbage several times while it grows, and holds none."""
    gc.disable()


def collector_from_here() -> None:
    """What a program has imported stays, and is not looked through again; nothing, where the collector runs anyway."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
