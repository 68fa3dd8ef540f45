"""Holds the figures of a session against limits. The figures are those of the lab and of its report on waste."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from workbench.config.text import counted
from workbench.lab.values import LabPoint, PolicyRun, SourceRun

LimitName = Literal["tokens", "share", "waste", "cost", "misses"]
LimitResult = Literal["ok", "over", "unknown"]

NO_REQUEST: Final = "it holds no request"


class SessionLimits(Struct, frozen=True):
    """The most that a session may have; None: any number."""

    tokens: int | None = None
    """Tokens of its largest request."""
    share: float | None = None
    """The share of the window that its largest request takes."""
    waste: float | None = None
    """The share of its input tokens that is waste."""
    cost: float | None = None
    """Dollars."""
    misses: int | None = None
    """Facts that an answer used and that were gone."""


class LimitCheck(NamedTuple):
    """One figure of a session and its limit."""

    limit: LimitName
    figure: float | None
    """None where it is not known."""
    most: float
    request: int | None
    """The number of the request that it is about, counted as the lab does; None where it is about all of them."""
    event: int | None
    """The last event in that request."""
    note: str
    """What the figure is about, or why it is not known."""

    @property
    def result(self) -> LimitResult:
        """What the check found."""
        if self.figure is None:
            return "unknown"
        return "over" if self.figure > self.most else "ok"


class LargestRequest(NamedTuple):
    """The largest request of a session."""

    tokens: int
    window: int | None
    """None where it is a guess."""
    request: int | None = None
    event: int | None = None
    note: str = ""


def largest_request(run: PolicyRun) -> LargestRequest | None:
    """The largest request under a policy, the first of several; None where there is none."""
    point: LabPoint | None = max(run.points, key=lambda each: each.tokens, default=None)
    if point is None:
        return None
    return LargestRequest(point.tokens, None if run.is_window_guessed else run.window, point.request, point.event)


def check_limits(source: SourceRun, limits: SessionLimits, largest: LargestRequest | None) -> list[LimitCheck]:
    """A check for each limit that is set.

    The first run of the source is what was recorded; the last is under the policy to check, and may be the same.
    """
    return list(_checks(source, limits, largest))


def _checks(source: SourceRun, limits: SessionLimits, largest: LargestRequest | None) -> Iterator[LimitCheck]:
    if limits.tokens is not None:
        yield _size_check("tokens", largest and largest.tokens, limits.tokens, largest, "")
    if limits.share is not None:
        share = largest.tokens / largest.window if largest is not None and largest.window else None
        model = f" of {source.model}" if source.model else ""
        yield _size_check("share", share, limits.share, largest, f"the window{model} is not known; --window N sets it")
    if limits.waste is not None:
        yield _waste_check(source, limits.waste)
    if limits.cost is not None:
        yield _cost_check(source, limits.cost)
    if limits.misses is not None:
        yield _misses_check(source, limits.misses)


def _size_check(
    limit: LimitName, figure: float | None, most: float, largest: LargestRequest | None, unknown: str
) -> LimitCheck:
    if largest is None:
        return LimitCheck(limit, None, most, None, None, NO_REQUEST)
    note = largest.note if figure is not None else unknown
    return LimitCheck(limit, figure, most, largest.request, largest.event, note)


def _waste_check(source: SourceRun, most: float) -> LimitCheck:
    tokens, waste = source.runs[0].tokens, source.waste
    if not tokens or waste is None:
        return LimitCheck("waste", None, most, None, None, NO_REQUEST)
    worst = max(waste.items, key=lambda item: item.carried, default=None)
    share = waste.total.carried / tokens
    if worst is None or not worst.carried:
        return LimitCheck("waste", share, most, None, None, "")
    note = f"most by event {worst.event}: {worst.line}"
    event = next((point.event for point in source.runs[0].points if point.request == worst.request), None)
    return LimitCheck("waste", share, most, worst.request, event, note)


def _cost_check(source: SourceRun, most: float) -> LimitCheck:
    run = source.runs[-1]
    if not run.points:
        return LimitCheck("cost", None, most, None, None, NO_REQUEST)
    if run.cost is None:
        whose = f"no price is known for {source.model}" if source.model else "it names no model, so no price is known"
        return LimitCheck("cost", None, most, None, None, f"{whose}; --model NAME takes the prices of another model")
    return LimitCheck("cost", run.cost, most, None, None, f"all of {counted(len(run.points), 'request')}")


def _misses_check(source: SourceRun, most: int) -> LimitCheck:
    run = source.runs[-1]
    if not run.points:
        return LimitCheck("misses", None, most, None, None, NO_REQUEST)
    if not run.misses:
        return LimitCheck("misses", 0, most, None, None, "")
    first = run.misses[0]
    event = next((point.event for point in run.points if point.request == first.request), None)
    note = f"first: {first.kind} {first.fact}"
    return LimitCheck("misses", len(run.misses), most, first.request, event, note)
