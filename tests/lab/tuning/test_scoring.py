"""How a policy is scored: sessions weigh alike, and misses are limited to those of the base."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.lab.tuning.objective import DEFAULT_OBJECTIVE, NAMES, parse_objective
from workbench.lab.tuning.scoring import SessionScoring

COST = parse_objective(DEFAULT_OBJECTIVE)


def session(size: int, missed: int = 0, of: int = 10) -> dict[str, Any]:
    known = {"tokens": size, "cost": size / 1000, "missed_requests": missed, "requests": of}
    return {"policy": "", "reread_cost": None} | dict.fromkeys(NAMES, 0) | known


BASE = [session(99_000), session(250), session(250), session(500)]
ONLY_THE_LONG_ONE = [session(90_000), session(300), session(300), session(600)]
ALL_BUT_THE_LONG_ONE = [session(100_000), session(200), session(200), session(400)]


def test_one_file_of_99_percent_of_the_tokens_does_not_decide() -> None:
    alike, by_tokens = SessionScoring(COST, BASE), SessionScoring(COST, BASE, is_alike=False)
    assert alike.score(ALL_BUT_THE_LONG_ONE).rank < alike.score(BASE).rank < alike.score(ONLY_THE_LONG_ONE).rank
    assert by_tokens.score(ONLY_THE_LONG_ONE).rank < by_tokens.score(BASE).rank
    assert by_tokens.score(BASE).rank < by_tokens.score(ALL_BUT_THE_LONG_ONE).rank


def test_under_the_base_the_weights_change_no_sum() -> None:
    base = [session(99_000, 3, 400), session(250, 1, 4)]
    score = SessionScoring(COST, base).score(base)
    for name in ("tokens", "cost", "requests"):
        assert score.weighed[name] == pytest.approx(score.figures[name])
    assert score.weighed["missed_in_100"] == pytest.approx((100 * 3 / 400 + 100 * 1 / 4) / 2)


sizes = st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20)


@given(sizes, st.sampled_from([2, 10, 1000]))
def test_a_session_never_weighs_more_because_it_is_longer(tokens: list[tuple[int, int]], times: int) -> None:
    def change(first: int) -> float:
        factors = [first, *[1] * (len(tokens) - 1)]
        base, own = (
            [session(each[at] * factor, of=10 * factor) for each, factor in zip(tokens, factors, strict=True)]
            for at in (0, 1)
        )
        scoring = SessionScoring(COST, base)
        return scoring.score(own).value / scoring.score(base).value

    assert change(times) == pytest.approx(change(1))


@given(st.integers(0, 10), st.integers(0, 10), st.integers(1, 10**6))
def test_a_policy_that_misses_more_than_the_base_is_never_better(base: int, own: int, cost: int) -> None:
    before, after = [session(1000, base)] * 2, [session(cost, own)] * 2
    scoring = SessionScoring(COST, before)
    if own > base:
        assert scoring.score(after).rank > scoring.score(before).rank
    elif cost < 1000:
        assert scoring.score(after).rank < scoring.score(before).rank


def test_without_the_limit_misses_are_only_what_the_objective_says() -> None:
    scoring = SessionScoring(parse_objective("cost"), [session(1000, 0)])
    assert scoring.score([session(900, 9)]).rank < scoring.score([session(1000, 0)]).rank
