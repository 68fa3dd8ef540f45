"""Shares and effects have intervals that hold them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.explain.intervals import ChangedCount, effect_of


@st.composite
def tallies(draw: st.DrawFn) -> ChangedCount:
    tries = draw(st.integers(0, 200))
    return ChangedCount(draw(st.integers(0, tries)), tries)


@given(tallies(), tallies())
def test_an_interval_always_holds_its_value(without: ChangedCount, unchanged: ChangedCount) -> None:
    low, high = without.interval
    assert 0 <= low <= without.share <= high <= 1 or not without.tries
    effect = effect_of(without, unchanged)
    assert -1 <= effect.low <= effect.value <= effect.high <= 1
    assert effect.without is without


@given(st.integers(1, 50))
def test_more_tries_make_it_narrower(tries: int) -> None:
    few, many = ChangedCount(tries, tries).interval, ChangedCount(2 * tries, 2 * tries).interval
    assert many[1] - many[0] < few[1] - few[0]


def test_known_values() -> None:
    assert ChangedCount(3, 3).interval == pytest.approx((0.4385, 1.0), abs=1e-4)
    assert ChangedCount(5, 20).interval == pytest.approx((0.1119, 0.4687), abs=1e-4)
    assert ChangedCount().interval == (0.0, 1.0)
    # the example in Newcombe's paper of 1998, method 10: 56 of 70 and 48 of 80
    effect = effect_of(ChangedCount(56, 70), ChangedCount(48, 80))
    assert (effect.low, effect.high) == pytest.approx((0.0524, 0.3339), abs=1e-4)
