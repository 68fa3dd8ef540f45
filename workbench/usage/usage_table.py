"""All requests of all sessions, each counted once, as sums by day, model, folder, agent, session and tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Literal, NamedTuple, get_args

import msgspec

from workbench.models.known_costs import known_part
from workbench.usage.records import RateLimit
from workbench.usage.usage_windows import FiveHours

Dimension = Literal["day", "week", "model", "folder", "agent", "session", "tool"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)


class UsageSums(msgspec.Struct, array_like=True):
    """Sums over requests."""

    requests: int = 0
    fresh: int = 0
    """Prompt tokens that were neither read from the provider's cache nor written to it."""
    cached: int = 0
    written: int = 0
    out: int = 0
    cost: float = 0.0
    """US dollars; the known part."""
    uncosted: int = 0
    """Requests whose cost is unknown."""
    compactions: int = 0
    calls: int = 0
    """Calls of tools."""
    silent: int = 0
    """Sessions with answers and no report on any of them: how much they used is unknown."""
    unfinished: int = 0
    """Requests whose report was written before the answer ended: `out` and `cost` are at least this."""

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.fresh + self.cached + self.written + self.out

    @property
    def known_cost(self) -> float | None:
        """The known part of the cost; None if no request has a known price."""
        return None if not self.is_known else known_part(self.cost, self.requests, self.uncosted)

    @property
    def is_part_of_cost(self) -> bool:
        """Whether the real cost is higher than the known one."""
        return bool(self.uncosted or self.silent or self.unfinished)

    @property
    def is_known(self) -> bool:
        """Whether any request was reported."""
        return bool(self.requests) or not self.silent

    def add_sums(self, other: UsageSums) -> None:
        """Add other sums to these."""
        # Field by field: thousands of them are added before the first answer can be shown.
        self.requests += other.requests
        self.fresh += other.fresh
        self.cached += other.cached
        self.written += other.written
        self.out += other.out
        self.cost += other.cost
        self.uncosted += other.uncosted
        self.compactions += other.compactions
        self.calls += other.calls
        self.silent += other.silent
        self.unfinished += other.unfinished


class UsageBucket(msgspec.Struct, array_like=True):
    """The requests that have all of these in common."""

    day: str
    """As 2026-11-17, in local time; empty if unknown."""
    agent: str
    session: str
    folder: str
    model: str
    tool: str
    """The first that the answer called; empty for an answer without calls."""
    sub_agent: str
    sums: UsageSums


class AgentLimit(NamedTuple):
    """A limit that an agent recorded."""

    agent: str
    limit: RateLimit


class UsageTable(msgspec.Struct, array_like=True):
    """All that is shown. It can be kept in the cache."""

    buckets: list[UsageBucket] = []
    refs: dict[str, str] = {}
    """What opens each session."""
    windows: list[FiveHours] = []
    """Of Claude Code, the earliest first."""
    limits: list[AgentLimit] = []
    """The last ones that were recorded, of each agent."""
    broken: dict[str, str] = {}
    """The files that are missing because their reader failed, with its error."""


class UsageRow(NamedTuple):
    """A group of requests."""

    name: str
    agent: str
    """Of a session."""
    folder: str
    """Of a session."""
    sums: UsageSums
    sub_agents: int
    last_day: str


def grouped(buckets: Iterable[UsageBucket], by: Dimension) -> list[UsageRow]:
    """A row for each day, model or other; days in order, the others by cost."""
    sums: dict[str, UsageSums] = {}
    sub_agents: dict[str, set[tuple[str, str]]] = {}
    about: dict[str, UsageBucket] = {}
    last: dict[str, str] = {}
    for each in buckets:
        name = bucket_name(each, by)
        if name not in sums:
            sums[name], sub_agents[name], about[name], last[name] = UsageSums(), set(), each, each.day
        sums[name].add_sums(each.sums)
        last[name] = max(last[name], each.day)
        if each.sub_agent:
            sub_agents[name].add((each.session, each.sub_agent))
    is_session = by == "session"
    rows = [
        UsageRow(
            name,
            about[name].agent if is_session else "",
            about[name].folder if is_session else "",
            sums[name],
            len(sub_agents[name]),
            last[name],
        )
        for name in sums
    ]
    if by in ("day", "week"):
        return sorted(rows, key=lambda row: row.name)
    return sorted(rows, key=lambda row: (-row.sums.cost, -row.sums.tokens, row.name))


def total_row(buckets: Iterable[UsageBucket]) -> UsageRow:
    """All of it as one row."""
    sums, sub_agents, last = UsageSums(), set[tuple[str, str]](), ""
    for each in buckets:
        sums.add_sums(each.sums)
        last = max(last, each.day)
        if each.sub_agent:
            sub_agents.add((each.session, each.sub_agent))
    return UsageRow("", "", "", sums, len(sub_agents), last)


def bucket_name(each: UsageBucket, by: Dimension) -> str:
    """What a bucket is called in a way to group."""
    if by == "week":
        return week_of(each.day)
    return str(getattr(each, by))


def week_of(day: str) -> str:
    """The Monday of the week of a day."""
    if not day:
        return ""
    found = date.fromisoformat(day)
    return (found - timedelta(days=found.weekday())).isoformat()


def chosen_buckets(
    buckets: Iterable[UsageBucket], since: str = "", only: Mapping[str, str] | None = None
) -> list[UsageBucket]:
    """Those from a day on, and of one agent or session; `only`: the field and its value."""
    wanted = [*(only or {}).items()]
    return [
        each
        for each in buckets
        if (not since or each.day >= since) and all(getattr(each, name) == value for name, value in wanted)
    ]
