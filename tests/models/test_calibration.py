"""What reports teach: a fixed part and a factor, learnt from what came before and nothing else."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.models.calibration import ODDEST, Calibrator, ReportedSize, weighted_median


def learnt(fixed: int, factor: float, contents: list[int], prior: float = 1.0) -> Calibrator:
    """After reports that are truly `fixed + factor x contents + framing`."""
    made = Calibrator("m", prior)
    for number, items in enumerate(contents):
        made.add(ReportedSize(items, 4 * number, fixed + 4 * number + round(factor * items)))
    return made


def growing(steps: int = 30, seed: int = 1) -> list[int]:
    random = Random(seed)
    found = [500]
    for _ in range(steps):
        found.append(found[-1] + random.randrange(200, 6_000))
    return found


@given(st.integers(0, 50_000), st.floats(0.6, 2.0), st.integers(0, 1_000))
def test_a_fixed_part_and_a_factor_are_found_again(fixed: int, factor: float, seed: int) -> None:
    contents = growing(seed=seed)
    calibration = learnt(fixed, factor, contents).calibration
    assert calibration.factor == pytest.approx(factor, rel=0.02)
    more = contents[-1] + 3_000
    assert calibration.estimate(more, 100) == pytest.approx(fixed + factor * more + 100, rel=0.01)


def test_single_odd_reports_teach_little() -> None:
    made = learnt(20_000, 1.3, growing())
    before = made.calibration.factor
    made.add(ReportedSize(growing()[-1] + 1_000, 0, 900_000))
    made.add(ReportedSize(growing()[-1] + 2_000, 0, 30_000))
    assert made.calibration.factor == pytest.approx(before, rel=0.02)


def test_after_a_compaction_what_had_grown_beside_the_contents_is_gone_too() -> None:
    made = Calibrator("m")
    for step in range(1, 20):  # hidden thinking: 300 tokens a request that no file has
        made.add(ReportedSize(1_000 * step, 0, 10_000 + 1_000 * step + 300 * step))
    calibration = made.calibration
    assert calibration.estimate(20_000, 0) > 34_000
    assert calibration.estimate(2_000, 0) == pytest.approx(12_300, rel=0.05)


def test_without_a_report_the_factor_is_that_of_the_family() -> None:
    calibration = Calibrator("claude", 1.14).calibration
    assert (calibration.factor, calibration.fixed, calibration.samples) == (1.14, 0, 0)
    assert calibration.estimate(100, 7) == 121
    assert calibration.why == "no request to claude has reported its tokens yet; the factor of its family is 1.14"


def test_the_reason_has_the_numbers() -> None:
    why = learnt(20_000, 1.25, growing()).calibration.why
    assert why.startswith("learnt from 31 requests: 20,")
    assert "+ 1.25" in why
    assert "nine of ten estimates were within" in why
    assert learnt(5, 1.0, [10]).calibration.why.startswith("learnt from 1 request: 5 tokens")


def test_the_estimate_that_is_judged_was_made_before_the_report() -> None:
    made = Calibrator("m")
    assert made.add(ReportedSize(1_000, 0, 1_500)) is None
    assert made.add(ReportedSize(2_000, 0, 2_500)) == 0.0
    assert made.add(ReportedSize(3_000, 0, 7_000)) == pytest.approx(3_500 / 7_000 - 1)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(1, 10**7)), max_size=30))
def test_whatever_is_reported_the_factor_stays_within_bounds(reports: list[tuple[int, int, int]]) -> None:
    made = Calibrator("m")
    for report in reports:
        made.add(ReportedSize(*report))
        calibration = made.calibration
        assert ODDEST[0] <= calibration.factor < ODDEST[1]
        assert calibration.fixed >= 0
        last = ReportedSize(*report)
        assert calibration.estimate(last.items, last.framing) == last.reported


@given(st.lists(st.tuples(st.floats(0.1, 10), st.integers(1, 100)), min_size=1))
def test_half_of_the_weight_lies_on_each_side_of_the_median(values: list[tuple[float, int]]) -> None:
    middle = weighted_median(values)
    whole = sum(weight for _, weight in values)
    assert sum(weight for value, weight in values if value < middle) <= whole / 2
    assert sum(weight for value, weight in values if value > middle) <= whole / 2
