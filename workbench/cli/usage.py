"""`workbench usage`: what the agents on this machine used and cost, and when.

`usage --json` prints

    {"by", "since", "prices", "total": {...},
     "rows": [{"day" or another name, "requests", "fresh", "cached", "written", "out", "cost", "uncosted", "sub_agents",
               "compactions", "calls", "silent"}],
     "windows": [{"agent", "start", "end", "requests", "tokens", "cost"}],
     "limits": [{"agent", "minutes", "used_percent", "resets_at", "at"}]}

where a figure that is not known is null.
"""

from __future__ import annotations

import argparse
import csv
import io
import time
from typing import Any

from workbench.config.errors import WrongCall
from workbench.config.folders import shown_folder, work_folder
from workbench.config.text import line_width, print_json, printable, table
from workbench.live.choosing import agents_called, short_ids
from workbench.sources.services import Services
from workbench.usage.gathering import all_usage
from workbench.usage.usage_figures import FIGURES, figures_json, limit_lines, limits_json, price_note, shown_figures
from workbench.usage.usage_table import Dimension, UsageRow, UsageTable, chosen_buckets, grouped, total_row

_NAMES = {"tool": "(no tool)", "folder": "(unknown)", "model": "(unknown)", "day": "(unknown)", "week": "(unknown)"}
"""What is shown for an empty name."""


def run_usage(options: argparse.Namespace) -> int:
    """Print the sums of all requests."""
    by: Dimension = options.by
    with Services() as services:
        found, only = _chosen(services, options.source)
    buckets = chosen_buckets(found.buckets, options.since or "", only)
    rows, total = grouped(buckets, by), total_row(buckets)
    if options.json:
        _print_json(options, found, rows, total)
    elif options.csv:
        print(_as_csv(by, rows), end="")
    elif rows:
        _print_rows(by, rows, total, found, is_all=not options.source)
    else:
        print(_none(options))
    return 0


def _chosen(services: Services, wanted: str) -> tuple[UsageTable, dict[str, str]]:
    """The table, and what of it is wanted."""
    if not wanted:
        return all_usage(services, work_folder().path), {}
    from workbench.sources.source import names_file  # late: all of it can be answered from the cache

    if names_file(wanted):
        from workbench.traces.references import split_ref
        from workbench.usage.reading import usage_of_file

        return usage_of_file(services, split_ref(wanted)[0]), {}
    found = all_usage(services, work_folder().path)
    named = agents_called(wanted)
    if len(named) > 1:
        raise WrongCall(f"{wanted}: expected one agent, this may be {', '.join(named)}")
    if named:
        return found, {"agent": named[0]}
    sessions = [each for each in found.refs if each.startswith(wanted)]
    if len(sessions) != 1:
        which = f"{len(sessions):,} sessions have such an id" if sessions else "no such file, agent or session"
        raise WrongCall(f"{wanted}: {which}; `workbench usage --by session` lists them")
    return found, {"session": sessions[0]}


def _print_rows(by: Dimension, rows: list[UsageRow], total: UsageRow, found: UsageTable, *, is_all: bool) -> None:
    ids = short_ids(row.name for row in rows) if by == "session" else {}
    cells = [(_shown_name(by, row, ids), *shown_figures(row), *_about(by, row)) for row in rows]
    cells.append(("total", *shown_figures(total), *(("", "") if by == "session" else ())))
    heads = (by, *(each.head for each in FIGURES), *(("agent", "folder") if by == "session" else ()))
    right = frozenset(range(1, 1 + len(FIGURES)))
    print("\n".join(table(heads, cells, right, line_width() if by == "session" else 0)))
    print()
    for line in (*(limit_lines(found, time.time_ns() // 1_000_000) if is_all else ()), *price_note(total.sums)):
        print(printable(line))


def _shown_name(by: Dimension, row: UsageRow, ids: dict[str, str]) -> str:
    if by == "folder" and row.name:
        return printable(shown_folder(row.name))
    return printable(ids.get(row.name, row.name)) or _NAMES.get(by, "–")


def _about(by: Dimension, row: UsageRow) -> tuple[str, ...]:
    return (row.agent or "–", printable(shown_folder(row.folder)) or "–") if by == "session" else ()


def _print_json(options: argparse.Namespace, found: UsageTable, rows: list[UsageRow], total: UsageRow) -> None:
    about = [
        {options.by: row.name or None}
        | ({"agent": row.agent, "folder": row.folder or None, "source": found.refs.get(row.name)} if row.agent else {})
        for row in rows
    ]
    print_json(
        {
            "by": options.by,
            "since": options.since or None,
            "prices": " ".join(price_note(total.sums)),
            "total": figures_json(total),
            "rows": [each | figures_json(row) for each, row in zip(about, rows, strict=True)],
            **limits_json(found),
        }
    )


def _as_csv(by: Dimension, rows: list[UsageRow]) -> str:
    """A line per row. A figure that is not known is empty."""
    file = io.StringIO(newline="")
    names = [by, *(["agent", "folder"] if by == "session" else []), *figures_json(total_row([]))]
    writer = csv.DictWriter(file, names)
    writer.writeheader()
    for row in rows:
        about: dict[str, Any] = {by: printable(row.name)}
        about |= {"agent": row.agent, "folder": printable(row.folder)} if by == "session" else {}
        writer.writerow(about | figures_json(row))
    return file.getvalue()


def _none(options: argparse.Namespace) -> str:
    if options.source or options.since:
        return "no requests fit; without a source and --since, all are counted"
    return "no requests of agents on this machine; other places can be added under [agents] in config.toml"
