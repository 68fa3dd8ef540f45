"""What the requests of a session add up to, wherever they were read."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from workbench.usage.records import RequestUse, SessionUse
from workbench.usage.usage_table import UsageBucket
from workbench.usage.usage_windows import FiveHours


class SessionSums(msgspec.Struct, array_like=True, gc=False):
    """The sums of a session, as long as none of its requests is in another session as well."""

    first: int = 0
    """The time of its first request; 0 if unknown."""
    last: int = 0
    keys: list[str] = []
    """Of the requests that have one."""
    buckets: list[UsageBucket] = []
    hours: list[FiveHours] = []
    """For Claude Code: what the windows of five hours are made of."""


class SummedSession(NamedTuple):
    """A session with its sums."""

    used: SessionUse
    """It may lack its requests."""
    sums: SessionSums
    load_requests: Callable[[], list[RequestUse]]
