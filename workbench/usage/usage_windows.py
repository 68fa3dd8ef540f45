"""The windows of five hours in which Claude's plans count.

A window begins with the hour of its first request, and ends five hours later, or when nothing was asked for five hours.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from workbench.models.known_costs import known_part

HOUR = 3_600_000
LENGTH = 5 * HOUR


class FiveHours(msgspec.Struct, array_like=True):
    """One window, or the requests of one hour in it."""

    start: int
    """Milliseconds since 1970; of an hour, the first request in it."""
    last: int
    """The last request in it."""
    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    uncosted: int = 0
    unfinished: int = 0
    """Requests whose report was written before the answer ended."""

    def add_request(self, at: int, tokens: int, cost: float | None, is_unfinished: bool) -> None:
        """Add a request of the same hour."""
        if at > self.last:
            self.last = at
        elif at < self.start:
            self.start = at
        self.requests += 1
        self.tokens += tokens
        if cost is None:
            self.uncosted += 1
        else:
            self.cost += cost
        if is_unfinished:
            self.unfinished += 1

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


def hour_end(at: int) -> int:
    """The end of the hour that a time is in, or that ends with it. No window ends within such an hour."""
    return -(-at // HOUR) * HOUR


def five_hour_windows(hours: Iterable[FiveHours]) -> list[FiveHours]:
    """The windows of requests that were added up by the hour, the earliest first."""
    found: list[FiveHours] = []
    for each in sorted(hours, key=lambda each: each.start):
        window = found[-1] if found else None
        if window is None or each.start - window.start > LENGTH or each.start - window.last > LENGTH:
            window = FiveHours(each.start // HOUR * HOUR, each.last)
            found.append(window)
        window.last = max(window.last, each.last)
        window.requests += each.requests
        window.tokens += each.tokens
        window.cost += each.cost
        window.uncosted += each.uncosted
        window.unfinished += each.unfinished
    return found
