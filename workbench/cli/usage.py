"""`workbench usage`: what the agents on this machine used and cost, and when.

`usage --json` prints

    {"by", "since", "prices", "total": {...},
     "rows": [{"day" or another name, "requests", "fresh", "cached", "written", "out", "cost", "uncosted", "sub_agents",
               "compactions", "calls", "silent", "unfinished"}],
     "waste": {"sessions", "unread", "tokens", "carried", "cost", "kinds", "tools"},
     "windows": [{"agent", "start", "end", "requests", "tokens", "cost"}],
     "limits": [{"agent", "minutes", "used_percent", "resets_at", "at"}],
     "broken": [path]}

where a figure that is not known is null. The row of a session has "title", "agent", "folder", "last_day" and
"source", too. `--waste` adds "waste"; then the row of a session has "waste" and "waste_cost".
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.config.errors import WrongCall
from workbench.config.folders import shown_folder, work_folder
from workbench.config.text import fit_columns_end, line_width, print_json, printable, table
from workbench.live.choosing import agents_called, short_ids
from workbench.sources.services import Services
from workbench.usage.gathering import all_usage
from workbench.usage.usage_figures import (
    FIGURES,
    UNKNOWN,
    broken_lines,
    figures_json,
    limit_lines,
    limits_json,
    price_note,
    shown_figures,
)
from workbench.usage.usage_table import Dimension, UsageBucket, UsageRow, UsageTable, chosen_buckets, grouped, total_row

if TYPE_CHECKING:
    from workbench.lab.replay.usage_waste import UsageWaste  # late: it plans whole sessions

_WASTE = ("waste", "waste cost")
_FOLDER = 40
"""Columns of text of a folder, at most: the title needs room as well."""
_FORMULAS = ("=", "+", "-", "@")
_NAMES = {"tool": "(no tool)", "folder": "(unknown)", "model": "(unknown)", "day": "(unknown)", "week": "(unknown)"}
"""What is shown for an empty name."""


class _Found(NamedTuple):
    """What is printed."""

    by: Dimension
    table: UsageTable
    rows: list[UsageRow]
    total: UsageRow
    titles: Mapping[str, str]
    """Of the sessions, if there is a row for each."""
    waste: UsageWaste | None
    """If it was asked for."""


def run_usage(options: argparse.Namespace) -> int:
    """Print the sums of all requests."""
    by: Dimension = options.by
    with Services() as services:
        sums, only = _chosen(services, options.source)
        buckets = chosen_buckets(sums.buckets, options.since or "", only)
        more = _more(services, options, sums, buckets)
    found = _Found(by, sums, grouped(buckets, by), total_row(buckets), *more)
    if options.json:
        _print_json(options, found)
    elif options.csv:
        print(_as_csv(found), end="")
    elif found.rows:
        _print_rows(found, is_all=not options.source)
    else:
        print(_none(options), *map(printable, broken_lines(sums)), sep="\n")
    return 0


def _more(
    services: Services, options: argparse.Namespace, sums: UsageTable, buckets: Iterable[UsageBucket]
) -> tuple[Mapping[str, str], UsageWaste | None]:
    """Titles and waste, which take longer to find: only if they are shown."""
    refs = {each.session: sums.refs[each.session] for each in buckets if each.session in sums.refs}
    titles: Mapping[str, str] = {}
    waste = None
    if options.by == "session":
        from workbench.usage.session_titles import session_titles

        titles = session_titles(services, refs)
    if options.waste:
        from workbench.lab.replay.usage_waste import usage_waste

        shows = sys.stderr.isatty()
        waste = usage_waste(services, refs, partial(_print_progress, len(refs)) if shows else lambda _: None)
        if shows:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return titles, waste


def _print_progress(sessions: int, at: int) -> None:
    print(f"\rwaste: session {at:,} of {sessions:,}", end="", file=sys.stderr, flush=True)


def _chosen(services: Services, wanted: str) -> tuple[UsageTable, dict[str, str]]:
    """The table, and what of it is wanted."""
    if not wanted:
        return all_usage(services, work_folder().path), {}
    from workbench.sources.source import names_file  # late: all of it can be answered from the cache

    if names_file(wanted):
        from workbench.traces.references import split_ref
        from workbench.usage.reading import usage_of_file

        path = split_ref(wanted)[0]
        found = usage_of_file(services, path)
        if not found.refs:
            services.source(path)  # says what is wrong with the file
            raise WrongCall(f"{path}: expected a transcript with answers, found none")
        return found, {}
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


def _print_rows(found: _Found, *, is_all: bool) -> None:
    is_session, waste = found.by == "session", found.waste
    ids = short_ids(row.name for row in found.rows) if is_session else {}
    heads, cells = _columns(found, ids)
    figures = {*(each.head for each in FIGURES), *_WASTE}
    right = frozenset(at for at, head in enumerate(heads) if head in figures)
    print("\n".join(table(heads, cells, right, line_width() if is_session else 0)))
    print()
    if waste is not None:
        print("\n".join(waste.total_lines(line_width())) + "\n")
    now = time.time_ns() // 1_000_000
    open_now = limit_lines(found.table, now) if is_all else ()
    for line in (*open_now, *price_note(found.total.sums), *broken_lines(found.table)):
        print(printable(line))


def _columns(found: _Found, ids: dict[str, str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The heads and the rows; the last one is the total."""
    names = tuple(each.head for each in FIGURES)
    total = shown_figures(found.total)
    if found.by != "session":
        rows = [(_shown_name(found.by, row, ids), *shown_figures(row)) for row in found.rows]
        return (found.by, *names), [*rows, ("total", *total)]
    waste = found.waste
    heads = ("session", "last", *names, *(_WASTE if waste is not None else ()), "agent", "folder", "title")
    rows = [
        (
            _shown_name(found.by, row, ids),
            row.last_day or UNKNOWN,
            *shown_figures(row),
            *(waste.waste_cells(row.name) if waste is not None else ()),
            row.agent or UNKNOWN,
            fit_columns_end(printable(shown_folder(row.folder)), _FOLDER) or UNKNOWN,
            printable(found.titles.get(row.name, "")) or UNKNOWN,
        )
        for row in found.rows
    ]
    return heads, [*rows, ("total", "", *total, *("" for _ in heads[2 + len(total) :]))]


def _shown_name(by: Dimension, row: UsageRow, ids: dict[str, str]) -> str:
    if by == "folder" and row.name:
        return printable(shown_folder(row.name))
    return printable(ids.get(row.name, row.name)) or _NAMES.get(by, UNKNOWN)


def _print_json(options: argparse.Namespace, found: _Found) -> None:
    print_json(
        {
            "by": found.by,
            "since": options.since or None,
            "prices": " ".join(price_note(found.total.sums)),
            "total": figures_json(found.total),
            "rows": [_row_json(found, row) for row in found.rows],
            **({"waste": found.waste.total_json()} if found.waste is not None else {}),
            **limits_json(found.table),
        }
    )


def _row_json(found: _Found, row: UsageRow) -> dict[str, Any]:
    about: dict[str, Any] = {found.by: row.name or None}
    if found.by == "session":
        about |= {
            "title": found.titles.get(row.name) or None,
            "agent": row.agent,
            "folder": row.folder or None,
            "last_day": row.last_day or None,
            "source": found.table.refs.get(row.name),
        }
    waste = found.waste.row_json(row.name) if found.waste is not None and found.by == "session" else {}
    return about | figures_json(row) | waste


def _as_csv(found: _Found) -> str:
    """A line per row. A figure that is not known is empty."""
    import csv  # late, as few ask for it
    import io

    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, [*_row_json(found, found.total)])
    writer.writeheader()
    for row in found.rows:
        cells = _row_json(found, row).items()
        writer.writerow({name: _csv_text(value) if isinstance(value, str) else value for name, value in cells})
    return file.getvalue()


def _csv_text(text: str) -> str:
    """A text as a cell. A spreadsheet would run one that begins like a formula."""
    shown = printable(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULAS) else shown


def _none(options: argparse.Namespace) -> str:
    if options.source or options.since:
        return "no requests fit; without a source and --since, all are counted"
    return "no requests of agents on this machine; other places can be added under [agents] in config.toml"
