"""Measuring: medians of rounds in which all take turns, and rows that hold a figure against its peer and target.

A target is a multiple of a peer, or of a yardstick that is timed between the rounds: never a time, which would be about
the machine. Each figure is divided by the machine's pace meanwhile (`bench.pace`), so that a slow spell in one of both
does not decide. A figure is known as well as its peer or yardstick stands still after that: where it still moved too
much, or where the target lies between the rounds, there is no verdict; nor where few rounds are closer to it than half
of that movement.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from statistics import median, quantiles
from typing import Literal, NamedTuple

from bench import material
from bench.children import environment, processor_time
from bench.pace import with_pace, with_pace_of_two
from workbench.log.codec import encode_event

now = time.process_time
"""The clock for computing, in seconds: the processor's time, so that a busy machine does not decide."""
wall = time.perf_counter
"""The clock for what waits on the disk, in seconds."""

Unit = Literal["s", "MiB", "MB/s", "%", "times"]
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
    lines: int = 65_000
    """Lines of a very long transcript. Of a short one, the start of the program would be most of the time."""
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
    stored=20_000, mixed=1_000_000, chunks=1_000, turns=80, transcripts=200, idle=5.0, repeats=5, slow_repeats=3
)
TINY = Scale(
    60,
    120,
    240,
    240,
    160,
    text=60_000,
    mixed=40_000,
    chunks=20,
    turns=8,
    transcripts=4,
    idle=1.0,
    repeats=1,
    slow_repeats=1,
)
"""For the test of the suite itself; its figures mean nothing."""


STEADY = 0.2
"""How far the middle half of a yardstick's rounds may differ, as a share of their median, for a verdict."""


FEW = 9
"""Rounds, below which all of them must agree on a verdict."""


class Insistence:
    """How much is done for a verdict, in the whole run."""

    most = 1
    """So many times the rounds that are wanted may be taken."""


class Target(NamedTuple):
    """What the ratio of a row should reach."""

    rule: Literal["at most", "at least"]
    limit: float


@dataclass(frozen=True, slots=True)
class Row:
    """One figure, beside its peer's or the yardstick's where it has one."""

    name: str
    ours: float
    unit: Unit = "s"
    peer: float | None = None
    peer_name: str = ""
    ratio: float | None = None
    """Ours by the peer's; where being faster is the aim, the peer's time by ours."""
    target: Target | None = None
    moved: float = 0.0
    """How far the peer moved between the rounds, beyond what the machine's pace did."""
    middle: tuple[float, float] | None = None
    """Between which ratios the middle half of the rounds were, or all, where they are few."""
    few: bool = False
    """Whether there were so few rounds that all may be off in the same direction."""

    @property
    def why_unsure(self) -> str:
        """Why there is no verdict on the target; empty: there is one."""
        if self.moved > STEADY:
            return f"yardstick moved {self.moved:.0%}"
        if self.target is None or self.middle is None:
            return ""
        (low, high), limit, either_way = self.middle, self.target.limit, self.moved / 2
        if low < limit < high:
            return "rounds on both sides"
        if self.few and low * (1 - either_way) < limit < high * (1 + either_way):
            return f"close, and yardstick moved {self.moved:.0%}"
        return ""

    @property
    def ok(self) -> bool | None:
        """Whether the target is met; None without one, and where the rounds do not tell."""
        if self.target is None or self.why_unsure:
            return None
        assert self.ratio is not None, "a target needs a peer"
        return self.ratio >= self.target.limit if self.target.rule == "at least" else self.ratio <= self.target.limit


def beside(name: str, found: Rounds, ours: str, peer: str, peer_name: str, at_most: float | None = None) -> Row:
    """Ours as a multiple of the peer's."""
    target = None if at_most is None else Target("at most", at_most)

    def row() -> Row:
        ratio, middle = found.ratio(ours, peer), found.middle(ours, peer)
        return Row(name, found[ours], "s", found[peer], peer_name, ratio, target, found.moved(peer), middle, found.few)

    return found.until_sure(row)


def faster(name: str, found: Rounds, ours: str, peer: str, peer_name: str, at_least: float | None = None) -> Row:
    """How many times faster than the peer."""
    target = None if at_least is None else Target("at least", at_least)

    def row() -> Row:
        ratio, middle = found.ratio(peer, ours), found.middle(peer, ours)
        return Row(name, found[ours], "s", found[peer], peer_name, ratio, target, found.moved(peer), middle, found.few)

    return found.until_sure(row)


def in_units(name: str, found: Rounds, ours: str, at_most: float) -> Row:
    """Ours as a multiple of the yardstick's."""
    return beside(name, found, ours, found.yardstick, found.yardstick, at_most)


def absolute(name: str, ours: float, *, unit: Unit = "s") -> Row:
    """A figure that stands alone, without a target."""
    return Row(name, ours, unit)


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


def often(work: Work, times: int) -> Work:
    """What a work gives in the middle of so many times: for one so short that chance decides what it takes once."""
    return lambda: median([work() for _ in range(times)])


class Yardstick(NamedTuple):
    """What does not change with the program, and takes as long as the machine lets it."""

    name: str
    work: Work
    waits: bool = False
    """Its figure does not grow where the processor is slower: it waits for something else, or is no time."""


@cache
def _corpus() -> list[str]:
    return [encode_event(event) for event in material.log(2_000)]


def _parsed() -> float:
    lines = _corpus()
    return timed(lambda: [json.loads(line) for line in lines])


PARSING = Yardstick("json.loads of 2,000 lines", _parsed)
"""For what the processor does."""
STARTING = Yardstick(
    "a process that imports textual.app",
    lambda: processor_time((sys.executable, "-c", "import textual.app"), environment()),
)
"""For programs that begin and end."""


class Rounds:
    """The figures of several works, round by round; more of them where they are needed for a verdict."""

    def __init__(
        self,
        figures: Mapping[str, Sequence[float]],
        yardstick: str = "",
        more: Iterable[object] = (),
        paces: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """`paces`: the machine's during each figure, for works that take longer where the processor is slower."""
        self._figures = figures
        self.yardstick = yardstick
        """Its name among the works."""
        self._more = iter(more)
        self._paces = paces or {}

    def also(self, name: str, figures: Sequence[float], during: str = "") -> Rounds:
        """With the figures of one more work, which the others leave behind in each round.

        `during`: the work that left them, if they too are larger where the processor is slower.
        """
        paces = {**self._paces, name: self._paces[during]} if during else self._paces
        return Rounds({**self._figures, name: figures}, self.yardstick, self._more, paces)

    def until_sure(self, row: Callable[[], Row]) -> Row:
        """A row with a verdict, or after as many rounds as there may be. What it is made from must still be there."""
        found = row()
        while found.target is not None and found.why_unsure and next(self._more, None):
            found = row()
        return found

    def __getitem__(self, name: str) -> float:
        """The median of one work."""
        return median(self._figures[name])

    def ratio(self, ours: str, peer: str) -> float:
        """Two works of the same round, one by the other; the median of that."""
        return median(self._ratios(ours, peer))

    def middle(self, ours: str, peer: str) -> tuple[float, float]:
        """Between which ratios the middle half of the rounds were, or all, where they are few."""
        found = self._ratios(ours, peer)
        return (min(found), max(found)) if self.few else _middle_half(found)

    @property
    def few(self) -> bool:
        """Whether there were so few rounds that all of them must agree."""
        return min(map(len, self._figures.values())) < FEW

    def _ratios(self, ours: str, peer: str) -> list[float]:
        one, other = self._figures[ours], self._figures[peer]
        if ours in self._paces and peer in self._paces:
            one, other = self._work(ours), self._work(peer)
        return [a / b for a, b in zip(one, other, strict=True)]

    def _work(self, name: str) -> Sequence[float]:
        """The figures by the machine's pace, where that makes a difference."""
        found = self._figures[name]
        if name not in self._paces:
            return found
        return [figure / pace for figure, pace in zip(found, self._paces[name], strict=True)]

    def moved(self, name: str) -> float:
        """How far the middle half of the rounds of one work differ, by their median."""
        found = self._work(name)
        low, high = _middle_half(found)
        return (high - low) / median(found)


def _middle_half(figures: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile."""
    if len(figures) < 2:
        return figures[0], figures[0]
    low, _, high = quantiles(figures, n=4, method="inclusive")
    return low, high


def rounds(
    works: Mapping[str, Work],
    repeats: int,
    *,
    gc_on: bool = False,
    warm_up: bool = True,
    yardstick: Yardstick = PARSING,
    waits: Collection[str] = (),
    parallel: Collection[str] = (),
) -> Rounds:
    """Let the works and the yardstick take turns, so that a slow spell of the machine falls on all of them.

    The first round is to warm up and does not count; what takes long needs none. Where a row has no verdict then, there
    may be more. `waits`: the works that do not take longer where the processor is slower; `parallel`: those of several
    processes.
    """
    taking_turns = {**works, yardstick.name: yardstick.work}
    if yardstick.waits:
        waits = {*waits, yardstick.name}
    figures: dict[str, list[float]] = {name: [] for name in taking_turns}
    paces: dict[str, list[float]] = {name: [] for name in taking_turns if name not in waits}

    def take_round() -> bool:
        with collector(gc_on):
            for name, work in taking_turns.items():
                if name in paces:
                    figure, pace = with_pace_of_two(work) if name in parallel else with_pace(work)
                    paces[name].append(pace)
                else:
                    figure = work()
                figures[name].append(figure)
        return True

    for _ in range(repeats + warm_up):
        take_round()
    if warm_up:
        for found in (*figures.values(), *paces.values()):
            del found[0]
    more = (take_round() for _ in range(repeats * (Insistence.most - 1)))
    return Rounds(figures, yardstick.name, more, paces)
