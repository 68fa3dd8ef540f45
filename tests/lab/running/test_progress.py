"""The line that says how far a long run is."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from workbench.lab.running.progress import ProgressLine
from workbench.lab.running.tasks import LabTask, TaskOutcome


class Terminal(io.StringIO):
    """A stream that is looked at."""

    def isatty(self) -> bool:
        return True

    def last_line(self) -> str:
        return self.getvalue().rpartition("\r")[2].removeprefix("\x1b[K")


TASKS = [LabTask(name, ()) for name in ("large", "small", "tiny", "kept")]
SIZES = {"large": 600, "small": 300, "tiny": 0, "kept": 5_000}


def line(stream: io.StringIO, seconds: Iterator[float]) -> ProgressLine:
    return ProgressLine(TASKS, SIZES.__getitem__, stream, lambda: next(seconds))


def test_time_left_goes_by_size_and_not_by_number_and_counts_nothing_that_was_kept() -> None:
    stream = Terminal()
    shown = line(stream, iter([0.0, 1.0, 10.0, 16.0]))
    shown.show_outcome(TaskOutcome(TASKS[3], is_kept=True))
    assert stream.last_line() == "1 of 4 sources, 1 kept from before"
    shown.show_outcome(TaskOutcome(TASKS[0]))
    assert stream.last_line() == "2 of 4 sources, 1 kept from before, about 5 s left"
    shown.show_outcome(TaskOutcome(TASKS[1]))
    assert stream.last_line() == "3 of 4 sources, 1 kept from before, about 0 s left"


def test_it_never_is_longer_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    stream = Terminal()
    shown = line(stream, iter([0.0, 10.0]))
    shown.note = ", 120 policies tried, the best has 1,234.56"
    shown.show_outcome(TaskOutcome(TASKS[0]))
    assert stream.last_line() == "1 of 4 sources, about 88 s left, 120 policies tr…"


def test_it_is_one_line_that_is_gone_at_the_end_and_what_is_said_stays() -> None:
    stream = Terminal()
    with line(stream, iter([0.0, 200.0, 200.01])) as shown:
        shown.show_outcome(TaskOutcome(TASKS[1]))
        assert stream.last_line() == "1 of 4 sources, about 62 min left"
        shown.show_outcome(TaskOutcome(TASKS[2]))
        shown.print_line("· left out: \x1b[31mred")
    assert stream.getvalue().count("\n") == 1
    assert "\r\x1b[K· left out: ␛[31mred\n" in stream.getvalue()
    assert stream.last_line() == ""


def test_nobody_is_told_where_nobody_looks() -> None:
    stream = io.StringIO()
    with line(stream, iter([0.0, 200.0])) as shown:
        shown.show_outcome(TaskOutcome(TASKS[0]))
        shown.print_line("· left out")
    assert stream.getvalue() == "· left out\n"
