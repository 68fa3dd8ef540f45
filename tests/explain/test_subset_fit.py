"""The sparse fit finds the items with an effect; the search by subsets is as exact as the one by halving."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from explain.planted import answer_search, depends_on
from workbench.explain.minimal_sets import search_by_halving
from workbench.explain.subset_fit import search_by_subsets, sparse_weights


@given(st.integers(2, 40), st.integers(0, 1000))
def test_the_fit_gives_the_weight_to_the_item_that_changes_the_answer(count: int, seed: int) -> None:
    chance = random.Random(seed)
    removed = [frozenset(item for item in range(count) if chance.random() < 0.5) for _ in range(60)]
    weights = sparse_weights(removed, [0 in each for each in removed], count)
    assert max(range(count), key=weights.__getitem__) == 0
    assert sum(weight > 0.2 for weight in weights) == 1


def test_without_tests_all_weights_are_0() -> None:
    assert sparse_weights([], [], 3) == [0, 0, 0]
    assert sparse_weights([frozenset({1})] * 4, [True] * 4, 3) == [0, 0, 0]


@given(st.integers(1, 30), st.data(), st.integers(0, 1000))
def test_both_searches_find_the_same(count: int, data: st.DataObject, seed: int) -> None:
    one = st.frozensets(st.integers(0, count - 1), min_size=1, max_size=2)
    changed = depends_on(data.draw(st.lists(one, max_size=3)))
    by_subsets, _ = answer_search(search_by_subsets(range(count), seed=seed), changed)
    by_halving, _ = answer_search(search_by_halving(range(count)), changed)
    assert set(by_subsets.sets) == set(by_halving.sets)
    assert by_subsets.complete


def test_halving_takes_fewer_requests() -> None:
    """The figures in docs/explain.md come from such runs."""
    for truth in ([{7}], [{7}, {40}], [{7, 40}]):
        _, halving = answer_search(search_by_halving(range(64)), depends_on(truth))
        _, subsets = answer_search(search_by_subsets(range(64)), depends_on(truth))
        assert len(halving) < len(subsets) < 64
