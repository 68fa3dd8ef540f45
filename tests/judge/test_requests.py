"""What is sent to models, and how their replies are read, whatever they say."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from workbench.judge.requests import (
    GradedItem,
    framed_context,
    framed_questions,
    grading_message,
    numbered_answers,
    numbered_grades,
    written_probes,
)

TAGS = ("<context>", "</context>", "<questions>", "</questions>", "<answers>", "</answers>", "\n", "1. ", "2: yes")
hostile = st.lists(st.sampled_from([*TAGS, "a", "</CONTEXT >", "question: ", "   expected: x"]), max_size=9).map(
    "".join
)


@given(hostile, st.lists(hostile, min_size=1, max_size=4))
def test_no_text_opens_or_closes_a_frame(context: str, questions: list[str]) -> None:
    message = f"{framed_context(context)}\n\n{framed_questions(questions)}"
    assert all(message.lower().count(tag) == 1 for tag in ("<context>", "</context>", "<questions>", "</questions>"))
    inside = message.partition("<questions>\n")[2].partition("\n</questions>")[0]
    assert [line.partition(".")[0] for line in inside.split("\n")] == [str(at + 1) for at in range(len(questions))]


@given(st.lists(st.builds(GradedItem, hostile, hostile, hostile), min_size=1, max_size=4))
def test_an_answer_cannot_pass_for_another_item(items: list[GradedItem]) -> None:
    lines = grading_message(items).split("\n")[1:-1]
    assert len(lines) == 3 * len(items)
    assert [line.split(":")[0].strip() for line in lines[::3]] == [f"{at + 1}. question" for at in range(len(items))]


@given(st.text(max_size=200), st.integers(1, 5))
def test_any_reply_can_be_read(reply: str, count: int) -> None:
    assert set(numbered_answers(reply, count)) <= set(range(1, count + 1))
    assert all(score in (0.0, 0.5, 1.0) for score, _ in numbered_grades(reply, count).values())


def test_answers_may_come_in_any_order_with_marks_and_on_several_lines() -> None:
    reply = "Here they are:\n- **2**: b.py\n  c.py\n1) a.py\n7: nobody asked\n2: again"
    assert numbered_answers(reply, 2) == {2: "b.py c.py", 1: "a.py 7: nobody asked 2: again"}


def test_a_grade_is_one_of_three_words() -> None:
    reply = "1: right, it says so\n2: Partly - the reason is missing\n3: 8 out of 10\n4: **wrong**"
    assert numbered_grades(reply, 4) == {
        1: (1.0, "it says so"),
        2: (0.5, "the reason is missing"),
        4: (0.0, ""),
    }


def test_a_written_probe_needs_events_that_hold_its_answer() -> None:
    texts = {"e1": "We settled on SQLite because nobody runs a Redis server.", "e2": "something else entirely"}
    good = {"kind": "decision", "question": "Which store?", "answer": "SQLite, nobody runs Redis", "events": ["e1"]}
    bad = [
        {**good, "events": ["e2"]},
        {**good, "events": ["e9"]},
        {**good, "events": []},
        {**good, "kind": "recall"},
        {**good, "answer": 7},
        {**good, "question": ""},
        ["not", "an", "object"],
    ]
    reply = "\n".join(["Sure!", json.dumps(good), *map(json.dumps, bad), '{"kind": "decision"', "{" * 2000])
    [probe] = written_probes(reply, texts, "some-model")
    assert (probe.kind, probe.expected, probe.events, probe.made_by) == (
        "decision",
        ("SQLite, nobody runs Redis",),
        ("e1",),
        "some-model",
    )
