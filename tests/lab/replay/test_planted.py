"""The lab finds what was planted, and little else."""

from __future__ import annotations

from support.planted import planted_session, share_interval


def test_most_planted_misses_are_found_and_most_that_are_reported_are_real() -> None:
    results = [planted_session(seed) for seed in range(25)]
    recall, low, high = share_interval([(sum(each.found.values()), len(each.found)) for each in results])
    assert low <= recall <= high
    assert recall > 0.85
    precision, _, _ = share_interval([(each.right, each.reported) for each in results])
    assert precision > 0.7


def test_the_range_of_a_share_is_wider_for_fewer_sessions() -> None:
    (_, low, high), (_, lower, higher) = (share_interval([(1, 2), (2, 2), (0, 2)] * many) for many in (20, 2))
    assert lower < low < high < higher
