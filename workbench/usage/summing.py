"""Makes the table: each request counted once, with its cost and its day."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import datetime

from workbench.models.catalogue import Catalogue
from workbench.models.known_costs import request_cost
from workbench.traces import format_names
from workbench.usage.once import counted_once
from workbench.usage.records import CompactionUse, RateLimit, RequestUse, SessionUse
from workbench.usage.session_sums import SessionSums, SummedSession
from workbench.usage.usage_table import AgentLimit, UsageBucket, UsageSums, UsageTable
from workbench.usage.usage_windows import HOUR, FiveHours, five_hour_windows, hour_end

NO_DAY = ""
_QUARTER = 900_000
"""Milliseconds; days begin at a quarter of an hour in every time zone."""


class Summing:
    """Adds up requests, with their costs and their days, and makes the table of the sums."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._day_of = day_finder()

    def sum_requests(self, used: SessionUse, requests: Sequence[RequestUse]) -> SessionSums:
        """The sums of requests of a session; one that is repeated counts once."""
        if not requests:
            return SessionSums()
        day_of, find_model = self._day_of, self._catalogue.find_model
        has_windows = used.agent == format_names.CLAUDE_CODE
        made: dict[tuple[str, ...], UsageSums] = {}
        keys: set[str] = set()
        window_parts: dict[int, FiveHours] = {}
        window_part, end = FiveHours(0, 0), 0
        info = find_model(requests[0].model)
        for use in requests:
            key, model, tools = use.key, use.model, use.tools
            at, prompt, cached, written, out = use.at, use.prompt, use.cached, use.written, use.out
            if key:
                if key in keys:
                    continue
                keys.add(key)
            if model != info.name:
                info = find_model(model)
            cost = request_cost(info, use.cost, prompt, cached, written, use.hour, out)[0]
            group = (day_of(at), model, tools[0] if tools else "", use.sub_agent)
            sums = made.get(group)
            if sums is None:
                sums = made[group] = UsageSums()
            fresh = prompt - cached - written
            sums.requests += 1
            sums.fresh += fresh if fresh > 0 else 0
            sums.cached += cached
            sums.written += written
            sums.out += out
            if tools:
                sums.calls += len(tools)
            if use.is_unfinished:
                sums.unfinished += 1
            if cost is None:
                sums.uncosted += 1
            else:
                sums.cost += cost
            if has_windows and at:
                if not end - HOUR < at <= end:
                    end = hour_end(at)
                    window_part = window_parts.setdefault(end, FiveHours(at, at))
                window_part.add_request(at, prompt + out, cost, use.is_unfinished)
        agent, session, folder = used.agent, used.session, used.folder
        buckets = [
            UsageBucket(day, agent, session, folder, model, tool, sub_agent, sums)
            for (day, model, tool, sub_agent), sums in made.items()
        ]
        return SessionSums(requests[0].at, requests[-1].at, [*keys], buckets, [*window_parts.values()])

    def make_table(self, sessions: Sequence[SummedSession]) -> UsageTable:
        """Sum up what the sessions used; a request that is in several of them counts once."""
        made: dict[tuple[str, ...], UsageBucket] = {}
        window_parts: list[FiveHours] = []
        for session, owner, requests in counted_once(sessions):
            sums = session.sums if requests is None else self.sum_requests(session.used, requests)
            window_parts += sums.hours
            for each in sums.buckets:
                each.session = owner
                _add_bucket(made, each)
        uses = [each.used for each in sessions]
        compacted = {used.session: {each.at for each in used.compactions} for used in uses if used.compactions}
        for used in uses:
            for compaction in _compactions_once(used, compacted.get(used.copied_from, set())):
                _add_bucket(made, self._bucket(compaction.at, used, compaction.model, UsageSums(compactions=1)))
            if used.silent_since:
                _add_bucket(made, self._bucket(used.silent_since, used, "", UsageSums(silent=1)))
        refs = {used.session: used.ref for used in reversed(uses) if not used.belongs_to}
        return UsageTable([*made.values()], refs, five_hour_windows(window_parts), _last_limits(uses))

    def _bucket(self, at: int, used: SessionUse, model: str, sums: UsageSums) -> UsageBucket:
        session = used.belongs_to or used.session
        return UsageBucket(self._day_of(at), used.agent, session, used.folder, model, "", "", sums)


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


def _add_bucket(made: dict[tuple[str, ...], UsageBucket], each: UsageBucket) -> None:
    key = (each.day, each.agent, each.session, each.folder, each.model, each.tool, each.sub_agent)
    known = made.setdefault(key, each)
    if known is not each:
        known.sums.add_sums(each.sums)


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
