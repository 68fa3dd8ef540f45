"""What the inspector may ask: events, plans that might be, tokens; and the requests of a log."""

from __future__ import annotations

from hypothesis import given, settings

from support import logs
from support.talk import iteration, words
from tui.inspector.host import Model, setup
from workbench.log.events import (
    AssistantMessage,
    Body,
    Event,
    Override,
    Reasoning,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.session.context_view import LogQueries, OverrideWish, runs
from workbench.session.requests import RequestMarks


def requests(bodies: list[Body]) -> list[tuple[int, int]]:
    found = RequestMarks()
    for event in logs.number(bodies):
        found.add(event)
    return [(mark.upto, mark.turn) for mark in found.marks]


def test_events_are_found_by_their_number_as_far_as_they_were_there() -> None:
    model = Model()
    queries = LogQueries(model.events, model.setup)
    model.append(UserMessage("later"))
    assert queries.event(4) == model.events[3]
    assert queries.event(0) is None
    assert queries.event(len(model.events)) is None


def test_what_if_plans_the_log_with_the_overrides_and_leaves_the_log_alone() -> None:
    model = Model()
    length = len(model.events)
    queries = LogQueries(model.events, model.setup)
    model.append(UserMessage("later"))
    after = queries.what_if([OverrideWish("pin", 9, 9), OverrideWish("exclude", 12, 12)])
    states = {row.seq: (row.state, row.pinned) for row in after.rows}
    assert states[9] == ("sent", True)
    assert states[12] == ("excluded", False)
    assert length + 1 not in states
    assert len(model.events) == length + 1


def test_tokens_are_cut_by_the_tokenizer_that_counts() -> None:
    made = setup()
    assert LogQueries([], made).spans(words(5)) == ["alpha", " alpha", " alpha", " alpha", " alpha"]


def test_neighbours_become_one_override() -> None:
    bodies: list[Body] = [
        UserMessage("a"),
        UserMessage("b"),
        Setting("title", "x"),
        Override("pin", 1, 1),
        UserMessage("c"),
        SlotContent("system", "s", "t"),
        UserMessage("d"),
    ]
    queries = LogQueries(logs.number(bodies), setup())
    assert runs(queries, [(1, "pin"), (2, "pin"), (5, "pin")]) == [OverrideWish("pin", 1, 5)]
    assert runs(queries, [(5, "pin"), (7, "pin")]) == [OverrideWish("pin", 5, 5), OverrideWish("pin", 7, 7)]
    assert runs(queries, [(2, "pin"), (1, "mask")]) == [OverrideWish("mask", 1, 1), OverrideWish("pin", 2, 2)]
    assert runs(queries, []) == []


def test_requests_are_those_that_were_reported() -> None:
    model = Model()
    marks = model.requests.marks
    assert [mark.turn for mark in marks] == [1] * 7 + [2]
    assert [mark.upto for mark in marks[:2]] == [4, 9]
    assert (marks[0].model, marks[0].tokens, marks[4].tokens) == ("gpt-4o", 121, 1_500)


def test_a_transcript_has_a_request_where_a_reply_begins() -> None:
    bodies: list[Body] = [
        UserMessage("q"),
        Reasoning("hm", "r1"),
        AssistantMessage("a", "r1"),
        ToolCall("c1", "read_file", "{}", "r1"),
        ToolResult("c1", "x"),
        *iteration("c2", "y"),
        AssistantMessage("done", "r3"),
        UserMessage("q2"),
        AssistantMessage("a2", "r4"),
    ]
    assert requests([*bodies]) == [(1, 1), (5, 1), (7, 1), (9, 2)]
    assert requests([*bodies, Usage("m", 1)]) == [(1, 1), (5, 1), (7, 1), (9, 2)], "a report belongs to its reply"
    assert requests([]) == []


@settings(max_examples=25)
@given(logs.logs())
def test_requests_go_forward_and_lie_in_the_log(log: list[Event]) -> None:
    found = RequestMarks()
    for event in log:
        found.add(event)
        assert all(0 <= mark.upto < event.seq for mark in found.marks[-1:])
