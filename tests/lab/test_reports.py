"""What the lab found out, summed over sessions."""

from __future__ import annotations

from workbench.config.values import replace
from workbench.lab.figures import CorpusFigures
from workbench.lab.reports import missed_lines, report_lines, summary_lines
from workbench.lab.values import (
    MISSED_IN_100,
    REREADING,
    WHAT_COSTS,
    LabCompaction,
    LabPoint,
    Miss,
    PolicyRun,
    SourceRun,
)


def run(tokens: int, cost: float | None) -> PolicyRun:
    return PolicyRun("codex", 8_000, (LabPoint(1, 1, tokens, True, 0, tokens, 0),), (), (), 0, 0, 0, cost, 0)


def figures_of(*sources: SourceRun) -> CorpusFigures:
    figures = CorpusFigures()
    assert list(figures.adding(sources)) == list(sources)
    return figures


def test_a_sum_has_the_cost_of_those_whose_price_is_known_and_says_so() -> None:
    known, unknown = SourceRun("a", "m", 1, (run(10, 0.5),)), SourceRun("b", "", 1, (run(20, None),))
    assert [(row["tokens"], row["cost"]) for row in figures_of(known, unknown).rows] == [(30, 0.5)]
    assert "cost: without 1 session for whose model no price is known" in report_lines([known, unknown], 0)
    assert not any(line.startswith("cost: without") for line in report_lines([known, known], 0))
    assert figures_of(unknown).rows[0]["cost"] is None


def test_shares_of_requests_have_two_digits() -> None:
    points = [LabPoint(at, at, 10, True, 0, 10, 0) for at in range(1, 8)]
    points[3] = points[3]._replace(misses=1)
    missed = replace(run(10, 0.5), points=tuple(points), misses=(Miss("number", "8001", 4, 2, 4),))
    [row] = figures_of(SourceRun("a", "m", 7, (missed,))).rows
    assert (row["misses_per_100"], row["missed_in_100"]) == (14.29, 14.29)


def test_one_session_without_a_price_says_whose_is_missing_and_what_helps() -> None:
    said = "cost: no price is known for spark; --model NAME takes the prices of another model"
    assert said in report_lines([SourceRun("a", "spark", 1, (run(20, None),))], 0)
    assert said not in report_lines([SourceRun("a", "spark", 1, (run(20, 0.5),))], 0)


def test_a_table_fits_a_narrow_terminal() -> None:
    source = SourceRun("a", "m", 1, (run(123_456_789, 12_345.678),))
    wide, narrow = report_lines([source], 0), report_lines([source], 60)
    assert "cache read" in wide[2]
    assert max(map(len, narrow)) <= 60
    assert "cache read" not in narrow[2]
    assert "with a miss" in narrow[2]
    assert "$12,345.68" in narrow[3]


def test_that_something_did_not_fit_is_said_on_a_narrow_terminal_too() -> None:
    overflow = replace(run(123_456_789, 12_345.678), points=(LabPoint(1, 1, 123_456_789, False, 0, 0, 0),))
    narrow = report_lines([SourceRun("a", "m", 1, (overflow,))], 62)
    assert max(map(len, narrow)) <= 62
    assert "did not fit" in narrow[2]
    assert "did not fit" not in report_lines([SourceRun("a", "m", 1, (run(1, None),))], 40)[2]


def test_a_window_that_is_a_guess_is_told() -> None:
    known, guessed = run(1, None), replace(run(1, None), is_window_guessed=True)
    one, other = SourceRun("a", "m", 1, (guessed, guessed)), SourceRun("b", "m", 1, (known, known))
    said = "window: 8,000 is a guess for {}; --window N sets it"
    assert said.format("this session's model") in report_lines([one], 0)
    assert said.format("the model of 1 session") in report_lines([one, other], 0)
    assert not any("guess" in line for line in report_lines([other], 0))


def test_problems_of_one_kind_are_told_once() -> None:
    problems = [f"too_long: the summary had {tokens} tokens" for tokens in (549, 535, 553)]
    problems += [f"model: failed in way {'abc'[at]}" for at in (0, 0, 1, 2)]
    made = tuple(LabCompaction(1, 9, 1, 0, None, "m", problem) for problem in problems)
    source = SourceRun("a", "m", 1, (replace(run(1, None), compactions=made),))
    assert summary_lines(figures_of(source).summaries) == [
        "summaries: 7 by m",
        "           3 times: too long: the summary had 549 tokens",
        "           2 times: model: failed in way a",
        "           1 time: model: failed in way b",
        "           1 time for other reasons",
    ]


def test_the_columns_are_explained_in_the_words_of_the_screen() -> None:
    missed = replace(run(10, 0.5), misses=(Miss("number", "8001", 4, 2, 1),))
    told = report_lines([SourceRun("a", "m", 1, (missed,))], 0)
    assert f"{MISSED_IN_100}  facts" in told[2]
    assert "missed in 100: requests in 100 with a miss" in told
    assert WHAT_COSTS in told
    plain = report_lines([SourceRun("a", "m", 1, (run(10, None),))], 0)
    assert WHAT_COSTS not in plain
    assert not any(line.startswith("missed in 100:") for line in plain)


def test_what_reading_again_costs_is_explained_if_any_policy_has_to() -> None:
    figures = ((2, 0.1), (1, None), (0, None))
    rows = [{"misses": misses, "reread_cost": cost} for misses, cost in figures]
    assert [line.startswith(REREADING) for line in missed_lines(rows)] == [False, True]
    assert [line.startswith(REREADING) for line in missed_lines(rows[1:])] == [False]
    assert missed_lines(rows[2:]) == []
