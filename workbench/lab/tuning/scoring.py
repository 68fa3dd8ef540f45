"""How good a policy is on many sessions: the objective of their figures. By default all sessions weigh alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from msgspec import Struct

from workbench.lab.figures import sum_figures
from workbench.lab.tuning.objective import Objective

Figures = Mapping[str, Any]

_UNITS = {
    **dict.fromkeys(("tokens", "cache_read", "cache_written", "reread_tokens"), "tokens"),
    **dict.fromkeys(("cost", "reread_cost"), "cost"),
    **dict.fromkeys(("requests", "overflows", "compactions", "lost", "cut", "masked", "dropped"), "requests"),
    **dict.fromkeys(("misses", "missed_requests", "invalid"), "requests"),
}
"""The figures that are summed over sessions, and what of a session they grow with."""


class PolicyScore(NamedTuple):
    """What a policy did on the sessions of a part."""

    figures: Figures
    """Summed over the sessions as they are."""
    weighed: Figures
    """The same with the weights of the sessions."""
    value: float
    """The objective."""
    misfits: float = 0
    """Requests that did not fit; 0 where the objective itself names them."""
    excess: float = 0
    """Requests with a miss beyond those of the base; 0 where the objective does not limit them."""
    missed: float = 0
    """Requests with a miss, where the objective limits them: between equals, fewer are better."""

    @property
    def rank(self) -> tuple[float, float, float, float]:
        """Smaller is better."""
        return self.misfits, self.excess, self.value, self.missed


class SessionScoring(Struct, frozen=True):
    """Scores policies on the sessions of a part."""

    objective: Objective
    base: Sequence[Figures]
    """The figures of each session under the policy that the search begins from."""
    is_alike: bool = True
    """Whether sessions weigh alike; otherwise long ones weigh more."""

    def score(self, rows: Sequence[Figures]) -> PolicyScore:
        """`rows`: the figures of each session under a policy, in the order of the sessions."""
        figures, weighed = sum_figures(rows), self._sum(self.weigh_rows(rows))
        named = self.objective.names
        value = self.objective.value(weighed)
        misfits = 0 if "overflows" in named else weighed["overflows"]
        if not self.objective.is_limited:
            return PolicyScore(figures, weighed, value, misfits)
        missed = weighed["missed_requests"]
        before = self._sum(self.weigh_rows(self.base))["missed_requests"]
        return PolicyScore(figures, weighed, value, misfits, max(0.0, round(missed - before, 6)), missed)

    def session_scores(self, rows: Sequence[Figures]) -> list[PolicyScore]:
        """The score of each session alone."""
        return [
            SessionScoring(self.objective, (base,), self.is_alike).score([row])
            for base, row in zip(self.base, rows, strict=True)
        ]

    def weigh_rows(self, rows: Sequence[Figures]) -> list[Figures]:
        """The figures of each session, scaled so that every session weighs alike.

        Under the base, each has then the requests, tokens and cost of the average session.
        """
        if not self.is_alike:
            return list(rows)
        means = {unit: fsum(row[unit] or 0 for row in self.base) / len(self.base) for unit in set(_UNITS.values())}
        return [_scaled(row, base, means) for row, base in zip(rows, self.base, strict=True)]

    def value_of(self, weighed: Sequence[Figures]) -> float:
        """The objective of sessions whose figures are weighed already."""
        if self.objective.names <= _UNITS.keys():  # much faster, for thousands of resamples
            return self.objective.value(
                {name: fsum(row[name] or 0 for row in weighed) for name in self.objective.names}
            )
        return self.objective.value(self._sum(weighed))

    def _sum(self, rows: Sequence[Figures]) -> Figures:
        """Adds without rounding, so that the order of the sessions does not matter."""
        found = sum_figures(rows)
        if not self.is_alike:
            return found
        found |= {name: fsum(row[name] or 0 for row in rows) for name in _UNITS if found[name] is not None}
        many = found["requests"]
        found["misses_per_100"] = 100 * found["misses"] / many if many else 0.0
        found["missed_in_100"] = 100 * found["missed_requests"] / many if many else 0.0
        return found


def _scaled(row: Figures, base: Figures, means: Mapping[str, float]) -> Figures:
    factors = {unit: mean / base[unit] if base[unit] else 1.0 for unit, mean in means.items()}
    known = {name: row[name] * factors[unit] for name, unit in _UNITS.items() if row[name] is not None}
    return {**row, **known}
