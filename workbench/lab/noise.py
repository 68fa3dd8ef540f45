"""Whether two policies differ by more than chance: a bootstrap over sessions; within one, its requests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import comb
from typing import Final

from workbench.config.resampling import bootstrap_interval
from workbench.config.text import printable
from workbench.lab.values import PolicyRun, SourceRun

UNLIKELY: Final = 0.05
"""A difference that chance makes less often than this counts as one."""
ONE_SESSION: Final = "one session: its requests depend on each other, and other sessions may differ"


def noise_lines(sources: Sequence[SourceRun]) -> list[str]:
    """The policies that are next to each other in requests with a miss, if the difference may be chance."""
    runs = list(zip(*(source.runs for source in sources), strict=True)) if sources else []
    counted = sorted(((sum(each.missed_requests for each in many), many) for many in runs), key=lambda each: each[0])
    found = []
    for (few, fewer), (more, others) in pairwise(counted):
        if few < more and (why := _may_be_chance(fewer, others)):
            names = f"{fewer[0].policy} and {others[0].policy}"
            found.append(printable(f"no difference: {names} ({few:,} and {more:,} requests with a miss) {why}"))
    differ = len({count for count, _ in counted}) > 1
    return [*found, ONE_SESSION] if len(sources) == 1 and differ else found


def _may_be_chance(first: Sequence[PolicyRun], second: Sequence[PolicyRun]) -> str:
    """Why the second may have more requests with a miss by chance only; empty if that is unlikely."""
    if len(first) == 1:
        return "may be chance" if chance_of(*_only_in_one(first[0], second[0])) >= UNLIKELY else ""
    more = [there.missed_requests - here.missed_requests for here, there in zip(first, second, strict=True)]
    low, high = bootstrap_interval(len(more), lambda drawn: sum(more[at] for at in drawn))
    return f"may be chance: {low:+,.0f} to {high:+,.0f} over {len(more):,} sessions" if low <= 0 <= high else ""


def _only_in_one(first: PolicyRun, second: PolicyRun) -> tuple[int, int]:
    """Requests with a miss under only one of two policies: under the first, and under the second."""
    pairs = [(one.misses > 0, other.misses > 0) for one, other in zip(first.points, second.points, strict=False)]
    return pairs.count((True, False)), pairs.count((False, True))


def chance_of(first: int, second: int) -> float:
    """How often chance alone splits so many differing cases as unevenly (the exact test of McNemar, a sign test)."""
    many, less = first + second, min(first, second)
    return min(1.0, 2 * sum(comb(many, at) for at in range(less + 1)) / 2**many) if many else 1.0
