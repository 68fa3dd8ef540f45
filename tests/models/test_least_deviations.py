"""Many equations, few unknowns: what most of them say, whatever a few odd ones say."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.models.least_deviations import Equation, least_deviations

WIDE = ((-1e9, 1e9), (-1e9, 1e9))


@given(st.floats(-100, 100), st.floats(-10, 10), st.integers(0, 1_000))
def test_the_numbers_behind_equations_are_found_although_some_are_odd(first: float, second: float, seed: int) -> None:
    random = Random(seed)
    equations = []
    for at in range(40):
        other = random.uniform(0, 50)
        odd = random.uniform(-5_000, 5_000) if at % 5 == 0 else 0.0
        equations.append(Equation((1, other), first + second * other + odd))
    found = least_deviations(equations, WIDE)
    assert found == pytest.approx([first, second], abs=0.5)


@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).map(
            lambda each: Equation(each[:2], each[2])
        ),
        max_size=20,
    )
)
def test_what_is_found_is_always_within_its_bounds(equations: list[Equation]) -> None:
    first, second = least_deviations(equations, ((0, 1), (-2, 3)))
    assert 0 <= first <= 1
    assert -2 <= second <= 3


def test_an_unknown_held_at_its_bound_leaves_the_others_to_fit() -> None:
    equations = [Equation((1, at), -10 + 2 * at) for at in range(1, 30)]
    [held, other] = least_deviations(equations, ((0, 100), (0, 100)))
    assert held == 0
    assert 1 < other < 2


def test_an_unknown_that_no_equation_tells_of_is_nothing() -> None:
    assert least_deviations([Equation((1, 0), 5), Equation((1, 0), 5)], WIDE) == pytest.approx([5, 0])
    assert least_deviations([], WIDE) == [0, 0]
