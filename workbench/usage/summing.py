"""Makes the table: each request counted once, with its cost and its day."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import datetime

from workbench.log.events import Usage
from workbench.models.catalogue import Catalogue
from workbench.models.ledger import request_cost
from workbench.traces import agent_names
from workbench.usage.once import CountedRequest, counted_once
from workbench.usage.records import CompactionUse, RateLimit, RequestUse, SessionUse
from workbench.usage.usage_table import AgentLimit, UsageBucket, UsageSums, UsageTable
from workbench.usage.usage_windows import five_hour_windows

NO_DAY = ""
_QUARTER = 900_000
"""Milliseconds; days begin at a quarter of an hour in every time zone."""


def make_table(sessions: Sequence[SessionUse], catalogue: Catalogue) -> UsageTable:
    """Sum up what the sessions used; a request that is in several of them counts once."""
    made: dict[tuple[str, ...], UsageBucket] = {}
    day_of = day_finder()
    claude = []
    for each in counted_once(sessions):
        cost = request_cost(_report(each.use), each.use.prompt, catalogue)[0]
        _add_request(made, day_of(each.use.at), each, cost)
        if each.agent == agent_names.CLAUDE_CODE and each.use.at:
            claude.append((each.use, cost))
    compacted = {used.session: {each.at for each in used.compactions} for used in sessions if used.compactions}
    for used in sessions:
        for compaction in _compactions_once(used, compacted.get(used.copied_from, set())):
            _bucket(made, day_of(compaction.at), used, compaction.model).sums.compactions += 1
        if used.silent_since:
            _bucket(made, day_of(used.silent_since), used, "").sums.silent += 1
    refs = {used.session: used.ref for used in reversed(sessions) if not used.belongs_to}
    return UsageTable([*made.values()], refs, five_hour_windows(claude), _last_limits(sessions))


def _report(use: RequestUse) -> Usage:
    """A request in the form that costs are computed from."""
    return Usage(use.model, 0, use.prompt, use.cached, use.written, use.out, cost=use.cost, cache_hour=use.hour)


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
    sums.unfinished += use.is_unfinished
    if cost is None:
        sums.uncosted += 1
    else:
        sums.cost += cost


def _bucket(made: dict[tuple[str, ...], UsageBucket], day: str, used: SessionUse, model: str) -> UsageBucket:
    key = (day, used.agent, used.belongs_to or used.session, used.folder, model, "", "")
    return made.setdefault(key, UsageBucket(*key, UsageSums()))


def _compactions_once(used: SessionUse, copied: Container[int]) -> Iterator[CompactionUse]:
    """The compactions of a session without those that it copied from another; `copied`: their times there."""
    return (each for each in used.compactions if not each.at or each.at not in copied)


def _last_limits(sessions: Iterable[SessionUse]) -> list[AgentLimit]:
    found: dict[tuple[str, int], RateLimit] = {}
    for used in sessions:
        for limit in used.limits:
            before = found.get((used.agent, limit.minutes))
            if before is None or before.at < limit.at:
                found[used.agent, limit.minutes] = limit
    return [AgentLimit(agent, limit) for (agent, _), limit in sorted(found.items())]
