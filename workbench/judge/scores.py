"""What the grades add up to: a mean with its bootstrap interval, and whether two of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.config.resampling import bootstrap_interval
from workbench.judge.values import KINDS, Grade, Probe, ProbeAnswer, ProbeKind, Score

UNSEEN = 3
"""If all grades are the same, resamples cannot differ. What was not seen in n probes may still happen in 3 of n."""
LEAST = 5
"""Probes that an interval takes. With fewer, a resample is likely to have the same ones."""


class ContextScores(NamedTuple):
    kinds: Mapping[ProbeKind, Score]
    all: Score
    unanswered: int
    """Answers that never came, because a request failed or the budget was used up. They are not part of the score."""
    ungraded: int
    """Answers that no rule and no judge graded. They are not part of the score either."""


def score_of(values: Sequence[float]) -> Score:
    """The mean of the grades with its interval. The same grades give the same interval."""
    if not values:
        return Score(0, None)
    mean = sum(values) / len(values)
    if len(values) < LEAST:
        return Score(len(values), mean)
    ordered = sorted(values)  # so that the order of the probes does not matter
    if ordered[0] == ordered[-1]:
        return Score(len(values), mean, max(0.0, mean - UNSEEN / len(values)), min(1.0, mean + UNSEEN / len(values)))
    low, high = bootstrap_interval(len(ordered), lambda drawn: sum(ordered[at] for at in drawn) / len(ordered))
    return Score(len(values), mean, min(mean, low), max(mean, high))


def differ(one: Score, other: Score) -> bool:
    """Whether two scores differ: both have intervals, and these do not overlap."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def context_scores(
    probes: Sequence[Probe], answers: Sequence[ProbeAnswer], grades: Mapping[str, Grade], tries: int
) -> ContextScores:
    """The scores of a context. A probe counts once: the mean over its tries that have a grade."""
    by_probe: dict[str, list[float]] = {}
    asked = {probe.id for probe in probes}
    given = [answer for answer in answers if answer.probe in asked]
    for answer in given:
        if answer.hash in grades:
            by_probe.setdefault(answer.probe, []).append(grades[answer.hash].score)
    means = {probe: sum(values) / len(values) for probe, values in by_probe.items()}
    kinds = {
        kind: score_of([means[probe.id] for probe in probes if probe.kind == kind and probe.id in means])
        for kind in KINDS
    }
    ungraded = sum(answer.hash not in grades for answer in given)
    return ContextScores(kinds, score_of(list(means.values())), len(probes) * tries - len(given), ungraded)
