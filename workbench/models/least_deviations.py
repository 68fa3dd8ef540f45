"""Solves many equations approximately, without being misled by a few outliers."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul, sub
from typing import NamedTuple

ROUNDS = 12
"""Each round gives less weight to equations that are far off; after this many, little changes."""
CLOSE = 1e-4
"""A difference below this share of the largest right side counts as none."""
TINY = 1e-12

Bounds = Sequence[tuple[float, float]]


class Equation(NamedTuple):
    """The sum that the unknowns, each times its coefficient, should have."""

    shares: tuple[float, ...]
    total: float


def least_deviations(equations: Sequence[Equation], bounds: Bounds) -> list[float]:
    """The unknowns that minimise the sum of the equations' absolute errors, each within its bounds.

    Computed by least squares, repeated with new weights. An unknown that leaves its bounds is fixed at the bound, and
    the others are computed again.
    """
    held: dict[int, float] = {}
    while True:
        found = _unbounded(equations, len(bounds), held)
        outside = [at for at, (least, most) in enumerate(bounds) if not least <= found[at] <= most and at not in held]
        if not outside:
            return found
        worst = max(outside, key=lambda at: _beyond(found[at], *bounds[at]))
        held[worst] = min(max(found[worst], bounds[worst][0]), bounds[worst][1])


def _beyond(value: float, least: float, most: float) -> float:
    return max(least - value, value - most) / max(1.0, most - least)


def _unbounded(equations: Sequence[Equation], unknowns: int, held: dict[int, float]) -> list[float]:
    free = [at for at in range(unknowns) if at not in held]
    columns = [[float(shares[at]) for shares, _ in equations] for at in free]
    totals = [total - sum(shares[at] * value for at, value in held.items()) for shares, total in equations]
    enough = CLOSE * max(map(abs, totals), default=0) + TINY
    weights, most = [1.0] * len(totals), 1 / enough
    found = [0.0] * len(free)
    for _ in range(ROUNDS if free else 0):
        found = _solved(*_normal(columns, totals, weights))
        sums = [0.0] * len(totals)
        for column, value in zip(columns, found, strict=True):
            sums = [sum_ + share * value for sum_, share in zip(sums, column, strict=True)]
        errors = map(abs, map(sub, totals, sums))
        weights = [1 / error if error > enough else most for error in errors]
    values = dict(zip(free, found, strict=True)) | held
    return [values[at] for at in range(unknowns)]


def _normal(
    columns: Sequence[Sequence[float]], totals: Sequence[float], weights: Sequence[float]
) -> tuple[list[list[float]], list[float]]:
    """The normal equations of weighted least squares."""
    scaled = [list(map(mul, column, weights)) for column in columns]
    matrix = [[sum(map(mul, line, column)) for column in columns] for line in scaled]
    return matrix, [sum(map(mul, line, totals)) for line in scaled]


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a system with a symmetric matrix; an unknown that no equation determines is 0."""
    size = len(right)
    lines = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    scales = [line[at] for at, line in enumerate(lines)]
    for at in range(size):
        pivot = lines[at][at]
        if pivot <= 1e-11 * scales[at] or pivot <= 0:
            lines[at] = [0.0] * (size + 1)
            continue
        for other in range(size):
            if other != at:
                factor = lines[other][at] / pivot
                lines[other] = [a - factor * b for a, b in zip(lines[other], lines[at], strict=True)]
    return [lines[at][size] / lines[at][at] if lines[at][at] else 0.0 for at in range(size)]
