"""Finds the items that change the answer by leaving out random subsets and fitting a sparse linear model.

Every request says something about every item. When the items with a weight are enough for the answer, halving among
them gives the sets exactly: a linear fit cannot know that one of two items is enough.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from workbench.explain.minimal_sets import FoundSets, KnownChanges, Removed, Search, search_by_halving

BATCH = 6
"""Requests between two fits."""
MOST = 240
"""Requests with random subsets; after these, halving goes on among all items."""
PENALTY = 0.06
"""What a weight costs in the fit. A larger one gives fewer items."""
ROUNDS = 60
"""Passes over all weights; after these, little changes."""
LEAST = 0.08
"""Smaller weights count as zero."""
_SHARES = (0.02, 0.5)
"""The least and the largest share of items that are left out at once."""


def sparse_weights(removed: Sequence[Removed], changed: Sequence[bool], count: int) -> list[float]:
    """For each item, how much more often the answer changes if it is left out; most are 0.

    Least squares with a penalty on the sum of the weights, one weight after the other.
    """
    tests = len(removed)
    if not tests:
        return [0.0] * count
    shares = [sum(item in each for each in removed) / tests for item in range(count)]
    columns = [[(item in each) - shares[item] for each in removed] for item in range(count)]
    sizes = [sum(value * value for value in column) / tests for column in columns]
    mean = sum(changed) / tests
    left = [value - mean for value in changed]
    weights = [0.0] * count
    for _ in range(ROUNDS):
        moved = 0.0
        for item, column in enumerate(columns):
            if not sizes[item]:
                continue
            fit = sum(value * rest for value, rest in zip(column, left, strict=True)) / tests
            fit += sizes[item] * weights[item]
            weight = max(0.0, fit - PENALTY * sizes[item] ** 0.5) / sizes[item]
            step = weight - weights[item]
            if step:
                left = [rest - step * value for value, rest in zip(column, left, strict=True)]
                weights[item] = weight
                moved = max(moved, abs(step))
        if moved < 1e-4:
            break
    return weights


def search_by_subsets(order: Sequence[int], known: KnownChanges | None = None, seed: int = 0) -> Search:
    """All minimal sets: random subsets until the fitted items are enough for the answer, then halving among these."""
    known = known or KnownChanges()
    count, chance = len(order), random.Random(seed)
    if not (yield from known.changes(frozenset(order))):
        return FoundSets((), frozenset(), complete=True)
    removed: list[Removed] = []
    changed: list[bool] = []
    share = _SHARES[1]
    while len(removed) < MOST:
        for _ in range(BATCH):
            subset = frozenset(number for number in range(count) if chance.random() < share)
            removed.append(subset)
            changed.append((yield from known.changes(frozenset(order[number] for number in subset))))
        lately = sum(changed[-BATCH:]) / BATCH
        share = min(max(share * (0.6 if lately > 0.7 else 1.5 if lately < 0.3 else 1.0), _SHARES[0]), _SHARES[1])
        weights = sparse_weights(removed, changed, count)
        found = frozenset(order[number] for number, weight in enumerate(weights) if weight > LEAST)
        if not found or (yield from known.changes(frozenset(order) - found)):
            continue
        break
    return (yield from search_by_halving(order, known))
