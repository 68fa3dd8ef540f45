"""Whether two policies differ by more than chance: a bootstrap over sessions; within one, its requests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import comb
from typing import Final

from workbench.config.resampling import bootstrap_interval
from workbench.config.text import printable

UNLIKELY: Final = 0.05
"""A difference that chance makes less often than this counts as one."""
ONE_SESSION: Final = "one session: its requests depend on each other, and other sessions may differ"


def noise_lines(missed: Sequence[tuple[str, Sequence[Sequence[int]]]]) -> list[str]:
    """The policies that are next to each other in requests with a miss, if the difference may be chance.

    `missed`: each policy with the requests that have a miss, session by session.
    """
    sums = [(sum(map(len, sessions)), policy, sessions) for policy, sessions in missed]
    found = []
    for (few, first, fewer), (more, second, others) in pairwise(sorted(sums, key=lambda each: each[0])):
        if few < more and (why := _may_be_chance(fewer, others)):
            names = f"{first} and {second}"
            found.append(printable(f"no difference: {names} ({few:,} and {more:,} requests with a miss) {why}"))
    differ = len({many for many, _, _ in sums}) > 1
    return [*found, ONE_SESSION] if differ and len(missed[0][1]) == 1 else found


def _may_be_chance(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> str:
    """Why the second may have more requests with a miss by chance only; empty if that is unlikely."""
    if len(first) == 1:
        here, there = set(first[0]), set(second[0])
        return "may be chance" if chance_of(len(here - there), len(there - here)) >= UNLIKELY else ""
    more = [len(there) - len(here) for here, there in zip(first, second, strict=True)]
    low, high = bootstrap_interval(len(more), lambda drawn: sum(more[at] for at in drawn))
    return f"may be chance: {low:+,.0f} to {high:+,.0f} over {len(more):,} sessions" if low <= 0 <= high else ""


def chance_of(first: int, second: int) -> float:
    """How often chance alone splits so many differing cases as unevenly (the exact test of McNemar, a sign test)."""
    many, less = first + second, min(first, second)
    return min(1.0, 2 * sum(comb(many, at) for at in range(less + 1)) / 2**many) if many else 1.0
