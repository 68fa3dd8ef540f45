"""Which requests a log shows: by their events, their reports, or a reply that begins."""

from __future__ import annotations

from workbench.log.events import (
    AssistantMessage,
    Body,
    Reasoning,
    Request,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.sources.requests import RequestMark, RequestMarks
from workbench.sources.source import number_events


def marks(*bodies: Body) -> list[RequestMark]:
    found = RequestMarks()
    for event in number_events(bodies):
        found.add_event(event)
    return found.marks


TURN = (
    UserMessage("read it"),
    Reasoning("hm", "r1"),
    ToolCall("c1", "read", "{}", "r1"),
    Usage("m", 0, 1_000),
    ToolResult("c1", "what it says"),
    AssistantMessage("done", "r2"),
    Usage("m", 0, 1_200),
)


def test_a_request_is_inferred_before_each_reply_and_has_its_report() -> None:
    assert [(each.upto, each.seq, each.reported, each.usage) for each in marks(*TURN)] == [
        (1, 2, 1_000, 4),
        (5, 6, 1_200, 7),
    ]


def test_results_between_the_calls_of_one_reply_make_no_request() -> None:
    found = marks(
        UserMessage("go"),
        ToolCall("a", "t", "{}", "r1"),
        ToolResult("a", "1"),
        ToolCall("b", "t", "{}", "r1"),
        ToolResult("b", "2"),
        Usage("m", 0, 10),
        AssistantMessage("done", "r2"),
        Usage("m", 0, 20),
    )
    assert [(each.upto, each.reported) for each in found] == [(1, 10), (6, 20)]


def test_a_request_of_our_own_is_planned_from_what_its_report_names() -> None:
    found = marks(UserMessage("hi"), AssistantMessage("yes", "r"), Usage("m", 90, 100, upto=1))
    assert found == [RequestMark(1, 1, "m", 100, 90, seq=2, usage=3)]
    assert found[0].tokens == 100


def test_a_report_without_a_reply_is_a_request_of_its_own() -> None:
    found = marks(UserMessage("hi"), Usage("m", 50, None, upto=1), Usage("m", 60, 70, upto=1))
    assert [(each.upto, each.reported, each.tokens) for each in found] == [(1, None, 50), (1, 70, 70)]


def test_what_a_recorded_request_carries_along_was_no_answer_to_another() -> None:
    found = marks(
        UserMessage("these are the files"),
        AssistantMessage("Ok.", "r1"),
        UserMessage("fix it"),
        Request("chat", "m", messages=("x",)),
        AssistantMessage("done", "r2", model="m"),
        UserMessage("these are the files now"),
        AssistantMessage("Ok.", "r3"),
        UserMessage("thanks"),
        Request("chat", "m", messages=("y",)),
    )
    assert [(each.seq, each.request) for each in found] == [(4, 4), (9, 9)]


def test_an_answer_of_a_model_before_a_recorded_request_had_a_request() -> None:
    found = marks(
        UserMessage("hi"),
        AssistantMessage("yes", "r1", model="m"),
        UserMessage("again"),
        Request("chat", "m", messages=("x",)),
    )
    assert [(each.seq, each.exact) for each in found] == [(2, False), (4, True)]


def test_a_side_request_has_its_own_report_and_the_turn_keeps_its_own() -> None:
    found = marks(
        UserMessage("hi"),
        Request("anthropic", "small", "side", messages=("x",)),
        Request("anthropic", "large", messages=("y",)),
        Usage("small", 0, 30, request=2),
        AssistantMessage("yes", "r", model="large"),
        Usage("large", 0, 500),
    )
    assert [(each.purpose, each.model, each.reported, each.request) for each in found] == [
        ("side", "small", 30, 2),
        ("turn", "large", 500, 3),
    ]


def test_a_request_of_which_only_the_purpose_is_known_is_planned_from_what_came_before() -> None:
    asked = Request("responses", "gpt-4o", "compaction")
    found = marks(UserMessage("one"), AssistantMessage("two", "r1"), asked, Usage("gpt-4o", 0, 70, request=3))
    [_, made] = found
    assert (made.purpose, made.upto, made.reported, made.exact) == ("compaction", 2, 70, False)
