"""Shows how far a long run is, in a line that is overwritten. Only on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Self, TextIO

from workbench.config.text import counted, fit_columns, printable
from workbench.lab.running.tasks import LabTask, TaskOutcome

_PAUSE = 0.1
"""Seconds between two updates."""
_ESTIMATE_AFTER = 2
"""Seconds before the time left can be estimated."""
_WIDE = 80
"""Columns of a terminal that does not report its width."""
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """A line on standard error, if that is a terminal. Print other lines with it as well, or they get mixed up."""

    def __init__(
        self,
        tasks: Sequence[LabTask],
        weigh: Callable[[str], int],
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        thing: str = "source",
        *,
        is_hidden: bool = False,
    ) -> None:
        """`weigh`: about how many bytes a source has; 0 where it is not known. `thing`: the word for a task.
        `is_hidden`: show no line, because results are printed on the same terminal."""
        self._weights = {task.source: weigh(task.source) or 1 for task in tasks}
        self._stream = stream or sys.stderr
        self._is_shown = self._stream.isatty() and not is_hidden
        self._clock = clock
        self._began = self._shown_at = clock()
        self._all = len(tasks)
        self._thing = thing
        self._left = sum(self._weights[task.source] for task in tasks)
        self._done = 0
        self._replayed = 0
        self.kept = 0
        """How many sources needed no replay."""
        self.note = ""
        """Text that is added at the end of the line."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            print(_CLEAR, end="", file=self._stream, flush=True)

    def show_outcome(self, outcome: TaskOutcome) -> None:
        """Count a finished task and update the line."""
        weight = self._weights[outcome.task.source]
        self._done += 1
        self._left = max(0, self._left - weight)
        self.kept += outcome.is_kept
        self._replayed += 0 if outcome.is_kept else weight
        now = self._clock()
        if self._is_shown and now - self._shown_at >= _PAUSE:
            self._shown_at = now
            line = fit_columns(self._line(now - self._began), _columns(self._stream) - 1)
            print(f"{_CLEAR}{line}", end="", file=self._stream, flush=True)

    def print_line(self, text: str) -> None:
        """Print a line that stays."""
        print(f"{_CLEAR if self._is_shown else ''}{printable(text)}", file=self._stream, flush=True)

    def _line(self, passed: float) -> str:
        kept = f", {self.kept:,} kept from before" if self.kept else ""
        left = ""
        if self._replayed and passed >= _ESTIMATE_AFTER:
            left = f", about {_duration(passed * self._left / self._replayed)} left"
        return f"{self._done:,} of {counted(self._all, self._thing)}{kept}{left}{self.note}"


@contextmanager
def status_line(text: str) -> Iterator[None]:
    """Show a text on a terminal while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    print(f"{_CLEAR}{text}", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(_CLEAR, end="", file=sys.stderr, flush=True)


def _columns(stream: TextIO) -> int:
    """The width of the terminal. A longer line would wrap, and could not be overwritten."""
    with suppress(OSError, ValueError):
        return os.get_terminal_size(stream.fileno()).columns or _WIDE
    return shutil.get_terminal_size((_WIDE, 24)).columns


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{round(seconds)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
