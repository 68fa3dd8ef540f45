"""Three against four is no difference."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.config.resampling import bootstrap_interval
from workbench.lab.noise import ONE_SESSION, UNLIKELY, chance_of, noise_lines
from workbench.lab.values import LabPoint, PolicyRun, SourceRun


def run(policy: str, missed: set[int]) -> PolicyRun:
    points = tuple(LabPoint(number, number, 10, True, 0, 0, number in missed) for number in range(1, 41))
    return PolicyRun(policy, 100, points, (), (), 0, 0, 0, None, 0)


def test_a_difference_that_may_be_chance_is_named() -> None:
    few, more, many = run("few", {1, 2, 3}), run("more", {4, 5, 6, 7}), run("many", set(range(1, 31)))
    [line, one] = noise_lines([SourceRun("a", "m", 40, (many, few, more))])
    assert line == "no difference: few and more (3 and 4 requests with a miss) may be chance"
    assert one == ONE_SESSION
    assert noise_lines([SourceRun("a", "m", 40, (few, many))]) == [ONE_SESSION]
    assert noise_lines([SourceRun("a", "m", 40, (few, few))]) == []
    assert noise_lines([]) == []


def test_one_session_among_many_is_no_difference_however_many_of_its_requests_miss() -> None:
    calm = SourceRun("a", "m", 40, (run("few", {1}), run("more", {1})))
    loud = SourceRun("b", "m", 40, (run("few", set()), run("more", set(range(1, 31)))))
    [line] = noise_lines([loud, *[calm] * 7])
    assert (
        line == "no difference: few and more (7 and 37 requests with a miss) may be chance: +0 to +90 over 8 sessions"
    )
    assert noise_lines([loud] * 8) == []


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=30))
def test_an_interval_is_always_within_what_was_seen(seen: list[int]) -> None:
    low, high = bootstrap_interval(len(seen), lambda drawn: sum(seen[at] for at in drawn) / len(seen))
    assert min(seen) - 1e-9 <= low <= high <= max(seen) + 1e-9


@given(st.integers(0, 60), st.integers(0, 60))
def test_chance_is_a_share_and_the_order_of_both_does_not_matter(first: int, second: int) -> None:
    assert 0 < chance_of(first, second) <= 1
    assert chance_of(first, second) == chance_of(second, first)
    assert chance_of(first, first) >= UNLIKELY
