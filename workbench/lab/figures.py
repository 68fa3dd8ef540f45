"""The figures of policies: of one session, and added up over many, of which none has to stay in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.context.policy_names import RECORDED
from workbench.lab.values import PolicyRun, SourceRun
from workbench.lab.waste.costs import WasteReport
from workbench.lab.waste.output import merge_waste

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
_COSTS = ("reread_cost", "cost")
_NOT_ADDED = frozenset({"policy", "peak", "misses_per_100", "missed_in_100", "judged", *_COSTS})


def policy_figures(run: PolicyRun) -> dict[str, Any]:
    """The figures of one session under one policy."""
    return sum_figures([_run_figures(run)])


def sum_figures(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the figures of one policy over several sessions. Sessions without a known price add no cost."""
    found = _FigureSum()
    for row in rows:
        found.add_row(row)
    return found.row()


class _FigureSum:
    """The figures of one policy, added up session by session and rounded at the end."""

    def __init__(self) -> None:
        self._policy = ""
        self._sums: dict[str, Any] = {name: 0 for name in FIGURES if name not in _NOT_ADDED}
        self._costs: dict[str, float] = {}
        self._peak = 0
        self._right = 0.0
        """Questions that are still answered."""

    def add_row(self, row: Mapping[str, Any]) -> None:
        self._policy = self._policy or row["policy"]
        for name in self._sums:
            self._sums[name] += row[name]
        for name in _COSTS:
            if row[name] is not None:
                self._costs[name] = self._costs.get(name, 0.0) + row[name]
        self._peak = max(self._peak, row["peak"])
        self._right += (row["judged"] or 0.0) * row["judged_probes"]

    def row(self) -> dict[str, Any]:
        sums = self._sums
        requests, probes = sums["requests"], sums["judged_probes"]
        costs = {name: round(self._costs[name], 6) if name in self._costs else None for name in _COSTS}
        found = {
            **sums,
            **costs,
            "policy": self._policy,
            "peak": self._peak,
            "misses_per_100": round(100 * sums["misses"] / requests, 2) if requests else 0.0,
            "missed_in_100": round(100 * sums["missed_requests"] / requests, 2) if requests else 0.0,
            "judged": round(self._right / probes, 4) if probes else None,
        }
        return {name: found[name] for name in FIGURES}


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
        "reread_tokens": run.reread_tokens,
        "reread_cost": run.reread_cost,
        "cache_read": run.cache_read,
        "cache_written": run.cache_written,
        "cost": run.cost,
        "invalid": run.invalid,
        "judged": run.judged.mean if run.judged else None,
        "judged_probes": run.judged.probes if run.judged else 0,
    }


class CorpusFigures:
    """The totals that the tables show for many sessions."""

    def __init__(self) -> None:
        self.sessions = 0
        self.requests = 0
        self.priced = 0
        """Sessions with a cost under every policy."""
        self.guessed_windows: list[int] = []
        """The windows assumed for sessions whose model's window is unknown."""
        self.summaries: Counter[tuple[str, str]] = Counter()
        """Who wrote the summaries of compactions, and why the model did not."""
        self.missed: list[tuple[str, list[tuple[int, ...]]]] = []
        """Per policy: its name, and for each session the numbers of its requests with a miss."""
        self._sums: list[_FigureSum] = []
        self._waste: list[WasteReport] = []

    def adding(self, sources: Iterable[SourceRun]) -> Iterator[SourceRun]:
        """Yield the same sessions, adding each to the figures first."""
        for source in sources:
            self._add(source)
            yield source

    def _add(self, source: SourceRun) -> None:
        if not self.sessions:
            self._sums = [_FigureSum() for _ in source.runs]
            self.missed = [(run.policy, []) for run in source.runs]
        self.sessions += 1
        self.requests += source.requests
        self.priced += all(run.cost is not None for run in source.runs)
        self.guessed_windows += [run.window for run in source.runs[:1] if run.is_window_guessed]
        if source.waste is not None and source.waste.items:
            self._waste.append(source.waste)
        for run, sums, (_, missed) in zip(source.runs, self._sums, self.missed, strict=True):
            sums.add_row(_run_figures(run))
            missed.append(tuple(point.request for point in run.points if point.misses))
            if run.policy != RECORDED:
                self.summaries.update((each.made_by, each.problem) for each in run.compactions)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The figures of each policy over all sessions."""
        return [each.row() for each in self._sums]

    @property
    def waste(self) -> WasteReport:
        """The waste of all sessions."""
        return merge_waste(self._waste)
