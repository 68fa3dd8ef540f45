"""How far a long run is, in a line that is written over and over; nothing where nobody looks."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Self, TextIO

from workbench.config.text import counted, fit, printable
from workbench.lab.running.tasks import LabTask, TaskOutcome

_PAUSE = 0.1
"""Seconds between two lines."""
_FIRST = 2
"""Seconds before which nobody can tell how long it will take."""
_WIDE = 80
"""Columns of a terminal that does not tell."""
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """On standard error where that is a terminal; what else is said there goes through it too."""

    def __init__(
        self,
        tasks: Sequence[LabTask],
        weigh: Callable[[str], int],
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        thing: str = "source",
    ) -> None:
        """`weigh`: about how many bytes a source has; 0 where nobody knows. `thing`: what a task is called."""
        self._weights = {task.source: weigh(task.source) or 1 for task in tasks}
        self._stream = stream or sys.stderr
        self._is_shown = self._stream.isatty()
        self._clock = clock
        self._began = self._told = clock()
        self._all = len(tasks)
        self._thing = thing
        self._left = sum(self._weights[task.source] for task in tasks)
        self._done = 0
        self._replayed = 0
        self.kept = 0
        """Sources of which nothing had to be replayed."""
        self.note = ""
        """What else is worth knowing by now."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            print(_CLEAR, end="", file=self._stream, flush=True)

    def tell(self, outcome: TaskOutcome) -> None:
        """One more is finished."""
        weight = self._weights[outcome.task.source]
        self._done += 1
        self._left = max(0, self._left - weight)
        self.kept += outcome.is_kept
        self._replayed += 0 if outcome.is_kept else weight
        now = self._clock()
        if self._is_shown and now - self._told >= _PAUSE:
            self._told = now
            line = fit(self._line(now - self._began), _columns(self._stream) - 1)
            print(f"{_CLEAR}{line}", end="", file=self._stream, flush=True)

    def say(self, text: str) -> None:
        """A line of its own, which stays."""
        print(f"{_CLEAR if self._is_shown else ''}{printable(text)}", file=self._stream, flush=True)

    def _line(self, passed: float) -> str:
        kept = f", {self.kept:,} kept from before" if self.kept else ""
        left = ""
        if self._replayed and passed >= _FIRST:
            left = f", about {_duration(passed * self._left / self._replayed)} left"
        return f"{self._done:,} of {counted(self._all, self._thing)}{kept}{left}{self.note}"


@contextmanager
def saying(text: str) -> Iterator[None]:
    """Say on a terminal what is being done, until it is."""
    if not sys.stderr.isatty():
        yield
        return
    print(text, end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(_CLEAR, end="", file=sys.stderr, flush=True)


def _columns(stream: TextIO) -> int:
    """Of a terminal. A longer line would go on in the next, and a part of it would stay there each time."""
    with suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or _WIDE
    return shutil.get_terminal_size((_WIDE, 24)).columns


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{round(seconds)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
