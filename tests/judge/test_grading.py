"""Grades by rule, and the scores that they add up to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.judge.grading import grade_by_rule
from workbench.judge.scores import LEAST, context_scores, differ, score_of
from workbench.judge.values import Grade, Match, Probe, ProbeAnswer, Score


def probe(*expected: str, match: Match = "value") -> Probe:
    return Probe("recall", "Which?", expected, match, ("e1",))


@pytest.mark.parametrize(
    ("expected", "answer", "score"),
    [
        ("48", "48", 1.0),
        ("48", "There are 48 of them.", 1.0),
        ("48", "148", 0.0),
        ("48", "4.8", 0.0),
        ("12000", "12,000 tokens", 1.0),
        ("src/pool/worker.py", "`src/pool/worker.py`", 1.0),
        ("src/pool/worker.py", "pool/worker.py", 1.0),
        ("src/pool/worker.py", "src/pool/limits.py", 0.0),
        ("parse_header", "parse_header()", 1.0),
        ("48", "unknown", 0.0),
        ("48", "yes", 0.0),
        ("48", "   ", 0.0),
    ],
)
def test_a_value_is_right_if_it_is_in_the_answer(expected: str, answer: str, score: float) -> None:
    grade = grade_by_rule(probe(expected), answer)
    assert grade is not None
    assert grade.score == score


def test_of_a_list_every_part_counts_for_its_share() -> None:
    grade = grade_by_rule(probe("a.py", "b.py", "c.py", "d.py"), "a.py; c.py; x.py")
    assert grade is not None
    assert grade.score == 0.5


def test_a_sentence_in_other_words_is_left_to_the_judge() -> None:
    said = probe("because the deployment has no Redis server", match="words")
    right = grade_by_rule(said, "the deployment has no Redis server")
    assert right is not None
    assert right.score == 1.0
    assert grade_by_rule(said, "nothing of that kind runs in production") is None
    most = grade_by_rule(probe("alpha bravo charlie delta foxtrot", match="words"), "charlie, alpha and delta")
    assert most is not None, "three of five words are enough"
    assert most.score == 1.0
    unknown = grade_by_rule(said, "It is not stated in the context.")
    assert unknown is not None
    assert unknown.score == 0.0


words = st.sampled_from(["48", "src/a.py", "because", "deployment", "Redis", "server", "unknown", "yes", "a.py;"])
answers = st.lists(words, max_size=8).map(" ".join)


@given(answers, answers, st.sampled_from(["value", "words"]))
def test_more_in_an_answer_never_costs_anything(answer: str, more: str, match: Match) -> None:
    asked = probe("48", "src/a.py", "deployment Redis server", match=match)
    alone, together = grade_by_rule(asked, answer), grade_by_rule(asked, f"{answer} | {more}")
    assert together is None or alone is None or together.score >= alone.score


grades = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=40)


@given(grades)
def test_a_score_comes_with_its_count_and_lies_inside_its_interval(values: list[float]) -> None:
    score = score_of(values)
    assert score.probes == len(values)
    assert (score.mean is None) == (not values)
    if len(values) < LEAST:
        assert score.low is score.high is None
    else:
        assert score.low is not None
        assert score.high is not None
        assert score.mean is not None
        assert 0 <= score.low <= score.mean <= score.high <= 1
        assert score.low < score.high


@given(grades, st.randoms())
def test_the_order_of_the_probes_does_not_matter(values: list[float], chance: object) -> None:
    shuffled = list(values)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert score_of(shuffled) == score_of(values)


def test_scores_differ_only_if_their_intervals_do_not_overlap() -> None:
    good, bad = score_of([1.0] * 20), score_of([0.0] * 20)
    assert differ(good, bad)
    assert not differ(good, score_of([1.0] * 15 + [0.0] * 5))
    assert not differ(good, Score(2, 0.0))
    assert not differ(Score(0, None), bad)


def test_what_was_not_answered_or_graded_is_counted_apart() -> None:
    probes = [probe("a"), probe("b"), probe("c")]
    given_ = [ProbeAnswer(each.id, "c", "m", 1, "x") for each in probes[:2]]
    graded = {given_[0].hash: Grade(probes[0].id, given_[0].hash, 1.0, "rule")}
    scores = context_scores(probes, given_, graded, tries=2)
    assert scores.all == Score(1, 1.0)
    assert (scores.unanswered, scores.ungraded) == (4, 1)
