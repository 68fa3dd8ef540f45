"""The figures of a row: as words for people, and as JSON. An unknown figure is a dash, or null."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, NamedTuple

from workbench.config.distribution import litellm_version
from workbench.config.text import counted, percent, when
from workbench.usage.usage_table import UsageRow, UsageSums, UsageTable

UNKNOWN, AT_LEAST = "–", "≥"


class Figure(NamedTuple):
    """A column of figures."""

    head: str
    value: Callable[[UsageRow], str]


def dollars(cost: float | None, is_part: bool = False) -> str:
    """An amount of money; marked as the least that it can be where some of it is not known."""
    if cost is None:
        return UNKNOWN
    digits = 2 if cost >= 1 or cost == 0 else 4
    return f"{AT_LEAST if is_part else ''}${cost:,.{digits}f}"


def _count(name: str) -> Callable[[UsageRow], str]:
    return lambda row: f"{getattr(row.sums, name):,}" if row.sums.is_known else UNKNOWN


def _out(row: UsageRow) -> str:
    return (AT_LEAST if row.sums.unfinished else "") + _count("out")(row)


FIGURES = (
    Figure("requests", _count("requests")),
    Figure("fresh", _count("fresh")),
    Figure("cached", _count("cached")),
    Figure("written", _count("written")),
    Figure("out", _out),
    Figure("cost", lambda row: dollars(row.sums.known_cost, row.sums.is_part_of_cost)),
    Figure("sub-agents", lambda row: f"{row.sub_agents:,}"),
    Figure("compactions", lambda row: f"{row.sums.compactions:,}"),
)


def shown_figures(row: UsageRow) -> tuple[str, ...]:
    """The figures of a row, in the order of `FIGURES`."""
    return tuple(figure.value(row) for figure in FIGURES)


def figures_json(row: UsageRow) -> dict[str, Any]:
    """The figures of a row for programs."""
    sums = row.sums
    known = {name: getattr(sums, name) if sums.is_known else None for name in _COUNTED}
    cost = sums.known_cost
    return known | {
        "cost": None if cost is None else round(cost, 6),
        "uncosted": sums.uncosted,
        "sub_agents": row.sub_agents,
        "compactions": sums.compactions,
        "calls": sums.calls if sums.is_known else None,
        "silent": sums.silent,
        "unfinished": sums.unfinished,
    }


_COUNTED = ("requests", "fresh", "cached", "written", "out")


def price_note(sums: UsageSums) -> list[str]:
    """Where the prices are from, and what they leave out."""
    version = litellm_version()
    source = f"litellm {version}" if version else "your [models] entries"
    notes = [
        f"costs as the agents recorded them, else by the list prices of {source}, as of {date.today().isoformat()}; "
        "a plan with a fixed price costs less"
    ]
    if sums.unfinished:
        those = counted(sums.unfinished, "request was", "requests were")
        notes.append(f"{AT_LEAST} at least: {those} recorded before the answer had ended")
    if sums.uncosted:
        notes.append(f"{AT_LEAST} without {counted(sums.uncosted, 'request')} of models whose price is not known")
    if sums.silent:
        those = counted(sums.silent, "session that reports", "sessions that report")
        notes.append(f"{AT_LEAST} without {those} no tokens")
    return notes


def limit_lines(found: UsageTable, now: int) -> Iterator[str]:
    """The windows and limits that are open now."""
    for each in found.windows:
        if each.start <= now < each.end:  # a wrong clock may have written others
            left = f"{(each.end - now) // 60_000:,} min left"
            cost = dollars(each.known_cost, each.is_part_of_cost)
            figures = f"{counted(each.requests, 'request')}, {each.tokens:,} tokens, {cost}"
            yield f"Claude Code, 5 hours from {when(each.start)}: {figures}; {left}"
    for agent, limit in found.limits:
        if limit.at <= now < limit.resets_at:
            used = f"{percent(limit.used / 100)} used"
            yield f"{agent}, {_length(limit.minutes)}: {used} at {when(limit.at)}; resets at {when(limit.resets_at)}"


def broken_lines(found: UsageTable) -> list[str]:
    """The files that are not counted because they broke their reader."""
    return [f"{AT_LEAST} without {path}: its reader failed ({fault})" for path, fault in found.broken.items()]


def _length(minutes: int) -> str:
    if minutes % 1440 == 0:
        return counted(minutes // 1440, "day")
    return counted(minutes // 60, "hour") if minutes % 60 == 0 else counted(minutes, "minute")


def limits_json(found: UsageTable) -> dict[str, Any]:
    """All windows of Claude Code, the last limits that agents recorded, and the files that are not counted."""
    return {
        "windows": [
            {
                "agent": "Claude Code",
                "start": each.start,
                "end": each.end,
                "requests": each.requests,
                "tokens": each.tokens,
                "cost": None if each.known_cost is None else round(each.known_cost, 6),
            }
            for each in found.windows
        ],
        "limits": [
            {
                "agent": agent,
                "minutes": limit.minutes,
                "used_percent": limit.used,
                "resets_at": limit.resets_at or None,
                "at": limit.at or None,
            }
            for agent, limit in found.limits
        ],
        "broken": [*found.broken],
    }
