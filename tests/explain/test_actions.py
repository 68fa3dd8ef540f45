"""The same next action: calls by tool and arguments, texts by their words, both within the noise."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.explain.actions import SameAction, SameLikelihood, action_distance, commonest_answer, same_action
from workbench.sources.replay_answers import ReplayAnswer

CALLS = st.tuples(st.sampled_from(["read", "edit"]), st.sampled_from(["{}", '{"a": 1}', "no"]))
ANSWERS = st.builds(
    ReplayAnswer,
    st.just("m"),
    st.text("ab \n", max_size=12),
    st.lists(st.tuples(st.sampled_from(["read", "edit"]), st.sampled_from(["{}", '{"a": 1}', "no"])), max_size=2).map(
        tuple
    ),
    problem=st.sampled_from(["", "", "failed"]),
)


def call(tool: str, arguments: str) -> ReplayAnswer:
    return ReplayAnswer("m", "I do it.", ((tool, arguments),))


def said(text: str) -> ReplayAnswer:
    return ReplayAnswer("m", text)


@given(ANSWERS, ANSWERS)
def test_a_distance_is_between_0_and_1_and_the_same_in_both_directions(one: ReplayAnswer, other: ReplayAnswer) -> None:
    assert 0 <= action_distance(one, other) <= 1
    assert action_distance(one, other) == action_distance(other, one)
    assert action_distance(one, one) == (1.0 if one.problem else 0.0)


def test_calls_are_compared_by_tool_and_arguments_and_not_by_what_is_said_with_them() -> None:
    first = call("read", '{"path": "a", "line": 1}')
    assert action_distance(first, call("read", '{"line":1,"path":"a"}')._replace(text="other words")) == 0
    assert action_distance(first, call("read", '{"path": "b", "line": 1}')) > 0
    assert action_distance(first, call("edit", '{"path": "a", "line": 1}')) == 1
    assert action_distance(first, said("I do it.")) == 1


def test_without_noise_calls_have_to_be_equal_and_texts_much_the_same() -> None:
    calm = call("read", '{"path": "a"}')
    same = same_action(None, [calm, calm, calm])
    assert isinstance(same, SameAction)
    assert same.is_same(calm)
    assert not same.is_same(call("read", '{"path": "b"}'))
    text = "one two three four five six seven eight nine ten"
    same = same_action(None, [said(text)] * 3)
    assert isinstance(same, SameAction)
    assert same.is_same(said(text.replace("ten", "10")))
    assert not same.is_same(said(text.replace("nine ten", "9 10")))


def test_answers_may_differ_as_much_as_the_unchanged_ones() -> None:
    words = [f"the plan is to look at it first and then to {word} it" for word in ("mend", "fix", "repair")]
    same = same_action(None, [said(f"{text} {number} {number}") for number, text in enumerate(words)])
    assert isinstance(same, SameAction)
    assert same.is_same(said("the plan is to look at it first and then to correct it 7 7"))
    assert not same.is_same(said("I delete everything now"))


def test_the_recorded_answer_is_the_reference_while_the_model_still_gives_it() -> None:
    recorded, now = call("read", "{}"), call("edit", "{}")
    found = same_action(recorded, [now, recorded, now])
    assert found is not None
    assert (found.reference, found.is_recorded) == (recorded, True)
    found = same_action(recorded, [now, said("hm"), now])
    assert found is not None
    assert (found.reference, found.is_recorded) == (now, False)
    assert same_action(recorded, [now._replace(problem="failed")]) is None


def test_a_scored_answer_is_the_same_until_it_is_much_less_likely() -> None:
    scored = [said("x")._replace(logprob=value) for value in (-5.0, -5.2)]
    same = same_action(None, scored)
    assert isinstance(same, SameLikelihood)
    assert same.is_same(scored[0]._replace(logprob=-7.0))
    assert same.is_same(scored[0]._replace(logprob=-1.0))
    assert not same.is_same(scored[0]._replace(logprob=-7.2))
    assert not same.is_same(scored[0]._replace(problem="failed"))


def test_the_commonest_answer_and_how_often_it_came() -> None:
    assert commonest_answer([]) is None
    again = call("read", '{"a": 1}')
    assert commonest_answer([said("x"), again, again._replace(text="")]) == (again, 2)
