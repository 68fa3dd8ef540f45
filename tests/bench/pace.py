"""The machine's pace: the seconds that a short piece of work takes at the moment.

What a processor gives a process may change by half within seconds, where others share the machine. So while something
is measured, a process of its own times that piece of work again and again, on the same processor. A figure divided by
the pace meanwhile says how much work it was, whatever the machine did.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from statistics import mean

from bench import material
from bench.children import command, environment
from bench.pace_samples import BEGIN, END, NOW
from workbench.log.codec import encode_event

_THREADS = Path("/proc/self/task")
_ALL = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") and _THREADS.is_dir() else set[int]()
"""The processors that there are for the suite; none where the system does not tell."""
_MEASURED = set(sorted(_ALL)[-1:])
"""The one on which is measured what needs only one."""
_TWO = set(sorted(_ALL)[-2:])
"""Those for what needs more than one."""


@contextmanager
def _on(processors: set[int]) -> Iterator[None]:
    _move_threads(processors)
    try:
        yield
    finally:
        _move_threads(_ALL)


def _move_threads(to: set[int]) -> None:
    if not to:
        return
    for thread in os.listdir(_THREADS):
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(int(thread), to)


@contextmanager
def on_one_processor() -> Iterator[None]:
    """Keep this process, and what it starts meanwhile, on the processor whose pace is sampled."""
    with _on(_MEASURED):
        yield


@contextmanager
def on_other_processors() -> Iterator[None]:
    """Keep what this process starts meanwhile away from that processor, if there is another."""
    with _on(_ALL - _MEASURED):
        yield


def step_aside() -> None:
    """Leave that processor to a program that was just started on it, while this thread reads what it writes; until the
    measured work ends."""
    if _ALL:
        os.sched_setaffinity(0, _ALL - _MEASURED or _ALL)


class PaceSampler:
    """A process that samples the pace of one processor."""

    def __init__(self, processor: set[int]) -> None:
        with _on(processor):
            self._process = subprocess.Popen(
                command("pace_samples"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                env=environment(),
                start_new_session=True,  # Ctrl+C is for the suite
            )
        self.id = self._process.pid
        """Of its process."""
        self._samples = False
        self._pace = 0.0
        self._send(encode_event(material.log(1)[0]).encode() + b"\n")

    def begin(self) -> None:
        """Begin to sample, or begin again."""
        self.end()
        self._send(BEGIN)
        self._answer()
        self._samples = True

    def so_far(self) -> float:
        """The pace since the beginning."""
        assert self._samples, "nothing is sampled"
        self._send(NOW)
        return float(self._answer())

    def end(self, pace: float = 0.0) -> float:
        """The pace from the beginning to now, or to the first time that it was asked for. `pace`: an earlier one, to be
        given instead."""
        if self._samples:
            self._send(END)
            found = float(self._answer())
            self._pace, self._samples = pace or found, False
        return self._pace

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    def _answer(self) -> bytes:
        assert self._process.stdout is not None
        line: bytes = self._process.stdout.readline()
        if not line:
            raise BrokenPipeError("the sampler of the machine's pace has ended")
        return line


def sampler() -> PaceSampler:
    """The sampler of the processor on which is measured what needs only one."""
    return _sampler_of(frozenset(_MEASURED))


@cache
def _sampler_of(processor: frozenset[int]) -> PaceSampler:
    return PaceSampler(set(processor))


_current: list[PaceSampler] = []
"""Those that sample for the work that is being measured."""


def sample_anew() -> None:
    """The part of a work that counts begins here."""
    for each in _current:
        each.begin()


def end_samples() -> None:
    """The part of a work that counts ends here."""
    for each in _current:
        each.end()


def sampling_processes() -> set[int]:
    """The ids of the processes that sample for the work that is being measured; what they use is not the work's."""
    return {each.id for each in _current}


def with_pace(work: Callable[[], float]) -> tuple[float, float]:
    """What a work gives, and the pace meanwhile; of the part that counts, if the work says where it begins or ends."""
    return _with_pace(work, [sampler()], _MEASURED)


def with_pace_of_two(work: Callable[[], float]) -> tuple[float, float]:
    """The same for a work of several processes, with the mean pace of two processors."""
    return _with_pace(work, [_sampler_of(frozenset({each})) for each in _TWO] or [sampler()], _TWO)


def _with_pace(work: Callable[[], float], samplers: Sequence[PaceSampler], processors: set[int]) -> tuple[float, float]:
    _current[:] = samplers
    try:
        with _on(processors):
            sample_anew()
            figure = work()
        return figure, mean(each.end() for each in samplers)
    except BrokenPipeError:
        _sampler_of.cache_clear()  # the next work gets a new one
        raise
    finally:
        with suppress(BrokenPipeError):  # it would hide why the work failed
            end_samples()
        _current.clear()
