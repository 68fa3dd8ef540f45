"""What came of an attack, and ways to try without being hung or surprised."""

from __future__ import annotations

import asyncio
import io
import signal
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

from support.calls import Outcome
from workbench.cli.main import main

SECONDS = 180.0
"""After which a try counts as hung."""
LATE = f"it took longer than {SECONDS:.0f} s"


@dataclass(slots=True)
class Tally:
    """Tries and faults."""

    what: str
    tries: int = 0
    faults: list[str] = field(default_factory=list)
    told: str = ""
    """Other figures of it."""

    @property
    def failed(self) -> int:
        """Tries in which something gave way; one try may have several faults."""
        return min(self.tries, len(self.faults))

    @property
    def held(self) -> int:
        return self.tries - self.failed

    def fault(self, what: str) -> None:
        """Note one."""
        self.faults.append(what)

    @contextmanager
    def watching(self, what: str) -> Iterator[None]:
        """One try: an exception or a hang inside is a fault."""
        self.tries += 1
        try:
            with _in_time():
                yield
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.fault(f"{what}: {type(error).__name__}: {str(error)[:200]} ({place.filename}:{place.lineno})")


def _in_time() -> AbstractContextManager[None]:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs
        return _with_an_alarm()
    assert task is not None
    return _with_a_timer(task)


@contextmanager
def _with_an_alarm() -> Iterator[None]:
    def late(_: int, __: FrameType | None) -> NoReturn:
        raise TimeoutError(LATE)

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _with_a_timer(task: asyncio.Task[object]) -> Iterator[None]:
    """The same in a coroutine: what an alarm raises would end the event loop."""
    timer = asyncio.get_running_loop().call_later(SECONDS, task.cancel)
    try:
        yield
    except asyncio.CancelledError:
        if timer.when() > asyncio.get_running_loop().time():
            raise
        task.uncancel()
        raise TimeoutError(LATE) from None
    finally:
        timer.cancel()


def call(*arguments: object) -> Outcome:
    """The program in this process, as `support.calls` has it for tests; whatever it raises comes through."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Outcome(code, out.getvalue(), err.getvalue())


def check_one_line(error: Exception) -> None:
    """An error for people is one line of text that a terminal can show."""
    said = str(error)
    if len(said) > 2_000 or "\n" in said:
        raise AssertionError(f"more than a line: {said[:200]!r}")


def complaint(outcome: Outcome) -> str:
    """What is wrong with how a call ended: it has to succeed, or fail with one line and an exit code that says so."""
    lines = [line for line in outcome.err.splitlines() if not line.startswith("· ")]
    if outcome.code not in (0, 1, 2, 3):
        return f"exit code {outcome.code}"
    if outcome.code == 3 and outcome.out and not lines:
        return ""  # a plan that does not fit is printed all the same
    if outcome.code and (len(lines) != 1 or not lines[0].startswith(("workbench", '{"schema": 1, "error": "'))):
        return f"exit code {outcome.code} and {len(lines)} lines: {outcome.err[:200]!r}"
    return f"a traceback: {outcome.err[-300:]!r}" if "Traceback" in outcome.err else ""
