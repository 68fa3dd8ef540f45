"""Where the documents disagree or are silent, as far as summaries are concerned: place, overlap, open turns."""

from __future__ import annotations

import pytest

from support.requirements import requirement
from support.talk import iteration, iterations, named_turns, planned, preset, rows_of, spoken, states, summary_of
from workbench.log.events import AssistantMessage, Body, KeptEvent, ToolCall, ToolResult, UserMessage

# Summary: role user, framed as a record; where its range began, in codex behind the retained user messages


@pytest.mark.parametrize("name", ["layers", "sliding", "window", "confirm", "workbench"])
def test_a_summary_stands_where_its_range_began_before_what_was_kept(name: str) -> None:
    policy = preset(name)
    log = [*named_turns([1, 2, 3]), summary_of(policy, 3, 6, "the summary", kept=(KeptEvent(5),)), UserMessage("q4")]
    said = spoken(planned(log, policy))
    assert said[2] == ("user", policy.compaction.preface + "the summary")
    rest = [content for _, content in said]
    assert rest[:2] == ["q1", "a1"]
    assert rest[-2:] == ["q3", "q4"]
    acknowledged = [("assistant", policy.compaction.acknowledgement)] if name == "confirm" else []
    assert said[3:-2] == acknowledged


def test_in_codex_the_summary_stands_behind_the_retained_user_messages() -> None:
    policy = preset("codex")
    kept = (KeptEvent(1), KeptEvent(3))
    log = [*named_turns([1, 2, 3]), summary_of(policy, 1, 4, "the summary", kept=kept), UserMessage("q4")]
    texts = [content for _, content in spoken(planned(log, policy))]
    assert texts == ["q1", "q2", policy.compaction.preface + "the summary", "q3", "a3", "q4"]


# Overlap: both summaries stand, and a raw event inside any standing range is not sent


@requirement("sliding", "request", "two summaries that overlap are both sent")
def test_turn_5_compacts_1_to_5_and_turn_10_compacts_4_to_10() -> None:
    policy = preset("sliding")
    log = [*named_turns(range(1, 6)), summary_of(policy, 1, 10, "1-5"), *named_turns(range(6, 11))]
    log += [summary_of(policy, 7, 21, "4-10"), UserMessage("q11")]
    made = planned(log, policy)
    texts = [content.removeprefix(policy.compaction.preface) for _, content in spoken(made)]
    assert texts == ["1-5", "4-10", "q11"]
    assert states(rows_of(made, "message")) == ["summarised"] * 20 + ["sent"]


@requirement(
    "sliding",
    "request",
    "every summary is sent, whatever came after it",
    decided="one whose range lies inside a later one is left out: the later one says it all",
)
def test_a_range_wholly_inside_a_later_one_is_ignored() -> None:
    policy = preset("sliding")
    log = [*named_turns([1, 2, 3]), summary_of(policy, 3, 4, "inner"), summary_of(policy, 1, 4, "outer")]
    texts = [content.removeprefix(policy.compaction.preface) for _, content in spoken(planned(log, policy))]
    assert texts == ["outer", "q3", "a3"]


def test_a_range_never_splits_a_call_from_its_result() -> None:
    log: list[Body] = [UserMessage("q1"), *iteration("x", "done"), AssistantMessage("a1", "end")]
    log += [summary_of(preset("sliding"), 1, 2, "so far"), UserMessage("q2")]
    said = spoken(planned(log, preset("sliding")))
    assert [role for role, _ in said] == ["user", "assistant", "tool", "assistant", "user"]
    assert said[0][1].endswith("so far"), "the question is in the range, and its turn was over"


def test_a_group_that_lies_in_two_ranges_together_is_not_sent() -> None:
    calls = [ToolCall("a", "run", "{}", "r"), ToolCall("b", "run", "{}", "r")]
    log: list[Body] = [
        UserMessage("q1"),
        *calls,
        ToolResult("a", "one"),
        ToolResult("b", "two"),
        AssistantMessage("a1", "s"),
    ]
    log += [
        summary_of(preset("sliding"), 1, 4, "first"),
        summary_of(preset("sliding"), 4, 6, "second"),
        UserMessage("q2"),
    ]
    preface = preset("sliding").compaction.preface
    assert spoken(planned(log, preset("sliding"))) == [
        ("user", preface + "first"),
        ("user", preface + "second"),
        ("user", "q2"),
    ]


# An open turn: its finished groups may be summarised, its user message stays whole


def open_turn(*kept: KeptEvent) -> list[Body]:
    """A turn whose first two groups were summarised, with the turn before it, while it was going on."""
    log = [*named_turns([1]), UserMessage("do it"), *iterations(["one", "two"])]
    return [*log, summary_of(preset("workbench"), 1, 7, "so far", kept=kept), *iteration("three", "three")]


@pytest.mark.parametrize("kept", [(), (KeptEvent(3),)], ids=["in the range", "kept by name"])
def test_the_user_message_of_an_open_turn_stays_whole(kept: tuple[KeptEvent, ...]) -> None:
    said = spoken(planned(open_turn(*kept), preset("workbench")))
    assert [role for role, _ in said] == ["user", "user", "assistant", "tool"]
    assert said[0][1].endswith("so far")
    assert said[1] == ("user", "do it")


@pytest.mark.parametrize("kept", [(), (KeptEvent(3),)], ids=["in the range", "kept by name"])
def test_it_stays_whole_when_the_turn_is_over(kept: tuple[KeptEvent, ...]) -> None:
    log = open_turn(*kept)
    before = spoken(planned(log, preset("workbench")))
    after = spoken(planned([*log, AssistantMessage("done", "end"), UserMessage("next")], preset("workbench")))
    assert after == [*before, ("assistant", "done"), ("user", "next")], "the summary spoke of the groups, not of it"


def test_the_user_message_of_a_finished_turn_goes_with_its_turn() -> None:
    policy = preset("workbench")
    log = [UserMessage("do it"), *iterations(["one"]), AssistantMessage("done", "end")]
    said = spoken(planned([*log, summary_of(policy, 1, 4, "it was done"), UserMessage("next")], policy))
    assert said == [("user", policy.compaction.preface + "it was done"), ("user", "next")]
