"""What the inspector may ask: events, plans that might be, tokens; and the requests of a log."""

from __future__ import annotations

from hypothesis import given

from support import logs
from support.talk import iteration, planned, preset, words
from tui.inspector.host import Model, setup, talk
from workbench.context.items import State
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
from workbench.sources.requests import RequestMarks
from workbench.views.context_view import ContextView, LogQueries, merge_overrides


def requests(bodies: list[Body]) -> list[tuple[int, int]]:
    found = RequestMarks()
    for event in logs.number(bodies):
        found.add_event(event)
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
    after = queries.what_if([Override("pin", 9, 9), Override("exclude", 12, 12)])
    states = {row.seq: (row.state, row.pinned) for row in after.items}
    assert states[9] == ("sent", True)
    assert states[12] == ("excluded", False)
    assert length + 1 not in states
    assert len(model.events) == length + 1


def test_tokens_are_cut_by_the_tokenizer_that_counts() -> None:
    made = setup()
    assert LogQueries([], made).spans(words(5)) == ["alpha", " alpha", " alpha", " alpha", " alpha"]


def test_what_the_provider_counts_beside_our_own_rows_is_not_explained() -> None:
    shown = ContextView(planned([UserMessage("hello")], preset("layers")), "layers", "", 1)
    assert shown.plan.unattributed == 0
    assert shown.rest == "counted by the provider, but not here"


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
    assert merge_overrides(queries, [(1, "pin"), (2, "pin"), (5, "pin")]) == [Override("pin", 1, 5)]
    assert merge_overrides(queries, [(5, "pin"), (7, "pin")]) == [Override("pin", 5, 5), Override("pin", 7, 7)]
    assert merge_overrides(queries, [(2, "pin"), (1, "mask")]) == [
        Override("mask", 1, 1),
        Override("pin", 2, 2),
    ]
    assert merge_overrides(queries, []) == []


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


@given(logs.logs())
def test_requests_go_forward_and_lie_in_the_log(log: list[Event]) -> None:
    found = RequestMarks()
    for event in log:
        found.add_event(event)
        assert all(0 <= mark.upto < event.seq for mark in found.marks[-1:])


def by_brute_force(model: Model, seq: int, state: State) -> list[int]:
    """The numbers of the requests in which an event was in a state, each planned for itself; 0 is the next one."""
    marks = [*enumerate((mark.upto for mark in model.requests.marks), 1), (0, len(model.events))]
    return [number for number, upto in marks for row in model.plan(upto).items if row.seq == seq and row.state == state]


def test_it_is_told_since_which_request_a_result_is_truncated_or_masked() -> None:
    model = Model([*talk(), Override("exclude", 4, 4), UserMessage("On?"), AssistantMessage("Yes.", "reply9")])
    queries = LogQueries(model.events, model.setup, model.requests.marks)
    states: tuple[tuple[int, State], ...] = ((9, "truncated"), (12, "masked"), (4, "excluded"))
    for seq, state in states:
        had = by_brute_force(model, seq, state)
        assert had[-1] == 0, "it is so now"
        assert queries.since(seq, state) == f"{state} since request {had[0]}"
    assert queries.since(9, "dropped") == ""


def test_what_a_policy_left_out_says_since_when_and_in_a_past_request_until_when() -> None:
    model = Model(talk(), setup("layers", "history.max_tokens=300", window=10_000))
    queries = LogQueries(model.events, model.setup, model.requests.marks)
    gone = [row.seq for row in model.plan().items if row.state == "dropped" and row.seq is not None]
    dropped = {seq: by_brute_force(model, seq, "dropped") for seq in gone}
    assert dropped
    for seq, had in dropped.items():
        since = f"since request {had[0]}" if had[0] else "from the next request on"
        assert queries.since(seq, "dropped") == f"dropped {since}"
        sent = by_brute_force(model, seq, "sent")
        if sent:
            assert queries.since(seq, "sent") == f"sent in requests {sent[0]} to {sent[-1]}"


def test_before_a_change_of_policy_requests_were_planned_otherwise_and_it_says_so() -> None:
    model = Model([*talk(), Setting("policy", "workbench"), UserMessage("On?"), AssistantMessage("Yes.", "reply9")])
    queries = LogQueries(model.events, model.setup, model.requests.marks)
    assert queries.since(9, "truncated") == f"truncated at least since request {len(model.requests.marks)}"
