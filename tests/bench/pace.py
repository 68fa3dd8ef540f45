"""The machine's pace: how fast it is from moment to moment.

What a processor gives a process may change by half within seconds, where others share the machine. So while something
is measured, a process of its own times a short piece of work again and again, on the same processor. A figure by the
pace meanwhile says how much work it was, whatever the machine did.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from statistics import mean

from bench import material
from bench.children import command, environment
from bench.pace_samples import BEGIN, END, NOW
from workbench.log.codec import encode_event


def _processors() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


_ALL = _processors()
"""The processors that there are for the suite; none where the system does not tell."""
_MEASURED = {max(_ALL)} if _ALL else _ALL
"""The one on which is measured what needs only one."""


@contextmanager
def on_one_processor() -> Iterator[None]:
    """Keep this process, and what it starts meanwhile, on the processor whose pace is sampled."""
    _move_threads(_MEASURED)
    try:
        yield
    finally:
        _move_threads(_ALL)


@contextmanager
def on_other_processors() -> Iterator[None]:
    """Keep what this process starts meanwhile away from that processor, if there is another."""
    _move_threads(_ALL - _MEASURED)
    try:
        yield
    finally:
        _move_threads(_ALL)


def step_aside() -> None:
    """Leave that processor to a program that was just started on it, while this thread reads what it writes."""
    if _ALL:
        os.sched_setaffinity(0, _ALL - _MEASURED or _ALL)


def _move_threads(to: set[int]) -> None:
    if not to:
        return
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), to)
        except ProcessLookupError:  # it has ended meanwhile
            continue


class PaceSampler:
    """A process that samples the pace of one processor."""

    def __init__(self, processor: set[int]) -> None:
        _move_threads(processor)
        self._process = subprocess.Popen(
            command("pace_samples"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=environment()
        )
        _move_threads(_ALL)
        self.samples = False
        """Whether it is at work."""
        self._pace = 0.0
        self._send(encode_event(material.log(1)[0]).encode() + b"\n")

    def begin(self) -> None:
        """Begin to sample."""
        self.end()
        self._send(BEGIN)
        self._answer()
        self.samples = True

    def so_far(self) -> float:
        """What a sample took since the beginning, in seconds."""
        self._send(NOW)
        return float(self._answer())

    def end(self, pace: float = 0.0) -> float:
        """The same, for the last time; once it has ended, the same again. `pace`: the one that is to be given."""
        if self.samples:
            self._send(END)
            found = float(self._answer())
            self._pace, self.samples = pace or found, False
        return self._pace

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        line: bytes = self._process.stdout.readline()
        assert line, "the sampler of the machine's pace has ended"
        return line


@cache
def sampler() -> PaceSampler:
    """The sampler of the processor on which everything is measured that needs only one."""
    return PaceSampler(_MEASURED)


@cache
def _samplers() -> list[PaceSampler]:
    """One for each processor."""
    return [sampler(), *(PaceSampler({processor}) for processor in _ALL - _MEASURED)]


def sample_anew() -> None:
    """What counts of a work begins here."""
    for each in _samplers():
        if each.samples:
            each.begin()


def end_samples() -> None:
    """What counts of a work ends here."""
    for each in _samplers():
        each.end()


def with_pace(work: Callable[[], float]) -> tuple[float, float]:
    """What a work gives, and the pace meanwhile; of the part that counts, if the work says where it begins or ends."""
    sampling = sampler()
    with on_one_processor():
        sampling.begin()
        try:
            return work(), sampling.end()
        finally:
            sampling.end()


def with_all_paces(work: Callable[[], float]) -> tuple[float, float]:
    """The same for a work of several processes, with the mean pace of all processors."""
    samplers = _samplers()
    for each in samplers:
        each.begin()
    try:
        figure = work()
    finally:
        paces = [each.end() for each in samplers]
    return figure, mean(paces)
