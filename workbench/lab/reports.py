"""The lab's results as a table, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.compaction.compactor import DIGEST
from workbench.config.text import counted, percent, printable, table
from workbench.context.load import RECORDED
from workbench.lab.noise import noise_lines
from workbench.lab.values import (
    ABOUT_MISSED,
    ABOUT_REREADING,
    MISSED_IN_100,
    REREADING,
    WHAT_COSTS,
    PolicyRun,
    SourceRun,
)
from workbench.lab.waste.costs import WasteReport
from workbench.lab.waste.output import merge_waste, waste_json, waste_lines

FIGURES = (
    "policy",
    "requests",
    "tokens",
    "peak",
    "overflows",
    "compactions",
    "lost",
    "cut",
    "masked",
    "dropped",
    "misses",
    "missed_requests",
    "misses_per_100",
    "missed_in_100",
    "reread_tokens",
    "reread_cost",
    "cache_read",
    "cache_written",
    "cost",
    "invalid",
    "judged",
    "judged_probes",
)
"""The figures of a policy, in the order of the columns."""


def policy_figures(runs: Sequence[PolicyRun]) -> dict[str, Any]:
    """The figures of one policy over one session or many. All runs have to be under that policy."""
    return sum_figures([_run_figures(run) for run in runs])


def sum_figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the figures of one policy over several sessions. Sessions without a known price add no cost."""
    found: dict[str, Any] = {name: sum(row[name] or 0 for row in rows) for name in FIGURES if name != "policy"}
    requests = found["requests"]
    found |= {
        "peak": max(row["peak"] for row in rows),
        "misses_per_100": round(100 * found["misses"] / requests, 2) if requests else 0.0,
        "missed_in_100": round(100 * found["missed_requests"] / requests, 2) if requests else 0.0,
        "reread_cost": _sum_known([row["reread_cost"] for row in rows]),
        "cost": _sum_known([row["cost"] for row in rows]),
        "judged": _judged_mean(rows),
    }
    return {"policy": rows[0]["policy"]} | found


def _sum_known(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return round(sum(known), 6) if known else None


def _judged_mean(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """The share of all questions that are still answered; None if none was asked."""
    probes = sum(row["judged_probes"] for row in rows)
    right = sum((row["judged"] or 0.0) * row["judged_probes"] for row in rows)
    return round(right / probes, 4) if probes else None


def _run_figures(run: PolicyRun) -> dict[str, Any]:
    return {
        "policy": run.policy,
        "requests": len(run.points),
        "tokens": run.tokens,
        "peak": run.peak,
        "overflows": run.overflows,
        "compactions": len(run.compactions),
        "lost": sum(each.lost for each in run.compactions),
        "cut": run.cut,
        "masked": run.masked,
        "dropped": run.dropped,
        "misses": len(run.misses),
        "missed_requests": run.missed_requests,
        "misses_per_100": 0.0,
        "missed_in_100": 0.0,
        "reread_tokens": run.reread_tokens,
        "reread_cost": run.reread_cost,
        "cache_read": run.cache_read,
        "cache_written": run.cache_written,
        "cost": run.cost,
        "invalid": run.invalid,
        "judged": run.judged.mean if run.judged else None,
        "judged_probes": run.judged.probes if run.judged else 0,
    }


def figures_by_policy(sources: Sequence[SourceRun]) -> list[dict[str, Any]]:
    """The figures of each policy over all sessions. Sessions without a known price add no cost."""
    return [policy_figures(runs) for runs in zip(*(source.runs for source in sources), strict=True)] if sources else []


def lab_json(sources: Sequence[SourceRun], failed: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """All results, with every miss by name."""
    return streamed_lab_json(sources, failed) | {"sources": [_source_json(source) for source in sources]}


def streamed_lab_json(sources: Sequence[SourceRun], failed: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """The same with an iterator for `sources`: of thousands of sessions, only one is in memory in this form."""
    return {
        "sources": map(_source_json, sources),
        "policies": figures_by_policy(sources),
        "waste": waste_json(_all_waste(sources), items=False),
        "failed": [{"source": name, "error": error} for name, error in failed],
    }


def _source_json(source: SourceRun) -> dict[str, Any]:
    return {
        "source": source.source,
        "model": source.model or None,
        "requests": source.requests,
        "policies": [_run_json(run) for run in source.runs],
        "waste": waste_json(source.waste) if source.waste is not None else None,
    }


def _all_waste(sources: Sequence[SourceRun]) -> WasteReport:
    return merge_waste([source.waste for source in sources if source.waste is not None])


def _run_json(run: PolicyRun) -> dict[str, Any]:
    return policy_figures([run]) | {
        "window": run.window,
        "missed": [miss._asdict() for miss in run.misses],
        "compacted": [each._asdict() for each in run.compactions],
        "points": [point._asdict() for point in run.points],
    }


def lab_csv(sources: Sequence[SourceRun]) -> str:
    """A line per session and policy. `waste`: the tokens that the recorded session carried without need."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, ("source", "model", *FIGURES, "waste"))
    writer.writeheader()
    for source in sources:
        about = {"source": source.source, "model": source.model, "waste": source.waste and source.waste.total.carried}
        writer.writerows(about | policy_figures([run]) for run in source.runs)
    return file.getvalue()


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
    *("cost", REREADING),
    "judged",
)
_GIVE_WAY = ("cache read", "peak", "compactions", REREADING, "facts", "did not fit", "with a miss")
"""The columns to leave out, in this order, where a terminal is too narrow. `did not fit` stays if anything did not
fit."""


def report_lines(sources: Sequence[SourceRun], width: int) -> list[str]:
    """A table per session, and one for all sessions where there are several."""
    found: list[str] = []
    for source in sources if len(sources) <= _FEW else ():
        model = f", {source.model}" if source.model else ""
        found += [printable(f"{source.source}: {counted(source.requests, 'request')}{model}"), ""]
        found += [*_table([policy_figures([run]) for run in source.runs], width), ""]
        found += _below(waste_lines(source.waste, width) if source.waste is not None else [])
    rows = figures_by_policy(sources)
    about = [*missed_lines(rows), *noise_lines(sources), *([WHAT_COSTS] if any(row["cost"] for row in rows) else [])]
    alone = [*about, *_no_price(sources[0]), *_guessed_windows(sources)] if len(sources) == 1 else []
    if len(sources) > 1:
        requests = sum(source.requests for source in sources)
        found += [f"{counted(len(sources), 'session')}, {counted(requests, 'request')}", ""]
        found += [*_table(rows, width), ""]
        found += _below([*about, *_without_price(sources), *_guessed_windows(sources)])
        found += _below(waste_lines(_all_waste(sources), width))
    found += _below(alone) + _below(summary_lines(sources))
    return found[:-1]


def missed_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the column of misses means, where anything was missed."""
    if not any(row["misses"] for row in rows):
        return []
    reread = [f"{REREADING}: {ABOUT_REREADING}"] if any(row["reread_cost"] for row in rows) else []
    return [f"{MISSED_IN_100}: {ABOUT_MISSED}", *reread]


def summary_lines(sources: Sequence[SourceRun]) -> list[str]:
    """Who wrote the summaries of compactions, and why the model did not. Empty where no model was asked."""
    made = [each for source in sources for run in source.runs for each in run.compactions if run.policy != RECORDED]
    if all(each.made_by == DIGEST and not each.problem for each in made):
        return []
    writers = Counter(f"the {DIGEST}" if each.made_by == DIGEST else each.made_by for each in made)
    by_writer = ", ".join(f"{many:,} by {who}" for who, many in writers.most_common())
    alike: dict[str, list[str]] = {}
    for problem in (each.problem for each in made if each.problem):
        kind, _, text = problem.partition(": ")
        words = f"{kind.replace('_', ' ')}: {text}" if text and " " not in kind else problem  # a failure has a kind
        alike.setdefault(_FIGURES.sub("#", problem), []).append(words)
    often = sorted(alike.values(), key=len, reverse=True)
    why = [f"{counted(len(each), 'time')}: {each[0]}" for each in often[:_REASONS]]
    if len(often) > _REASONS:
        why.append(f"{counted(sum(map(len, often[_REASONS:])), 'time')} for other reasons")
    return [printable(f"summaries: {by_writer}"), *(f"           {printable(each)}" for each in why)]


def _no_price(source: SourceRun) -> list[str]:
    """Why one session has no cost, and which option gives it one."""
    if not source.model or not source.runs or any(run.cost is not None for run in source.runs):
        return []
    return [printable(f"cost: no price is known for {source.model}; --model NAME takes the prices of another model")]


def _without_price(sources: Sequence[SourceRun]) -> list[str]:
    """How many sessions add no cost. Empty where all of them do, or none."""
    priced = [source for source in sources if all(run.cost is not None for run in source.runs)]
    missing = len(sources) - len(priced)
    return (
        [f"cost: without {counted(missing, 'session')} for whose model no price is known"] if missing and priced else []
    )


def _guessed_windows(sources: Sequence[SourceRun]) -> list[str]:
    """Says where the window is a guess: it decides what does not fit and when policies compact."""
    guessed = [run.window for source in sources for run in source.runs[:1] if run.is_window_guessed]
    if not guessed:
        return []
    whose = "this session's model" if len(sources) == 1 else f"the model of {counted(len(guessed), 'session')}"
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
            "–" if row["judged"] is None else f"{percent(row['judged'], 0)} of {row['judged_probes']:,}",
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
