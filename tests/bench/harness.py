"""Measuring: medians of rounds in which all take turns, and rows that hold a figure against its peer and target."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Literal, NamedTuple

now = time.process_time
"""The clock for computing, in seconds: the processor's time, so that a busy machine does not decide."""
wall = time.perf_counter
"""The clock for what waits on the disk, in seconds."""

Unit = Literal["s", "MiB", "MB/s", "%"]
Work = Callable[[], float]
"""Does something and gives a figure of its own, mostly how long the part of it took that counts."""


class Scale(NamedTuple):
    """How large everything is and how often it is repeated."""

    few: int = 1_000
    """Events of a short log."""
    some: int = 10_000
    """Events of a long one."""
    many: int = 100_000
    """Events of a very long one."""
    stored: int = 100_000
    """Events of a very long session on disk; writing them takes most of the time."""
    text: int = 1_000_000
    """Characters of the text that is truncated."""
    mixed: int = 3_000_000
    """Characters of the texts that are counted."""
    chunks: int = 4_000
    """Chunks of a long answer."""
    turns: int = 1_000
    """Turns of a long conversation."""
    transcripts: int = 500
    """Of a corpus."""
    idle: float = 10.0
    """Seconds in which nothing happens."""
    repeats: int = 9
    slow_repeats: int = 5
    """The same for what takes a second or so each time."""


FULL = Scale()
QUICK = Scale(
    stored=20_000, mixed=1_000_000, chunks=1_000, turns=80, transcripts=60, idle=5.0, repeats=3, slow_repeats=2
)
TINY = Scale(
    60, 120, 240, 240, text=60_000, mixed=40_000, chunks=20, turns=8, transcripts=4, idle=1.0, repeats=1, slow_repeats=1
)
"""For the test of the suite itself; its figures mean nothing."""


class Target(NamedTuple):
    """What a figure should reach."""

    rule: Literal["at most", "at least", "below"]
    limit: float
    of: Literal["ratio", "ours"]

    def met(self, row: Row) -> bool:
        """Whether the row reaches it."""
        value = row.ours if self.of == "ours" else row.ratio
        assert value is not None, "a target for the ratio needs a peer"
        if self.rule == "at least":
            return value >= self.limit
        return value <= self.limit if self.rule == "at most" else value < self.limit


@dataclass(frozen=True, slots=True)
class Row:
    """One figure, beside its peer's where it has one."""

    name: str
    ours: float
    unit: Unit = "s"
    peer: float | None = None
    peer_name: str = ""
    ratio: float | None = None
    """Ours by the peer's; where being faster is the aim, the peer's time by ours."""
    target: Target | None = None

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.target.met(self)


def beside(name: str, found: Rounds, ours: str, peer: str, peer_name: str, at_most: float | None = None) -> Row:
    """Ours as a multiple of the peer's."""
    target = None if at_most is None else Target("at most", at_most, "ratio")
    return Row(name, found[ours], "s", found[peer], peer_name, found.ratio(ours, peer), target)


def faster(name: str, found: Rounds, ours: str, peer: str, peer_name: str, at_least: float | None = None) -> Row:
    """How many times faster than the peer."""
    target = None if at_least is None else Target("at least", at_least, "ratio")
    return Row(name, found[ours], "s", found[peer], peer_name, found.ratio(peer, ours), target)


def absolute(name: str, ours: float, *, below: float | None = None, unit: Unit = "s") -> Row:
    """A figure that stands alone."""
    return Row(name, ours, unit, target=None if below is None else Target("below", below, "ours"))


@contextmanager
def collector(on: bool) -> Iterator[None]:
    """Start with a clean heap; the collector stays off meanwhile, as in `timeit`, unless its work is to be seen."""
    gc.collect()
    if not on:
        gc.disable()
    try:
        yield
    finally:
        gc.enable()


def timed(work: Callable[[], object], clock: Callable[[], float] = now) -> float:
    """How long one call takes."""
    start = clock()
    work()
    return clock() - start


class Rounds:
    """The figures of several works, round by round."""

    def __init__(self, figures: Mapping[str, Sequence[float]]) -> None:
        self._figures = figures

    def __getitem__(self, name: str) -> float:
        """The median of one work."""
        return median(self._figures[name])

    def ratio(self, ours: str, peer: str) -> float:
        """Two works of the same round, one by the other; the median of that."""
        return median(a / b for a, b in zip(self._figures[ours], self._figures[peer], strict=True))


def rounds(works: Mapping[str, Work], repeats: int, *, gc_on: bool = False, warm_up: bool = True) -> Rounds:
    """Let the works take turns, so that a slow spell of the machine falls on all of them.

    The first round is to warm up and does not count; what takes long needs none.
    """
    figures: dict[str, list[float]] = {name: [] for name in works}
    with collector(gc_on):
        for name in list(works) * (repeats + warm_up):
            figures[name].append(works[name]())
    return Rounds({name: found[warm_up:] for name, found in figures.items()})
