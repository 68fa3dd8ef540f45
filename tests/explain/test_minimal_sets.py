"""The search finds exactly the sets that change the answer, with the number of tests that it promises."""

from __future__ import annotations

from itertools import combinations
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.planted import answer_search, depends_on
from support.random_cases import few_cases
from workbench.explain.minimal_sets import FoundSets, KnownChanges, hitting_sets, search_by_halving

MOST = 7


@st.composite
def causes(draw: st.DrawFn) -> tuple[int, list[frozenset[int]]]:
    """A number of items, and sets of them: the answer changes when one set is gone whole."""
    count = draw(st.integers(1, MOST))
    one = st.frozensets(st.integers(0, count - 1), min_size=1)
    return count, draw(st.lists(one, max_size=3))


def smallest(sets: list[frozenset[int]]) -> set[frozenset[int]]:
    return {each for each in sets if not any(other < each for other in sets)}


@given(causes(), st.randoms(use_true_random=False))
def test_all_minimal_sets_are_found_and_no_others(cause: tuple[int, list[frozenset[int]]], chance: object) -> None:
    count, sets = cause
    order = list(range(count))
    chance.shuffle(order)  # type: ignore[attr-defined]
    found, tests = answer_search(search_by_halving(order), depends_on(sets))
    assert set(found.sets) == smallest(sets)
    assert found.complete
    assert len(tests) == len(set(tests))
    assert found.enough is not None
    assert all(found.enough & each for each in sets)
    for size in range(len(found.enough)):
        for fewer in combinations(range(count), size):
            assert any(not each & set(fewer) for each in sets)


@given(st.integers(1, 200), st.data())
def test_one_item_takes_the_logarithm_of_their_number(count: int, data: st.DataObject) -> None:
    needed = data.draw(st.integers(0, count - 1))
    found, tests = answer_search(search_by_halving(range(count)), depends_on([{needed}]))
    assert found.sets == (frozenset({needed}),)
    assert found.enough == frozenset({needed})
    assert len(tests) <= ceil(log2(count)) + 3


def test_nothing_takes_one_test() -> None:
    found, tests = answer_search(search_by_halving(range(200)), depends_on([]))
    assert found == FoundSets((), frozenset(), complete=True)
    assert tests == [frozenset(range(200))]


def test_without_items_there_is_nothing_to_test() -> None:
    found, tests = answer_search(search_by_halving([]), depends_on([]))
    assert (found.complete, tests) == (True, [])


@few_cases()
@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_a_model_that_answers_at_random_does_not_keep_it_searching_for_ever(count: int, chance: object) -> None:
    answer_search(search_by_halving(range(count)), lambda _: chance.random() < 0.5, most=20_000)  # type: ignore[attr-defined]


def test_what_is_left_out_first_comes_first_in_the_tests() -> None:
    _, tests = answer_search(search_by_halving(range(8)), depends_on([{1}]))
    assert tests[1] == {0, 1, 2, 3}


def test_sets_found_before_it_was_stopped_are_kept() -> None:
    known = KnownChanges()
    search = search_by_halving(range(16), known)
    changed = depends_on([{3}, {9}])
    asked = next(search)
    while not known.sets:
        asked = search.send(changed(asked))
    search.close()
    assert known.sets == [frozenset({3})]
    assert known.known_change(frozenset({3, 5})) is True
    assert known.known_change(frozenset({0})) is False
    assert known.known_change(frozenset({12})) is None


@pytest.mark.parametrize(
    ("sets", "hit"),
    [([], [[]]), ([[1], [2]], [[1, 2]]), ([[1, 2]], [[1], [2]]), ([[1, 2], [1, 3]], [[1], [2, 3]])],
)
def test_the_smallest_choices_that_hit_every_set(sets: list[list[int]], hit: list[list[int]]) -> None:
    assert hitting_sets(sets) == [frozenset(each) for each in hit]
