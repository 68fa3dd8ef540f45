"""What reports teach: a fixed part and a factor, learnt from what came before and nothing else."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.models.calibration import MOST_EXTRA, ODDEST, Calibrator, KeptThinking, PastThinking, ReportedSize


def learnt(fixed: int, factor: float, contents: list[int], prior: float = 1.0) -> Calibrator:
    """After reports that are truly `fixed + factor x contents + framing`."""
    made = Calibrator("m", prior)
    for number, items in enumerate(contents):
        made.add_report(ReportedSize(items, 4 * number, fixed + 4 * number + round(factor * items)))
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
    made.add_report(ReportedSize(growing()[-1] + 1_000, 0, 900_000))
    made.add_report(ReportedSize(growing()[-1] + 2_000, 0, 30_000))
    assert made.calibration.factor == pytest.approx(before, rel=0.02)


def test_after_a_compaction_what_had_grown_beside_the_contents_is_gone_too() -> None:
    made = Calibrator("m")
    for step in range(1, 20):  # hidden thinking: 300 tokens a request that no file has
        made.add_report(ReportedSize(1_000 * step, 0, 10_000 + 1_000 * step + 300 * step))
    calibration = made.calibration
    assert calibration.estimate(20_000, 0) > 34_000
    assert calibration.estimate(2_000, 0) == pytest.approx(12_300, rel=0.05)


def test_without_a_report_the_factor_is_that_of_the_family() -> None:
    calibration = Calibrator("claude", 1.14).calibration
    assert (calibration.factor, calibration.fixed, calibration.samples) == (1.14, 0, 0)
    assert calibration.estimate(100, 7) == 121
    assert calibration.why == "no request to claude has reported its tokens yet; the factor of its family is 1.14"


@pytest.mark.parametrize(("more", "factor"), [(700, 1.0), (1_500, 1.3)])
def test_the_factor_of_the_family_weighs_as_much_as_contents_of_a_thousand_tokens(more: int, factor: float) -> None:
    assert learnt(100_000, 1.3, [500, 500 + more]).calibration.factor == pytest.approx(factor, rel=0.01)


def test_how_wrong_estimates_are_is_known_after_two() -> None:
    assert [learnt(5, 1.0, contents).calibration.spread is None for contents in ([9], [9, 20], [9, 20, 40])] == [
        *(True, True),
        False,
    ]


def test_the_reason_has_the_numbers() -> None:
    why = learnt(20_000, 1.25, growing()).calibration.why
    assert why.startswith("learnt from 31 requests: 20,")
    assert "+ 1.25" in why
    assert "nine of ten estimates were within" in why
    assert learnt(5, 1.0, [10]).calibration.why.startswith("learnt from 1 request: 5 tokens")


def test_the_estimate_that_is_judged_was_made_before_the_report() -> None:
    made = Calibrator("m")
    for items, reported in ((1_000, 1_500), (2_000, 2_500), (3_000, 7_000)):
        made.add_report(ReportedSize(items, 0, reported))
    assert made.error_of(2) == 0.0
    assert made.error_of(3) == pytest.approx(3_500 / 7_000 - 1)
    assert made.calibration.spread == pytest.approx(0.5), "nine of ten of two are both: the worse one"


@given(st.lists(st.tuples(st.integers(0, 10**5), st.integers(0, 10**3), st.integers(0, 10**6)), max_size=90))
def test_what_was_known_after_a_report_is_the_same_asked_at_once_or_later(reports: list[tuple[int, int, int]]) -> None:
    asked, later = Calibrator("m"), Calibrator("m")
    known = [asked.calibration]
    for report in reports:
        asked.add_report(ReportedSize(*report))
        later.add_report(ReportedSize(*report))
        known.append(asked.calibration)
    assert [later.calibration_after(samples) for samples in range(len(known))] == known


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(1, 10**7)), max_size=30))
def test_whatever_is_reported_the_factor_stays_within_bounds(reports: list[tuple[int, int, int]]) -> None:
    made = Calibrator("m")
    for report in reports:
        made.add_report(ReportedSize(*report))
        calibration = made.calibration
        assert ODDEST[0] <= calibration.factor <= ODDEST[1]
        assert 0 <= calibration.extra <= MOST_EXTRA
        assert calibration.fixed >= 0
        last = ReportedSize(*report)
        assert calibration.estimate(last.items, last.framing) == last.reported


def test_the_fixed_part_is_found_although_the_first_request_is_large() -> None:
    made = Calibrator("gemini", 1.23)
    for step in range(12):  # contents that count as ours do, where the family's factor would swallow the fixed part
        items = 30_000 + 900 * step
        made.add_report(ReportedSize(items, 7 * step, 8_685 + items + 7 * step))
    calibration = made.calibration
    assert calibration.fixed == pytest.approx(8_685, rel=0.05)
    assert calibration.factor == pytest.approx(1, abs=0.02)


def test_framing_beyond_ours_is_not_taken_for_a_factor() -> None:
    random, made, sizes = Random(3), Calibrator("claude", 1.14), []
    items = 50
    for step in range(200):  # large results at first, small steps later, as in a real session
        items += random.randrange(2_000, 9_000) if step < 20 else random.randrange(10, 300)
        sizes.append(ReportedSize(items, 11 * step, 1_600 + round(1.05 * items) + 70 * step))
        made.add_report(sizes[-1])
    calibration = made.calibration
    assert calibration.factor == pytest.approx(1.05, abs=0.01)
    assert calibration.extra * 11 + 11 == pytest.approx(70, rel=0.05)
    for size in sizes:
        rows = round((1 + calibration.extra) * size.framing) + round(calibration.factor * size.items)
        assert size.reported > rows, "the rows sum to more than was sent"
        assert abs(size.reported - rows - calibration.tokens_outside_rows().tokens) <= 0.02 * size.reported


@pytest.mark.parametrize("which", ["none", "turn", "all"])
def test_it_is_learnt_which_thinking_is_sent_again(which: KeptThinking) -> None:
    random, made = Random(5), Calibrator("m")
    items, turn, whole = 500, 0, 0
    for step in range(60):
        items += random.randrange(100, 900)
        thinking = PastThinking(turn, whole)
        made.add_report(
            ReportedSize(items, 11 * step, 6_000 + items + 11 * step + thinking.kept_tokens(which), thinking)
        )
        more = random.randrange(0, 500)
        turn, whole = 0 if step % 9 == 8 else turn + more, whole + more
    calibration = made.calibration
    assert calibration.thinking == which
    assert calibration.fixed == pytest.approx(6_000, rel=0.02)
    assert calibration.factor == pytest.approx(1, abs=0.01)


def test_after_a_compaction_the_fixed_part_is_known() -> None:
    made = Calibrator("m")
    for number in range(3):
        for step in range(30):
            size = ReportedSize(3_000 + 2_500 * step, 40 + 11 * step, 0, PastThinking(200 * step, 200 * step))
            reported = 20_000 + round(1.1 * size.items) + 2 * size.framing + size.thinking.turn
            made.add_report(size._replace(reported=reported))
            if number and not step:
                assert made.error_of(30 * number + 1) == pytest.approx(0, abs=0.02)


def test_what_is_learnt_stays_cheap_however_many_reports_there_are() -> None:
    made = learnt(5_000, 1.1, growing(2_000))
    assert len(made._sizes) <= 121
    assert made.calibration.factor == pytest.approx(1.1, rel=0.01)
