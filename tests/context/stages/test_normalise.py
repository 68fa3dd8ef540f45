"""Normalise: pairs are whole, ids are used once, nothing is empty, and every repair is visible."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.talk import COUNTER, ROOMY, iteration, planned, preset, results, rows_of, spoken, states
from support.validity import problems
from workbench.context.items import Item
from workbench.context.planner import Planner, plan
from workbench.context.render import render_messages
from workbench.context.stages.normalise import NO_RESULT, Pairs, is_blank, sound_arguments
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    ImagePart,
    KeptEvent,
    OtherPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    UserMessage,
)

PLAIN = preset("sliding")
GO = UserMessage("go")


def call(call_id: str, reply: str = "", arguments: str = "{}") -> ToolCall:
    return ToolCall(call_id, "run", arguments, reply)


# Arguments


BLANKS = st.text(" \t\n\r\x0b\x1c\x85\xa0\u2003\ufeff", max_size=2)
"""White space, for JSON or for Python alone."""


def strictly(name: str) -> NoReturn:
    raise ValueError(name)


@given(st.tuples(BLANKS, st.sampled_from(["{}", '{"a": 1}', '{"a": NaN}', '{"a": -Infinity}']), BLANKS).map("".join))
def test_what_is_sent_is_json_for_others_too(arguments: str) -> None:
    sent, _ = sound_arguments(arguments)
    assert isinstance(json.loads(sent, parse_constant=strictly), dict)


@given(st.one_of(st.text(), st.sampled_from(["[1]", "1", "null", '"x"', "{", '{"a": 1}', "", " \n", "[" * 5_000])))
def test_arguments_are_always_a_json_object(arguments: str) -> None:
    sent, note = sound_arguments(arguments)
    found = json.loads(sent)
    assert isinstance(found, dict)
    assert (sent == arguments) or note or arguments == "", "a change has its reason"
    if sent != arguments and arguments.strip():
        assert found == {"arguments": arguments}, "nothing is lost"


@pytest.mark.parametrize("arguments", ['{"b": 1,  "a": "ü"}', "{}", ' {"a": 1} '])
def test_sound_arguments_stay_as_the_model_wrote_them(arguments: str) -> None:
    assert sound_arguments(arguments) == (arguments, "")


# Ids


@given(st.lists(st.sampled_from(["", "a", "b", "a~1", "a~2", "a~3", "call~1", "~1"]), max_size=30))
def test_every_id_is_unique_on_the_wire(ids: list[str]) -> None:
    pairs = Pairs()
    wires = [pairs.call(each, at) for at, each in enumerate(ids)]
    assert len({wire for wire, _ in wires}) == len(ids)
    assert all(wire for wire, _ in wires)
    assert all(bool(note) == (wire != own) for (wire, note), own in zip(wires, ids, strict=True))


def test_a_reused_id_is_renamed_on_both_halves_of_its_pair() -> None:
    log: list[Body] = [GO, *iteration("x", "one"), *iteration("x", "two")]
    made = planned([log[0], log[1], log[2], *(_again(each) for each in log[3:])], PLAIN)
    calls, answers = rows_of(made, "tool_call"), results(made)
    assert [row.call_id for row in calls] == [row.call_id for row in answers]
    assert len({row.call_id for row in calls}) == 2
    assert [row.text for row in answers] == ["one", "two"]
    assert "used before" in calls[1].edits[0].why
    assert problems(render_messages(made)) == []


def _again(body: Body) -> Body:
    """The same call in another reply."""
    return ToolCall(body.call_id, body.tool, body.arguments, "another") if isinstance(body, ToolCall) else body


def test_results_in_any_order_find_their_calls() -> None:
    log: list[Body] = [GO, call("a", "r"), call("b", "r"), ToolResult("b", "two"), ToolResult("a", "one")]
    assert {row.call_id: row.text for row in results(planned(log, PLAIN))} == {"a": "one", "b": "two"}


def test_a_late_result_goes_back_to_its_call() -> None:
    log: list[Body] = [
        GO,
        call("a", "r"),
        UserMessage("hurry"),
        AssistantMessage("still waiting", "s"),
        ToolResult("a", "one"),
    ]
    made = planned(log, PLAIN)
    assert [role for role, _ in spoken(made)] == ["user", "assistant", "tool", "user", "assistant"]
    assert [(row.seq, row.text) for row in results(made)] == [(5, "one")]


# Orphans and repairs


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ([GO, ToolResult("x", "lost")], "no call has the id 'x'"),
        ([GO, *iteration("x", "one"), ToolResult("x", "two")], "a second result for the call 'x'"),
        ([GO, ToolResult("x", "early"), call("x"), ToolResult("x", "in time")], "no call has the id 'x'"),
        ([GO, ToolResult("x", "of an earlier turn"), GO, call("x")], "no call has the id 'x'"),
    ],
    ids=["orphan", "duplicate", "before its call, which has one", "before its turn"],
)
def test_a_result_without_a_call_is_dropped_visibly(log: list[Body], why: str) -> None:
    made = planned(log, PLAIN)
    (dropped,) = [row for row in results(made) if row.state == "dropped"]
    assert (dropped.edits[0].stage, dropped.edits[0].why) == ("normalise", why)
    assert dropped.text is None
    assert dropped.original
    assert problems(render_messages(made)) == []


def test_a_result_that_comes_before_its_call_is_paired_with_it() -> None:
    log: list[Body] = [GO, ToolResult("x", "early"), AssistantMessage("I look.", "r"), call("x", "r"), call("y", "r")]
    made = planned([*log, ToolResult("y", "in time"), ToolResult("z", "lost")], PLAIN)
    assert problems(render_messages(made)) == []
    assert [(row.call_id, row.text) for row in results(made) if row.in_request] == [("x", "early"), ("y", "in time")]
    assert [role for role, _ in spoken(made)] == ["user", "assistant", "tool", "tool"]


@given(st.lists(st.sampled_from(["call x", "result x", "call y", "result y", "user", "answer"]), max_size=12))
def test_results_before_their_calls_are_paired_alike_at_once_and_as_the_log_grows(steps: list[str]) -> None:
    log: list[Body] = [GO]
    for at, step in enumerate(steps):
        kind, _, call_id = step.partition(" ")
        match kind:
            case "call":
                log.append(call(call_id))
            case "result":
                log.append(ToolResult(call_id, f"result {at}"))
            case "user":
                log.append(UserMessage(f"user {at}"))
            case _:
                log.append(AssistantMessage(f"answer {at}", f"r{at}"))
    events = number(log)
    growing = Planner(PLAIN, ROOMY, COUNTER)
    for event in events:
        growing.append_event(event)
    made = plan(events, PLAIN, ROOMY, COUNTER)
    assert render_messages(growing.plan()) == render_messages(made)
    assert growing.plan().totals == made.totals
    assert problems(render_messages(made)) == []
    for row in results(made):
        waits = [each for each in results(made) if each.seq is None and each.turn == row.turn and each.tool == row.tool]
        assert row.state != "dropped" or not any(each.call_id == _id_of(log, row) for each in waits)


def _id_of(log: list[Body], row: Item) -> str:
    assert row.seq is not None
    body = log[row.seq - 1]
    assert isinstance(body, ToolResult)
    return body.call_id


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    made = planned([GO, call("a", "r"), call("b", "r"), ToolResult("a", "one"), UserMessage("next")], PLAIN)
    synthetic = next(row for row in results(made) if row.seq is None)
    assert (synthetic.call_id, synthetic.text, synthetic.state) == ("b", NO_RESULT, "sent")
    assert "has no result" in synthetic.edits[0].why
    assert synthetic.tool == "run"
    assert [role for role, _ in spoken(made)] == ["user", "assistant", "tool", "tool", "user"]


# Empty content


@pytest.mark.parametrize(
    ("content", "blank"),
    [
        ("", True),
        (" \n\t", True),
        ("x", False),
        ((), True),
        ((TextPart(" "), TextPart("")), True),
        ((TextPart(""), ImagePart("data:,")), False),
        ((OtherPart({"type": "audio"}),), False),
    ],
)
def test_blank_means_nothing_to_read_and_nothing_to_see(content: str, blank: bool) -> None:
    assert is_blank(content) is blank


@pytest.mark.parametrize("blank", ["", " \n", (TextPart(""), TextPart(" "))])
def test_no_message_is_sent_empty(blank: str) -> None:
    log: list[Body] = [
        SystemMessage(blank),
        UserMessage(blank),
        AssistantMessage(blank, "a"),
        call("x", "b"),
        ToolResult("x", blank),
        SystemMessage(blank),
        AssistantMessage(blank, "c"),
        UserMessage("go"),
    ]
    made = planned(log, PLAIN)
    assert problems(render_messages(made)) == []
    assert spoken(made) == [
        ("user", "(empty message)"),
        ("assistant", None),
        ("tool", "(no output)"),
        ("user", "go"),
    ]
    assert all("empty" in row.edits[0].why for row in made.items if row.edits)
    assert states(row for row in made.items if row.role == "assistant" and row.kind == "message") == ["dropped"] * 2


@pytest.mark.parametrize("blank", ["", " \n"])
@pytest.mark.parametrize("part", ["summary", "acknowledgement", "kept"])
def test_nothing_that_a_compaction_brings_is_sent_empty(part: str, blank: str) -> None:
    brought: dict[str, Any] = {"summary": "a summary", part: (KeptEvent(1, blank),) if part == "kept" else blank}
    said: list[Body] = [
        UserMessage("one"),
        AssistantMessage("two", "a"),
        UserMessage("three"),
        AssistantMessage("four", "b"),
    ]
    made = planned([*said, Compaction(1, 2, **brought), GO], PLAIN)
    assert problems(render_messages(made)) == []
    assert made.totals.items == sum(COUNTER.count(text).tokens for _, text in spoken(made))


def test_blank_parts_are_left_out_beside_others() -> None:
    made = planned([UserMessage((TextPart(""), ImagePart("https://example.org/a.png"), TextPart("look")))], PLAIN)
    (message,) = render_messages(made)
    assert [part["type"] for part in message["content"]] == ["image_url", "text"]
