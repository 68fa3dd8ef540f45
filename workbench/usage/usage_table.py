"""All requests of all sessions, each counted once, as sums by day, model, folder, agent, session and tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Literal, NamedTuple, get_args

import msgspec

from workbench.models.catalogue import Catalogue
from workbench.models.ledger import request_cost
from workbench.usage.once import CountedRequest, counted_once
from workbench.usage.records import CompactionUse, RateLimit, SessionUse
from workbench.usage.usage_windows import FiveHours, five_hour_windows

Dimension = Literal["day", "week", "model", "folder", "agent", "session", "tool"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
NO_DAY = ""
_QUARTER = 900_000
"""Milliseconds; days begin at a quarter of an hour in every time zone."""


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

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.fresh + self.cached + self.written + self.out

    @property
    def known_cost(self) -> float | None:
        """The known part of the cost; None if no request has a known price."""
        unknown = self.uncosted == self.requests and (self.requests or self.silent)
        return None if unknown else self.cost

    @property
    def is_known(self) -> bool:
        """Whether any request was reported."""
        return bool(self.requests) or not self.silent

    def add_sums(self, other: UsageSums) -> None:
        """Add other sums to these."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


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


def make_table(sessions: Sequence[SessionUse], catalogue: Catalogue) -> UsageTable:
    """Sum up what the sessions used; a request that is in several of them counts once."""
    made: dict[tuple[str, ...], UsageBucket] = {}
    day_of = day_finder()
    claude = []
    for each in counted_once(sessions):
        cost = request_cost(each.use.report, each.use.prompt, catalogue)[0]
        _add_request(made, day_of(each.use.at), each, cost)
        if each.agent == "Claude Code" and each.use.at:
            claude.append((each.use, cost))
    for used in sessions:
        for compaction in _compactions_once(used, sessions):
            _bucket(made, day_of(compaction.at), used, compaction.model).sums.compactions += 1
        if used.silent_since:
            _bucket(made, day_of(used.silent_since), used, "").sums.silent += 1
    refs = {used.session: used.ref for used in reversed(sessions) if not used.belongs_to}
    return UsageTable([*made.values()], refs, five_hour_windows(claude), _last_limits(sessions))


def day_finder() -> Callable[[int], str]:
    """A function from milliseconds since 1970 to the day in local time. Each quarter of an hour is looked up once."""
    known: dict[int, str] = {0: NO_DAY}

    def day_of(at: int) -> str:
        quarter = at // _QUARTER
        if quarter not in known:
            try:
                known[quarter] = datetime.fromtimestamp(at / 1000).date().isoformat()
            except (ValueError, OverflowError, OSError):
                known[quarter] = NO_DAY
        return known[quarter]

    return day_of


def _add_request(made: dict[tuple[str, ...], UsageBucket], day: str, each: CountedRequest, cost: float | None) -> None:
    use = each.use
    tool = use.tools[0] if use.tools else ""
    key = (day, each.agent, each.session, each.folder, use.model, tool, use.sub_agent)
    found = made.get(key)
    if found is None:
        found = made[key] = UsageBucket(*key, UsageSums())
    sums = found.sums
    sums.requests += 1
    sums.fresh += max(0, use.prompt - use.cached - use.written)
    sums.cached += use.cached
    sums.written += use.written
    sums.out += use.out
    sums.calls += len(use.tools)
    if cost is None:
        sums.uncosted += 1
    else:
        sums.cost += cost


def _bucket(made: dict[tuple[str, ...], UsageBucket], day: str, used: SessionUse, model: str) -> UsageBucket:
    key = (day, used.agent, used.belongs_to or used.session, used.folder, model, "", "")
    return made.setdefault(key, UsageBucket(*key, UsageSums()))


def _compactions_once(used: SessionUse, sessions: Iterable[SessionUse]) -> Iterator[CompactionUse]:
    """The compactions of a session without those that it copied from another."""
    copied = {each.at for other in sessions if other.session == used.copied_from for each in other.compactions}
    return (each for each in used.compactions if not each.at or each.at not in copied)


def _last_limits(sessions: Iterable[SessionUse]) -> list[AgentLimit]:
    found: dict[tuple[str, int], RateLimit] = {}
    for used in sessions:
        for limit in used.limits:
            before = found.get((used.agent, limit.minutes))
            if before is None or before.at < limit.at:
                found[used.agent, limit.minutes] = limit
    return [AgentLimit(agent, limit) for (agent, _), limit in sorted(found.items())]


def grouped(buckets: Iterable[UsageBucket], by: Dimension) -> list[UsageRow]:
    """A row for each day, model or other; days in order, the others by cost."""
    sums: dict[str, UsageSums] = {}
    helpers: dict[str, set[tuple[str, str]]] = {}
    about: dict[str, UsageBucket] = {}
    last: dict[str, str] = {}
    for each in buckets:
        name = bucket_name(each, by)
        if name not in sums:
            sums[name], helpers[name], about[name], last[name] = UsageSums(), set(), each, each.day
        sums[name].add_sums(each.sums)
        last[name] = max(last[name], each.day)
        if each.sub_agent:
            helpers[name].add((each.session, each.sub_agent))
    is_session = by == "session"
    rows = [
        UsageRow(
            name,
            about[name].agent if is_session else "",
            about[name].folder if is_session else "",
            sums[name],
            len(helpers[name]),
            last[name],
        )
        for name in sums
    ]
    if by in ("day", "week"):
        return sorted(rows, key=lambda row: row.name)
    return sorted(rows, key=lambda row: (-row.sums.cost, -row.sums.tokens, row.name))


def total_row(buckets: Iterable[UsageBucket]) -> UsageRow:
    """All of it as one row."""
    sums, helpers, last = UsageSums(), set[tuple[str, str]](), ""
    for each in buckets:
        sums.add_sums(each.sums)
        last = max(last, each.day)
        if each.sub_agent:
            helpers.add((each.session, each.sub_agent))
    return UsageRow("", "", "", sums, len(helpers), last)


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
