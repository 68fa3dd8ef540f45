"""The windows of five hours in which Claude's plans count.

A window begins with the hour of its first request, and ends five hours later, or when nothing was asked for five hours.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from workbench.models.known_costs import known_part
from workbench.usage.records import RequestUse

HOUR = 3_600_000
LENGTH = 5 * HOUR


class FiveHours(msgspec.Struct, array_like=True):
    """One window."""

    start: int
    """Milliseconds since 1970."""
    last: int
    """The last request in it."""
    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    uncosted: int = 0
    unfinished: int = 0
    """Requests whose report was written before the answer ended."""

    @property
    def end(self) -> int:
        """When it ends."""
        return self.start + LENGTH

    @property
    def known_cost(self) -> float | None:
        """The known part of the cost; None if no request has a known price."""
        return known_part(self.cost, self.requests, self.uncosted)

    @property
    def is_part_of_cost(self) -> bool:
        """Whether the real cost is higher than the known one."""
        return bool(self.uncosted or self.unfinished)


def five_hour_windows(requests: Sequence[tuple[RequestUse, float | None]]) -> list[FiveHours]:
    """The windows of these requests and their costs, the earliest first."""
    found: list[FiveHours] = []
    for use, cost in sorted(requests, key=lambda each: each[0].at):
        window = found[-1] if found else None
        if window is None or use.at - window.start > LENGTH or use.at - window.last > LENGTH:
            window = FiveHours(use.at // HOUR * HOUR, use.at)
            found.append(window)
        window.last = use.at
        window.requests += 1
        window.tokens += use.prompt + use.out
        window.cost += cost or 0.0
        window.uncosted += cost is None
        window.unfinished += use.is_unfinished
    return found
