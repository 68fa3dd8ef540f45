"""What the reports of a session show of the provider's cache, and what that means for other policies.

A provider loses caches: it drops them early, or another of its machines answers. An agent may mark nothing for the
cache, and some models cache no short request. Reports show all that. It is no policy's doing, so it holds under every
policy as far as a request begins like the recorded one: where the cache was lost, it is lost for all. So a policy whose
requests are the recorded ones costs what was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from workbench.lab.caching import HOUR, LEAST, CacheUse
from workbench.log.events import Usage

LOST = 0.9
"""If less than this share of what could be read was read, the cache was lost."""


def reported_use(report: Usage, size: int) -> CacheUse:
    """How a request of `size` tokens divides by its report."""
    read = min(report.cached, size)
    written = min(report.cache_write, size - read)
    return CacheUse(read, written, size - read - written, min(report.cache_hour, written))


class ReportedRequest(Struct, frozen=True):
    """A recorded request with a report."""

    use: CacheUse
    shared: int
    """How many tokens it shares with the beginning of the request before: they could have been read."""

    @property
    def is_lost(self) -> bool:
        """Whether the provider's cache held much less than it could have."""
        return self.use.read < LOST * self.shared


class RecordedCache:
    """The provider's cache during a session, by its reports."""

    def __init__(self, requests: Sequence[ReportedRequest | None], minutes: int) -> None:
        """`requests`: None for one without a report. `minutes`: how long the agent has its cache kept."""
        self._requests = requests
        self._minutes = minutes
        uses = [each.use for each in requests if each is not None]
        self._writes = any(use.written for use in uses)
        """Whether the provider reports what it writes."""
        self._least = _least_size(uses) if self._writes else 0
        self.losses = sum(each is not None and each.is_lost for each in requests)
        """How often the cache was lost."""

    def is_reported(self, number: int) -> bool:
        """Whether there is a report for a request, numbered from 1."""
        return self._requests[number - 1] is not None

    def use_of(self, number: int, size: int, shared: int) -> CacheUse:
        """How a request of `size` tokens would have divided in place of the recorded one.

        `shared`: how many tokens it shares with the beginning of the request before it under the same policy.
        """
        then = self._requests[number - 1]
        assert then is not None, "ask is_reported first"
        if size < self._least:
            return CacheUse(0, 0, size)
        found = min(shared, then.use.read) if then.is_lost else shared + then.use.read - then.shared
        read = min(max(0, found), size)
        return self._rest_of(then.use, read, size - read)

    def _rest_of(self, then: CacheUse, read: int, rest: int) -> CacheUse:
        """Divide what is not read as the recorded request was divided."""
        if not self._writes or not (then.read or then.written):  # nothing was marked for the cache
            return CacheUse(read, 0, rest)
        plain = min(rest, then.plain)
        written = rest - plain
        hour = written * then.hour // then.written if then.written else written * (self._minutes == HOUR)
        return CacheUse(read, written, plain, hour)


def _least_size(uses: Sequence[CacheUse]) -> int:
    """The size below which no request is cached.

    That is `LEAST`, unless the reports show otherwise: a smaller request was cached, or a larger one was not.
    """
    cached = min(sum(use[:3]) for use in uses if use.read or use.written)
    too_small = (sum(use[:3]) for use in uses if not (use.read or use.written))
    return max(min(LEAST, cached), *(size + 1 for size in too_small if size < cached), 0)
