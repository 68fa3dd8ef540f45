"""Whether two policies differ in their misses by more than chance: the same requests under both are compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import comb
from typing import Final

from workbench.config.text import printable
from workbench.lab.values import PolicyRun, SourceRun

UNLIKELY: Final = 0.05
"""A difference that chance makes less often than this counts as one."""


def noise_lines(sources: Sequence[SourceRun]) -> list[str]:
    """The policies that are next to each other in requests with a miss, if the difference may be chance."""
    runs = list(zip(*(source.runs for source in sources), strict=True)) if sources else []
    counted = sorted(((sum(each.missed_requests for each in many), many) for many in runs), key=lambda each: each[0])
    found = []
    for (few, fewer), (more, others) in pairwise(counted):
        if few < more and chance_of(*_only_in_one(fewer, others)) >= UNLIKELY:
            names = f"{fewer[0].policy} and {others[0].policy}"
            found.append(printable(f"no difference: {names} ({few:,} and {more:,} requests with a miss) may be chance"))
    return found


def _only_in_one(first: Sequence[PolicyRun], second: Sequence[PolicyRun]) -> tuple[int, int]:
    """Requests with a miss under only one of two policies: under the first, and under the second."""
    pairs = [
        (one.misses > 0, other.misses > 0)
        for here, there in zip(first, second, strict=True)
        for one, other in zip(here.points, there.points, strict=False)
    ]
    return pairs.count((True, False)), pairs.count((False, True))


def chance_of(first: int, second: int) -> float:
    """How often chance alone splits so many differing requests as unevenly (the exact test of McNemar)."""
    many, less = first + second, min(first, second)
    return min(1.0, 2 * sum(comb(many, at) for at in range(less + 1)) / 2**many) if many else 1.0
