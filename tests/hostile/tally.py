"""What came of an attack, and ways to try without being hung or surprised."""

from __future__ import annotations

import io
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

from support.calls import Outcome
from workbench.cli.main import main

SECONDS = 60.0
"""After which a try counts as hung."""


@dataclass(slots=True)
class Tally:
    """Tries and faults."""

    what: str
    tries: int = 0
    faults: list[str] = field(default_factory=list)
    told: str = ""
    """Other figures of it."""

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


@contextmanager
def _in_time() -> Iterator[None]:
    def late(_: int, __: FrameType | None) -> NoReturn:
        raise TimeoutError(f"it took longer than {SECONDS:.0f} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call(*arguments: object) -> Outcome:
    """The program in this process, as `support.calls` has it for tests; whatever it raises comes through."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Outcome(code, out.getvalue(), err.getvalue())


def complaint(outcome: Outcome) -> str:
    """What is wrong with how a call ended: it has to succeed, or fail with one line and an exit code that says so."""
    lines = [line for line in outcome.err.splitlines() if not line.startswith("· ")]
    if outcome.code not in (0, 1, 2, 3):
        return f"exit code {outcome.code}"
    if outcome.code == 3 and outcome.out and not lines:
        return ""  # a plan that does not fit is printed all the same
    if outcome.code and (len(lines) != 1 or not lines[0].startswith("workbench")):
        return f"exit code {outcome.code} and {len(lines)} lines: {outcome.err[:200]!r}"
    return f"a traceback: {outcome.err[-300:]!r}" if "Traceback" in outcome.err else ""
