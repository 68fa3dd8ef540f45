"""Three against four is no difference."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.resampling import bootstrap_interval
from workbench.lab.noise import ONE_SESSION, UNLIKELY, chance_of, noise_lines

MANY = range(1, 31)


def test_a_difference_that_may_be_chance_is_named() -> None:
    few, more, many = ("few", [[1, 2, 3]]), ("more", [[4, 5, 6, 7]]), ("many", [MANY])
    [line, one] = noise_lines([many, few, more])
    assert line == "no difference: few and more (3 and 4 requests with a miss) may be chance"
    assert one == ONE_SESSION
    assert noise_lines([few, many]) == [ONE_SESSION]
    assert noise_lines([few, few]) == []
    assert noise_lines([]) == []


def test_one_session_among_many_is_no_difference_however_many_of_its_requests_miss() -> None:
    [line] = noise_lines([("few", [[], *[[1]] * 7]), ("more", [MANY, *[[1]] * 7])])
    assert (
        line == "no difference: few and more (7 and 37 requests with a miss) may be chance: +0 to +90 over 8 sessions"
    )
    assert noise_lines([("few", [[]] * 8), ("more", [MANY] * 8)]) == []


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=30))
def test_an_interval_is_always_within_what_was_seen(seen: list[int]) -> None:
    low, high = bootstrap_interval(len(seen), lambda drawn: sum(seen[at] for at in drawn) / len(seen))
    assert min(seen) - 1e-9 <= low <= high <= max(seen) + 1e-9


@pytest.mark.parametrize(("cases", "resamples"), [(10, 2_000), (1_000, 1_000), (9_000, 200)])
def test_the_more_cases_there_are_the_fewer_resamples_are_drawn(cases: int, resamples: int) -> None:
    drawn = list[int]()

    def figure(positions: Sequence[int]) -> float:
        drawn.append(len(positions))
        return 0.0

    bootstrap_interval(cases, figure)
    assert drawn == [cases] * resamples


@given(st.integers(0, 60), st.integers(0, 60))
def test_chance_is_a_share_and_the_order_of_both_does_not_matter(first: int, second: int) -> None:
    assert 0 < chance_of(first, second) <= 1
    assert chance_of(first, second) == chance_of(second, first)
    assert chance_of(first, first) >= UNLIKELY
