"""The lab's results as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from workbench.compaction.compactor import DIGEST
from workbench.config.text import counted, printable, table
from workbench.lab.figures import FIGURES, CorpusFigures, policy_figures
from workbench.lab.noise import noise_lines
from workbench.lab.values import (
    ABOUT_MISSED,
    ABOUT_REREADING,
    JUDGED,
    MISSED_IN_100,
    REREADING,
    WHAT_COSTS,
    PolicyRun,
    SourceRun,
    judged_text,
)
from workbench.lab.waste.output import waste_json, waste_lines


def lab_json(sources: Iterable[SourceRun], failed: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """All results, with every miss by name."""
    found = streamed_lab_json(sources, failed)
    return {name: list(each) if isinstance(each, Iterator) else each for name, each in found}


def streamed_lab_json(
    sources: Iterable[SourceRun], failed: Sequence[tuple[str, str]] = ()
) -> Iterator[tuple[str, Any]]:
    """The same as pairs for `print_streamed_json`: of thousands of sessions, only one is in memory. What follows the
    sessions is known when they have been written, and so is `failed`."""
    figures = CorpusFigures()
    yield "sources", map(_source_json, figures.adding(sources))
    yield "policies", figures.rows
    yield "waste", waste_json(figures.waste, items=False)
    yield "failed", [{"source": name, "error": error} for name, error in failed]


def _source_json(source: SourceRun) -> dict[str, Any]:
    return {
        "source": source.source,
        "model": source.model or None,
        "requests": source.requests,
        "policies": [_run_json(run) for run in source.runs],
        "waste": waste_json(source.waste) if source.waste is not None else None,
    }


def _run_json(run: PolicyRun) -> dict[str, Any]:
    return policy_figures(run) | {
        "window": run.window,
        "missed": [miss._asdict() for miss in run.misses],
        "compacted": [each._asdict() for each in run.compactions],
        "points": [point._asdict() for point in run.points],
    }


def lab_csv(sources: Iterable[SourceRun]) -> Iterator[str]:
    """A line per session and policy. `waste`: the tokens that the recorded session carried without need."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, ("source", "model", *FIGURES, "waste"))
    writer.writeheader()
    yield file.getvalue()
    for source in sources:
        file.seek(0)
        file.truncate()
        about = {"source": source.source, "model": source.model, "waste": source.waste and source.waste.total.carried}
        writer.writerows(about | policy_figures(run) for run in source.runs)
        yield file.getvalue()


_COLUMNS = (
    *(
        "policy",
        "input tokens",
        "peak",
        "did not fit",
        "compactions",
        "with a miss",
        MISSED_IN_100,
        "facts",
        "cache read",
    ),
    *("cost", REREADING, JUDGED),
)
_GIVE_WAY = ("cache read", "peak", "compactions", REREADING, "facts", "did not fit", "with a miss")
"""The columns to leave out, in this order, where a terminal is too narrow. `did not fit` stays if anything did not
fit."""


def report_lines(sources: Iterable[SourceRun], width: int) -> list[str]:
    """A table per session, and one for all sessions where there are several."""
    figures, few = CorpusFigures(), list[SourceRun]()
    for source in figures.adding(sources):
        few = [*few, source] if figures.sessions <= _FEW else []
    found: list[str] = []
    for source in few:
        model = f", {source.model}" if source.model else ""
        found += [printable(f"{source.source}: {counted(source.requests, 'request')}{model}"), ""]
        found += [*_table([policy_figures(run) for run in source.runs], width), ""]
        found += _below(waste_lines(source.waste, width) if source.waste is not None else [])
    rows = figures.rows
    about = [*missed_lines(rows), *noise_lines(figures.missed)]
    about += [WHAT_COSTS] if any(row["cost"] for row in rows) else []
    if figures.sessions > 1:
        found += [f"{counted(figures.sessions, 'session')}, {counted(figures.requests, 'request')}", ""]
        found += [*_table(rows, width), ""]
        found += _below([*about, *_without_price(figures), *_guessed_windows(figures)])
        found += _below(waste_lines(figures.waste, width))
    else:
        found += _below([*about, *(line for source in few for line in _no_price(source)), *_guessed_windows(figures)])
    return [*found, *_below(summary_lines(figures.summaries))][:-1]


def missed_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the column of misses means, where anything was missed."""
    if not any(row["misses"] for row in rows):
        return []
    reread = [f"{REREADING}: {ABOUT_REREADING}"] if any(row["reread_cost"] for row in rows) else []
    return [f"{MISSED_IN_100}: {ABOUT_MISSED}", *reread]


def summary_lines(summaries: Mapping[tuple[str, str], int]) -> list[str]:
    """Who wrote the summaries of compactions, and why the model did not. Empty where no model was asked.

    `summaries`: how many have the same writer and the same problem.
    """
    if all(made_by == DIGEST and not problem for made_by, problem in summaries):
        return []
    writers: Counter[str] = Counter()
    alike: dict[str, Counter[str]] = {}
    for (made_by, problem), many in summaries.items():
        writers[f"the {DIGEST}" if made_by == DIGEST else made_by] += many
        if problem:
            kind, _, text = problem.partition(": ")
            words = f"{kind.replace('_', ' ')}: {text}" if text and " " not in kind else problem  # a failure has a kind
            alike.setdefault(_FIGURES.sub("#", problem), Counter())[words] += many
    by_writer = ", ".join(f"{many:,} by {who}" for who, many in writers.most_common())
    often = sorted(alike.values(), key=Counter.total, reverse=True)
    why = [f"{counted(each.total(), 'time')}: {next(iter(each))}" for each in often[:_REASONS]]
    if len(often) > _REASONS:
        why.append(f"{counted(sum(each.total() for each in often[_REASONS:]), 'time')} for other reasons")
    return [printable(f"summaries: {by_writer}"), *(f"           {printable(each)}" for each in why)]


def _no_price(source: SourceRun) -> list[str]:
    """Why one session has no cost, and which option gives it one."""
    if not source.model or not source.runs or any(run.cost is not None for run in source.runs):
        return []
    return [printable(f"cost: no price is known for {source.model}; --model NAME takes the prices of another model")]


def _without_price(figures: CorpusFigures) -> list[str]:
    """How many sessions add no cost. Empty where all of them do, or none."""
    missing = figures.sessions - figures.priced
    if not (missing and figures.priced):
        return []
    return [f"cost: without {counted(missing, 'session')} for whose model no price is known"]


def _guessed_windows(figures: CorpusFigures) -> list[str]:
    """Says where the window is a guess: it decides what does not fit and when policies compact."""
    guessed = figures.guessed_windows
    if not guessed:
        return []
    whose = "this session's model" if figures.sessions == 1 else f"the model of {counted(len(guessed), 'session')}"
    return [f"window: {guessed[0]:,} is a guess for {whose}; --window N sets it"]


def _below(lines: list[str]) -> list[str]:
    return [*lines, ""] if lines else []


_REASONS = 3
_FIGURES = re.compile(r"\d[\d,.]*")
"""Problems that differ only in numbers are shown as one, with the numbers of the first."""
_FEW = 8
"""With more sessions than this, only the sums are shown."""


def _table(rows: Sequence[dict[str, Any]], width: int) -> list[str]:
    shown = [
        (
            row["policy"],
            f"{row['tokens']:,}",
            f"{row['peak']:,}",
            f"{row['overflows']:,}",
            f"{row['compactions']:,}",
            f"{row['missed_requests']:,}",
            f"{row['missed_in_100']:.1f}",
            f"{row['misses']:,}",
            f"{row['cache_read']:,}",
            *("–" if row[name] is None else f"${row[name]:,.2f}" for name in ("cost", "reread_cost")),
            judged_text(row["judged"], row["judged_probes"]),
        )
        for row in rows
    ]
    is_judged = any(row["judged"] is not None for row in rows)
    columns = list(range(len(_COLUMNS) - (not is_judged)))
    says_overflow = any(row["overflows"] for row in rows)
    gone = iter([each for each in _GIVE_WAY if each != "did not fit" or not says_overflow])
    while True:
        header = [_COLUMNS[at] for at in columns]
        made = table(header, [[row[at] for at in columns] for row in shown], frozenset(range(1, len(columns))))
        narrower = next(gone, None) if width and max(map(len, made)) > width else None
        if narrower is None:
            return made
        columns.remove(_COLUMNS.index(narrower))
