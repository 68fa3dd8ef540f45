"""An answer and its pieces."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.wire.answers import AT_ONCE, AnswerPace, WrittenAnswer, WrittenCall, answer_pieces
from workbench.wire.dialects import DIALECTS, answer_in_any

texts = st.text(max_size=600)
calls = st.lists(st.builds(WrittenCall, st.just("tool"), texts, st.just("id")), max_size=3).map(tuple)
answers = st.builds(WrittenAnswer, texts, texts, calls)
paces = st.builds(AnswerPace, st.sampled_from([0, 7.5, 400]), st.sampled_from([0, 1, 33]), st.sampled_from([0, 0.25]))


@given(answers, paces)
def test_the_pieces_joined_are_the_answer(answer: WrittenAnswer, pace: AnswerPace) -> None:
    found = list(answer_pieces(answer, pace))
    assert "".join(piece.text for piece in found if piece.kind == "reasoning") == answer.reasoning
    assert "".join(piece.text for piece in found if piece.kind == "text") == answer.text
    for number, call in enumerate(answer.calls):
        assert "".join(p.text for p in found if p.kind == "arguments" and p.number == number) == call.arguments
    assert sum(piece.kind == "call" for piece in found) == len(answer.calls)


@given(answers, paces)
def test_the_same_answer_is_always_split_alike_and_comes_in_order(answer: WrittenAnswer, pace: AnswerPace) -> None:
    found = list(answer_pieces(answer, pace))
    assert found == list(answer_pieces(answer, pace))
    assert all(one.at <= other.at for one, other in pairwise(found))
    assert all(piece.at >= pace.delay for piece in found)


def test_at_a_speed_the_last_piece_is_due_when_all_characters_are() -> None:
    found = list(answer_pieces(WrittenAnswer("x" * 1000), AnswerPace(speed=100, delay=2)))
    assert found[-1].at == 12
    assert len(found) == 200  # twenty pieces a second


def test_at_no_speed_nothing_waits() -> None:
    found = list(answer_pieces(WrittenAnswer("x" * (2 * AT_ONCE + 1)), AnswerPace()))
    assert [(len(piece.text), piece.at) for piece in found] == [(AT_ONCE, 0), (AT_ONCE, 0), (1, 0)]


def test_a_call_comes_with_its_name_first_and_its_arguments_behind() -> None:
    found = list(
        answer_pieces(
            WrittenAnswer(calls=(WrittenCall("a", "{}", "1"), WrittenCall("b", "{}", "2"))), AnswerPace(chunk=1)
        )
    )
    assert [(piece.kind, piece.number) for piece in found] == [
        *[("call", 0), ("arguments", 0), ("arguments", 0)],
        *[("call", 1), ("arguments", 1), ("arguments", 1)],
    ]


def test_the_reason_is_told_from_the_answer_unless_it_is_given() -> None:
    assert WrittenAnswer("x").reason == "stop"
    assert WrittenAnswer("x", calls=(WrittenCall("a", "{}"),)).reason == "tool_calls"
    assert WrittenAnswer("x", finish="length").reason == "length"


SAID = {"role": "assistant", "content": "so"}
BLOCKS = [{"type": "text", "text": "so"}]


@pytest.mark.parametrize(
    ("body", "dialect", "messages"),
    [
        ({"choices": [{"message": SAID}, {"message": {"role": "user"}}]}, "chat", [SAID]),
        (
            {"type": "message", "role": "assistant", "content": BLOCKS, "stop_reason": "end_turn"},
            *("anthropic", [{"role": "assistant", "content": BLOCKS}]),
        ),
        ({"output": BLOCKS, "id": "r1"}, "responses", BLOCKS),
        (
            {"candidates": [{"content": {"parts": [{"text": "so"}]}}, {"content": {"parts": []}}]},
            *("gemini", [{"role": "model", "parts": [{"text": "so"}]}]),
        ),
        ({"message": SAID, "done": True}, "ollama", [SAID]),
    ],
)
def test_an_answer_is_known_by_its_keys_and_a_message_is_none(body: Any, dialect: str, messages: list[Any]) -> None:
    found = answer_in_any(body)
    assert found == (DIALECTS[dialect], messages)
    assert all(answer_in_any(each) is None for each in messages if "role" in each)
    assert DIALECTS["anthropic"].messages_in_answer({"type": "message", "content": BLOCKS}) is None
