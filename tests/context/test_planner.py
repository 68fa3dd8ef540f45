"""The planner: what holds of single conversations, read at once and as they grow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import logs, number, policies
from support.talk import COUNTER, ROOMY, iteration, named_turns, planned, preset, spoken, turns, words
from workbench.context.budget import Limits
from workbench.context.fold import events_in_order
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.policy import HistoryPolicy, Policy
from workbench.context.stages.normalise import OPENING
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Failure,
    KeptEvent,
    Override,
    OverrideAction,
    Reasoning,
    Revert,
    Setting,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)


def grown(bodies: Sequence[Body], policy: Policy) -> ContextPlan:
    """The plan of a log that came event by event."""
    planner = Planner(policy, ROOMY, COUNTER)
    for event in number(bodies):
        planner.append_event(event)
    return planner.plan()


def test_a_setting_is_no_row_when_the_past_is_built_again() -> None:
    call, late = ToolCall("a", "f", "{}"), ToolResult("a", "late", "")
    log: list[Body] = [call, Setting("title", "x"), UserMessage("go"), late]
    assert grown(log, Policy()) == planned(log, Policy())


@pytest.mark.parametrize("behind", [AssistantMessage(""), Reasoning("hm")])
def test_what_is_not_sent_stays_behind_a_result_that_came_before_its_call(behind: Body) -> None:
    log: list[Body] = [ToolResult("a", "early", "f"), ToolCall("a", "f", "{}"), behind]
    assert grown(log, Policy()) == planned(log, Policy())


@pytest.mark.parametrize("before", [[], [UserMessage("look")]], ids=["first", "later"])
def test_a_decision_on_one_half_of_a_pair_holds_for_the_other_and_for_nothing_else(before: list[Body]) -> None:
    log: list[Body] = [*before, *iteration("x", "done"), AssistantMessage("so"), UserMessage("go")]
    excluded = {len(before) + 1, len(before) + 2}
    for seq in excluded:
        decided: list[Body] = [*log, Override("exclude", seq, seq)]
        for made in (planned(decided, Policy()), grown(decided, Policy())):
            assert {row.seq for row in made.items if row.state == "excluded"} == excluded
    last: list[Body] = [*log, AssistantMessage("done"), Override("exclude", len(log) + 1, len(log) + 1)]
    assert [row.seq for row in planned(last, Policy()).items if row.state == "excluded"] == [len(log) + 1]


def test_a_text_without_an_id_is_no_part_of_the_reply_before_it() -> None:
    log = number([ToolCall("a", "f", "{}"), AssistantMessage("so"), ToolResult("a", "late")])
    assert [event.seq for event in events_in_order(log)[0]] == [1, 3, 2]


def test_a_system_message_ends_a_reply_unless_it_is_blank() -> None:
    for said, order in (("be brief", [1, 3, 2]), ("", [1, 2, 3])):
        log = number([ToolCall("a", "f", "{}"), SystemMessage(said), ToolResult("a", "late")])
        assert [event.seq for event in events_in_order(log)[0]] == order


# The latest user message


@pytest.mark.parametrize("action", ["exclude", "mask"])
def test_the_latest_user_message_is_whole_whatever_is_said_of_it(action: OverrideAction) -> None:
    log: list[Body] = [*named_turns([1]), UserMessage("go"), Override(action, 3, 3)]
    for made in (planned(log, Policy()), grown(log, Policy())):
        assert spoken(made)[-1] == ("user", "go")
        assert (made.items[-1].state, made.items[-1].tokens) == ("sent", COUNTER.count("go").tokens)


@pytest.mark.parametrize(("action", "state"), [("exclude", "excluded"), ("mask", "masked")])
def test_what_was_said_of_it_holds_from_the_next_turn_on(action: OverrideAction, state: str) -> None:
    log: list[Body] = [UserMessage("go"), Override(action, 1, 1), UserMessage("next")]
    for made in (planned(log, Policy()), grown(log, Policy())):
        assert [row.state for row in made.items] == [state, "sent"]
    taken_back: list[Body] = [*log, Revert(2)]
    for made in (planned(taken_back, Policy()), grown(taken_back, Policy())):
        assert [row.state for row in made.items] == ["sent", "sent"]


@pytest.mark.parametrize("action", ["exclude", "mask"])
@pytest.mark.parametrize("before", [0, 1])
def test_what_was_said_of_it_holds_once_it_is_answered(action: OverrideAction, before: int) -> None:
    seq = 2 * before + 1
    log: list[Body] = [*named_turns(range(before)), UserMessage(words(50)), Override(action, seq, seq)]
    log.append(AssistantMessage("done"))
    assert grown(log, Policy()) == planned(log, Policy())
    assert planned(log, Policy()).totals.tokens < 50


def test_the_part_that_a_compaction_kept_of_it_is_sent_once_the_next_turn_begins() -> None:
    kept = Compaction(1, 2, "what happened", (KeptEvent(1, "short"),))
    log: list[Body] = [UserMessage("short and long"), AssistantMessage("hm", "r1"), kept, *iteration("x", "done")]
    for made in (planned(log, Policy()), grown(log, Policy())):
        assert ("user", "short and long") in spoken(made)
    log.append(UserMessage("next"))
    for made in (planned(log, Policy()), grown(log, Policy())):
        assert ("user", "short") in spoken(made)


# The first message


def test_room_is_kept_for_the_note_that_opens_a_request() -> None:
    policy = Policy(history=HistoryPolicy(mode="fit"))
    log: list[Body] = [AssistantMessage(words(30, "answer")), *turns(3, 20), UserMessage("go")]
    opened = 0
    for window in range(60, 260):
        made = planned(log, policy, Limits(window, "option", 0, 0))
        assert made.verdict.fits, made.verdict.why
        opened += ("user", OPENING) in spoken(made)
    assert opened, "where all of it fits, the assistant speaks first"


# Compactions


@pytest.mark.parametrize("late", iteration("x", "done"), ids=["call", "result"])
def test_a_reply_that_goes_on_after_its_compaction_is_sent_again(late: Body) -> None:
    log: list[Body] = [iteration("x", "done")[0], Compaction(1, 1, "what happened"), late]
    assert grown(log, Policy()) == planned(log, Policy())
    assert [row.state for row in planned(log, Policy()).items if row.seq] == ["sent", "sent"]


def test_a_compaction_of_the_latest_user_message_holds_from_the_next_turn_on() -> None:
    log: list[Body] = [*named_turns([1]), UserMessage("go"), Compaction(1, 3, "what happened")]
    assert spoken(grown(log, preset("workbench")))[-1] == ("user", "go")
    log.append(UserMessage("next"))
    assert [content for _, content in spoken(grown(log, preset("workbench")))] == ["what happened", "next"]


@given(logs(), policies(), st.data())
def test_a_planner_for_a_moment_plans_what_a_new_one_does_and_leaves_its_own_alone(
    events: list[Event], policy: Policy, data: st.DataObject
) -> None:
    """With one more compaction, and with another text of it; also where its own has grown meanwhile."""
    own = Planner(policy, ROOMY, COUNTER, events=events)
    before = own.plan()
    rows = list(before.items)
    moment = own.at_this_moment()
    assert moment.plan() == before
    later = data.draw(st.sampled_from([0, 0, 1, 2]))
    for seq in range(len(events) + 1, len(events) + 1 + later):
        own.append_event(Event(seq, f"later{seq}", 0, UserMessage("meanwhile")))
    last = max(1, len(events))
    first = data.draw(st.integers(1, last))
    for at, text in enumerate(("one summary", "another, a little longer")):
        event = Event(len(events) + 1, "draft", 0, Compaction(first, last, text))
        if at:
            moment.reword(Compaction(first, last, text))
        else:
            moment.append_event(event)
        assert moment.plan() == Planner(policy, ROOMY, COUNTER, events=[*events, event]).plan()
    assert list(before.items) == rows
    if not later:
        assert own.plan() == before


@given(logs(), policies(), st.data())
def test_what_was_tried_for_a_moment_and_then_comes_is_planned_like_any_other(
    events: list[Event], policy: Policy, data: st.DataObject
) -> None:
    """The compaction that was tried, with another text; one of another range; or one that comes later."""
    own = Planner(policy, ROOMY, COUNTER, events=events)
    moment = own.at_this_moment()
    last = max(1, len(events))
    first = data.draw(st.integers(1, last))
    moment.append_event(Event(len(events) + 1, "draft", 0, Compaction(first, last, "one summary")))
    grown = list(events)
    what: list[Body] = [
        Compaction(data.draw(st.sampled_from([first, 1])), last, "as it was edited"),
        UserMessage("next"),
    ]
    for body in data.draw(st.sampled_from([what, what[::-1]])):
        grown.append(Event(len(grown) + 1, f"later{len(grown)}", 0, body))
        own.append_event(grown[-1])
        assert own.plan() == Planner(policy, ROOMY, COUNTER, events=grown).plan()


@pytest.mark.parametrize("sealed", [False, True])
def test_the_words_in_place_of_an_encrypted_summary_say_that_they_are(sealed: bool) -> None:
    meta: dict[str, Any] = {"made_by": "Codex"} | ({"sealed": True} if sealed else {})
    said: list[Body] = [UserMessage("look"), AssistantMessage("done", "r1")]
    made = planned([*said, Compaction(1, 2, "[encrypted]", meta=meta)], Policy())
    [item] = [each for each in made.items if each.kind == "summary"]
    assert item.edits[0].why.startswith("replaces the events 1 to 2, written by Codex")
    assert item.edits[0].why.endswith("these words are in its place") == sealed


def test_the_result_that_a_summarised_call_never_had_costs_nothing() -> None:
    log: list[Body] = [UserMessage("go"), ToolCall("c1", "ls", "{}", "r1"), UserMessage("on"), Compaction(1, 2, "s")]
    [missing] = [item for item in planned(log, preset("confirm")).items if item.id.endswith(".result")]
    assert (missing.state, missing.tokens, missing.edits[-1].after) == ("summarised", 0, 0)
    assert missing.why == "left out with its call"


def test_nothing_is_counted_exactly() -> None:
    aside = planned([UserMessage("hello"), Failure("model", "too slow")], preset("layers")).items[-1]
    assert (aside.state, aside.tokens, aside.exact) == ("aside", 0, True)
