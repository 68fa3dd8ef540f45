"""A request is tried again only where that can help, while nothing was said yet, and within time and tries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.models.failures import RETRYABLE, Category, ModelFailure
from workbench.models.reply_parts import ReplyFinished, ReplyPart, ReportedUsage, TextPiece
from workbench.models.retry import Make, RetrySchedule, RetryWait, with_retries

CATEGORIES: tuple[Category, ...] = get_args(Category)
ANSWER: list[ReplyPart | ModelFailure] = [TextPiece("hi"), ReplyFinished("stop")]
BUSY = ModelFailure("overloaded", "busy.")


class Times:
    """A clock that only sleeping moves on."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Scripted:
    """Streams in order, one per try; remembers how many were begun and closed."""

    def __init__(self, *tries: Sequence[ReplyPart | ModelFailure]) -> None:
        self.tries = list(tries)
        self.begun = 0
        self.closed = 0

    async def __call__(self) -> AsyncIterator[ReplyPart]:
        steps = self.tries[min(self.begun, len(self.tries) - 1)]
        self.begun += 1
        try:
            for step in steps:
                if isinstance(step, ModelFailure):
                    raise step
                yield step
        finally:
            self.closed += 1


async def collect(
    make: Make,
    schedule: RetrySchedule | None = None,
    times: Times | None = None,
    chance: Callable[[], float] = lambda: 0.5,
) -> tuple[list[ReplyPart | RetryWait], ModelFailure | None]:
    times = times or Times()
    found: list[ReplyPart | RetryWait] = []
    try:
        async for each in with_retries(make, schedule, clock=times.clock, sleep=times.sleep, chance=chance):
            found.append(each)
    except ModelFailure as failure:
        return found, failure
    return found, None


async def test_an_answer_at_once_waits_for_nothing() -> None:
    make = Scripted(ANSWER)
    assert await collect(make) == (ANSWER, None)
    assert (make.begun, make.closed) == (1, 1)


async def test_waits_double_and_count_down_by_the_second() -> None:
    times = Times()
    found, failure = await collect(Scripted([BUSY], [BUSY], [BUSY], ANSWER), times=times)
    waits = [each for each in found if isinstance(each, RetryWait)]
    assert failure is None
    assert [(wait.seconds_left, wait.try_number) for wait in waits] == [
        (1, 2),
        (2, 3),
        (1, 3),
        (4, 4),
        (3, 4),
        (2, 4),
        (1, 4),
    ]
    assert all(wait.failure is BUSY for wait in waits)
    assert times.slept == [1] * 7
    assert found[-2:] == ANSWER


async def test_the_providers_wait_is_honoured() -> None:
    times = Times()
    limited = ModelFailure("rate_limit", "slow.", wait=2.5)
    await collect(Scripted([limited], ANSWER), times=times, chance=lambda: 0.0)
    assert times.slept == [1, 1, 0.5]


async def test_a_wait_beyond_the_budget_is_not_begun() -> None:
    times = Times()
    limited = ModelFailure("rate_limit", "slow.", wait=3600)
    assert await collect(Scripted([limited], ANSWER), times=times) == ([], limited)
    assert times.slept == []


@pytest.mark.parametrize("category", CATEGORIES)
async def test_only_what_can_pass_by_itself_is_tried_again(category: Category) -> None:
    make = Scripted([ModelFailure(category, "no.")], ANSWER)
    _, failure = await collect(make)
    assert (failure is None) == (category in RETRYABLE)
    assert make.begun == (2 if category in RETRYABLE else 1)


async def test_after_the_first_part_a_failure_is_final() -> None:
    make = Scripted([TextPiece("so"), BUSY], ANSWER)
    assert await collect(make) == ([TextPiece("so")], BUSY)
    assert make.begun == 1


async def test_a_cost_that_comes_before_the_first_word_is_no_answer() -> None:
    make = Scripted([ReportedUsage(10, 0), BUSY], ANSWER)
    found, failure = await collect(make)
    assert (make.begun, failure) == (2, None)
    assert [part for part in found if not isinstance(part, RetryWait | ReportedUsage)] == [
        part for part in ANSWER if not isinstance(part, ReportedUsage)
    ]


@given(
    st.lists(st.sampled_from([None, 0.0, 0.4, 7.0, 50.0]), min_size=1, max_size=12),
    st.integers(1, 8),
    st.floats(0, 120),
    st.floats(0, 1),
)
async def test_tries_and_time_are_never_exceeded(
    waits: list[float | None], tries: int, seconds: float, chance: float
) -> None:
    times = Times()
    make = Scripted(*([ModelFailure("rate_limit", "slow.", wait=wait)] for wait in waits))
    _, failure = await collect(make, RetrySchedule(tries, seconds), times, lambda: chance)
    assert failure is not None
    assert make.begun == make.closed <= tries
    assert sum(times.slept) <= seconds + 1e-6


async def test_closing_closes_the_stream_below() -> None:
    make = Scripted(ANSWER)
    stream = with_retries(make)
    assert await anext(stream) == TextPiece("hi")
    await stream.aclose()
    assert make.closed == 1
