"""Tries a request again if that can help: back-off, the provider's own wait, a time limit, and a countdown to show."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from msgspec import Struct

from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import ReplyPart, ReportedUsage

Make = Callable[[], AsyncIterator[ReplyPart]]
"""Starts the same request again."""


class RetrySchedule(Struct, frozen=True):
    """How long and how often a request is tried again."""

    tries: int = 5
    """The number of requests, including the first."""
    seconds: float = 180.0
    """From the first request to the start of the last one; a longer wait is not begun."""
    first_wait: float = 1.0
    longest_wait: float = 30.0
    """Doubling stops here. A wait that the provider names is not shortened."""
    jitter: float = 0.25
    """The share by which our own waits vary, to keep many clients from returning at once. A wait that the provider
    names becomes longer by up to as many seconds."""

    def wait(self, try_number: int, failure: ModelFailure, chance: float) -> float:
        """Seconds to wait after a try failed; `chance` is between 0 and 1."""
        if failure.wait is not None:
            return failure.wait + self.jitter * chance
        # 2**30 seconds exceed any longest wait; a thousand doublings would overflow a float.
        plain = min(self.longest_wait, self.first_wait * 2.0 ** min(try_number - 1, 30))
        return plain * (1 + self.jitter * (2 * chance - 1))


class RetryWait(NamedTuple):
    """A second of the countdown to the next try."""

    seconds_left: float
    try_number: int
    """The try that comes after the wait; the first is 1."""
    failure: ModelFailure
    """Why the last try failed."""


async def with_retries(
    make: Make,
    schedule: RetrySchedule | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> AsyncGenerator[ReplyPart | RetryWait, None]:
    """The waits, then the parts of the first try that yields any.

    After the first part a failure is final: the caller keeps what arrived. A usage report does not count as such a
    part: Anthropic sends it before the first word.
    """
    schedule = schedule or RetrySchedule()
    started = clock()
    for try_number in range(1, schedule.tries + 1):
        began = False
        try:
            async with _closing(make()) as parts:
                async for part in parts:
                    began = began or not isinstance(part, ReportedUsage)
                    yield part
            return
        except ModelFailure as failure:
            wait = schedule.wait(try_number, failure, chance())
            late = clock() + wait - started > schedule.seconds
            if began or not failure.retryable or late or try_number == schedule.tries:
                failure.tries = try_number
                raise
            reason = failure
        ends = clock() + wait
        while (left := ends - clock()) > 0:
            yield RetryWait(left, try_number + 1, reason)
            await sleep(min(left, 1.0))


@asynccontextmanager
async def _closing(parts: AsyncIterator[ReplyPart]) -> AsyncIterator[AsyncIterator[ReplyPart]]:
    """Close the stream when we are closed; otherwise its connection would wait for the garbage collector."""
    try:
        yield parts
    finally:
        if isinstance(parts, AsyncGenerator):
            await parts.aclose()
