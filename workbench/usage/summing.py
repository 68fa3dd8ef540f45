"""Makes the table: each request counted once, with its cost and its day."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import datetime

from workbench.models.catalogue import Catalogue
from workbench.models.known_costs import request_cost
from workbench.traces import agent_names
from workbench.usage.once import CountedRequests, counted_once
from workbench.usage.records import CompactionUse, RateLimit, SessionUse
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
    for counted in counted_once(sessions):
        costs = [
            request_cost(catalogue, use.model, use.cost, use.prompt, use.cached, use.written, use.hour, use.out)[0]
            for use in counted.uses
        ]
        _add_requests(made, counted, costs, day_of)
        if counted.agent == agent_names.CLAUDE_CODE:
            claude += [each for each in zip(counted.uses, costs, strict=True) if each[0].at]
    compacted = {used.session: {each.at for each in used.compactions} for used in sessions if used.compactions}
    for used in sessions:
        for compaction in _compactions_once(used, compacted.get(used.copied_from, set())):
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


def _add_requests(
    made: dict[tuple[str, ...], UsageBucket],
    counted: CountedRequests,
    costs: Sequence[float | None],
    day_of: Callable[[int], str],
) -> None:
    agent, session, folder, uses = counted
    known: dict[tuple[str, ...], UsageSums] = {}
    for use, cost in zip(uses, costs, strict=True):
        tools = use.tools
        key = (day_of(use.at), use.model, tools[0] if tools else "", use.sub_agent)
        sums = known.get(key)
        if sums is None:
            day, model, tool, sub_agent = key
            full = (day, agent, session, folder, model, tool, sub_agent)
            sums = known[key] = made.setdefault(full, UsageBucket(*full, UsageSums())).sums
        cached, written = use.cached, use.written
        fresh = use.prompt - cached - written
        sums.requests += 1
        sums.fresh += fresh if fresh > 0 else 0
        sums.cached += cached
        sums.written += written
        sums.out += use.out
        if tools:
            sums.calls += len(tools)
        if use.is_unfinished:
            sums.unfinished += 1
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
