"""A recorded chat of Gemini CLI is read with its calls, thoughts and usage, as lines and in the older form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    OtherPart,
    Override,
    Reasoning,
    Setting,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.formats import read_conversations
from workbench.traces.histories import LEFT
from workbench.traces.undone import went_back

MODEL = "gemini-2.5-pro"
HEAD = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-02T03:04:05Z", "kind": "main"}
TIME = "2026-01-02T03:04:05.678Z"


def call(name: str, result: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "name": "ls", "args": {"path": name}, "result": result, **more}


def response(of: str = "x", **said: Any) -> list[dict[str, Any]]:
    return [{"functionResponse": {"id": of, "name": "ls", "response": said}}]


CHAT = {
    "sessionId": "s",
    "messages": [
        {"id": "1", "type": "user", "content": [{"text": "what is here?"}]},
        {
            "id": "2",
            "type": "gemini",
            "content": "",
            "model": MODEL,
            "thoughts": [{"subject": "Looking", "description": "a list"}, {"subject": "", "description": ""}],
            "tokens": {"input": 90, "output": 5, "cached": 40, "thoughts": 3},
            "toolCalls": [
                call("a", response(output="a.py"), status="success"),
                call("b", response(error="no such folder"), status="error"),
                call("c", response(files=2)),
                call("d", [{"text": "plain"}]),
                call("e", None, status="cancelled"),
            ],
        },
        {"id": "3", "type": "info", "content": "saved"},
        {"id": "4", "type": "error", "content": "quota"},
        {"id": "5", "type": "gemini", "content": "a.py"},
        {"id": "6", "type": "gemini", "content": "", "tokens": {"input": 99, "output": 0}},
        {"id": "7", "type": "dream", "content": "x"},
    ],
}


def test_calls_thoughts_and_usage_are_events_of_their_own() -> None:
    [bodies] = read_conversations("file", json.dumps(CHAT))
    assert bodies == [
        UserMessage("what is here?"),
        Setting("model", MODEL),
        Reasoning("Looking: a list", "r1"),
        *(ToolCall(name, "ls", f'{{"path": "{name}"}}', "r1") for name in "abcde"),
        Usage(MODEL, 0, 90, completion=8, cached=40, reasoning=3),
        ToolResult("a", "a.py", "ls"),
        ToolResult("b", "no such folder", "ls", True),
        ToolResult("c", '{"files": 2}', "ls"),
        ToolResult("d", "plain", "ls"),
        Failure("transcript", "quota"),
        AssistantMessage("a.py", "r2", model=MODEL),
        AssistantMessage("", model=MODEL),
        Usage(MODEL, 0, 99),
        Unknown("Gemini CLI message", {"entry": {"id": "7", "type": "dream", "content": "x"}}),
        Setting("left out", {"info": 1, "sessionId": 1}),
    ]


def without_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [without_ids(each) for each in value]
    return {k: without_ids(v) for k, v in value.items() if k != "id"} if isinstance(value, dict) else value


@pytest.mark.parametrize("as_lines", [True, False])
def test_messages_and_calls_without_ids_are_all_read(as_lines: bool) -> None:
    talk = [
        said("1", "one"),
        answered("2", "ONE", tokens={"input": 10, "output": 2}),
        said("3", "two"),
        answered("4", "", tokens={"input": 20, "output": 2}, toolCalls=[call(n, response(output=n)) for n in "ab"]),
        said("5", "two"),
    ]
    lines = [HEAD, *without_ids(talk)]
    value = {"sessionId": "s", "messages": without_ids(talk)}
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)) if as_lines else json.dumps(value))
    assert [body.content for body in bodies if isinstance(body, UserMessage)] == ["one", "two", "two"]
    assert [body.prompt for body in bodies if isinstance(body, Usage)] == [10, 20]
    calls = [body.call_id for body in bodies if isinstance(body, ToolCall)]
    assert [(body.call_id, body.content) for body in bodies if isinstance(body, ToolResult)] == [
        (calls[0], "a"),
        (calls[1], "b"),
    ]


def test_a_history_without_ids_that_is_set_again_says_the_same() -> None:
    talk = without_ids([said("1", "one"), answered("2", "ONE"), said("3", "two")])
    found = read(*talk, sets(*talk), *without_ids([answered("4", "TWO"), said("5", "three")]))
    assert [body.content for body in found if isinstance(body, UserMessage)] == ["one", "two", "three"]
    assert not any(isinstance(body, Override | Compaction) for body in found)


def said(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": TIME, "type": "user", "content": [{"text": text}], **more}


def answered(name: str, text: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": TIME, "type": "gemini", "content": text, "model": MODEL, **more}


def sets(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"$set": {"messages": list(messages), "lastUpdated": TIME}}


def read(*lines: dict[str, Any]) -> list[Body]:
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, [HEAD, *lines])))
    return [body for body in bodies if not isinstance(body, Setting)]


CONTEXT = said("0", "<session_context>")
TOKENS = {"tokens": {"input": 7, "output": 1}}
FIRST = (
    sets(CONTEXT),
    said("1", "look"),
    answered("2", "", **TOKENS),
    answered("2", "", **TOKENS, toolCalls=[call("a", response("a", output="a.py"))]),
    {"id": "3", "timestamp": TIME, "type": "user", "content": response("a", output="a.py")},
    answered("4", "There is a.py."),
)
READ = [
    UserMessage("<session_context>"),
    UserMessage("look"),
    ToolCall("a", "ls", '{"path": "a"}', "r1"),
    Usage(MODEL, 0, 7, completion=1),
    ToolResult("a", "a.py", "ls"),
    AssistantMessage("There is a.py.", "r2", model=MODEL),
]


def test_a_line_replaces_the_earlier_one_of_its_id_and_stands_where_that_stood() -> None:
    assert read(*FIRST) == READ


def test_parts_that_are_none_are_carried_and_break_nothing() -> None:
    found = read(said("1", "look"), answered("2", [7], toolCalls=[call("a", None), "x"]))
    assert found[1] == AssistantMessage((OtherPart({"type": "unknown", "value": 7}),), "r1", model=MODEL)


@pytest.mark.parametrize("odd", ["x", ["x"], 5, True])
@pytest.mark.parametrize("key", ["functionCall", "functionResponse", "text"])
def test_a_part_whose_value_is_of_another_type_does_not_break_a_history_that_is_written_again(
    key: str, odd: Any
) -> None:
    first = answered("1", [{key: odd}, {"text": "look"}])
    again = [answered("11", [{key: odd}, {"text": "look"}]), said("12", "there")]
    assert read(first, said("2", "there"), sets(*again), said("3", "go on"))[-1] == UserMessage("go on")


def test_times_and_the_title_are_those_of_the_session() -> None:
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, [HEAD, *FIRST, {"$set": {"summary": "A look"}}])))
    assert set(bodies.times) == {1767323045678}
    assert Setting("title", "A look") in bodies


DOUBLED = (
    CONTEXT,
    said("1", "look"),
    {"id": "2", "type": "gemini", "content": [{"functionCall": {"id": "a", "name": "ls", "args": {"path": "a"}}}]},
    {"id": "2_response", "type": "user", "content": response("a", output="a.py")},
    {"id": "3", "type": "user", "content": response("a", output="a.py")},
    {"id": "4", "type": "gemini", "content": [{"text": "There is a.py."}]},
)
"""The conversation as it is set when the session is resumed."""
AGAIN = OtherPart({"id": "a", "name": "ls", "response": {"output": "a.py"}, "type": "result sent again"})


def test_a_resumed_session_goes_on_and_its_doubled_results_are_a_message_of_their_own() -> None:
    resumed = (HEAD, sets(CONTEXT), sets(*DOUBLED))
    once = read(*FIRST, *resumed, said("5", "go on"))
    assert once == [*READ, UserMessage((AGAIN,)), UserMessage("go on")]
    twice = read(*FIRST, *resumed, said("5", "go on"), HEAD, sets(*DOUBLED, said("5", "go on")), said("6", "on"))
    assert twice[len(once) :] == [Override("exclude", 8, 8, LEFT), UserMessage((AGAIN,)), UserMessage("on")]


def test_a_compression_takes_the_doubled_results_along() -> None:
    snapshot = [CONTEXT, said("s1", "<state_snapshot>"), said("n1", "and now?")]
    bodies = read(*FIRST, sets(*DOUBLED), said("5", "and now?"), sets(*snapshot), answered("6", "Done."))
    [made] = [body for body in bodies if isinstance(body, Compaction)]
    assert (made.first, made.last) == (2, 8)


def test_a_compression_is_a_compaction_of_what_is_gone() -> None:
    snapshot, thanks = said("s1", "<state_snapshot>"), answered("s2", "Got it.")
    after = [snapshot, thanks, said("n1", "and now?")]  # what was kept has another id
    bodies = read(*FIRST, said("5", "and now?"), sets(CONTEXT, *after), answered("6", "Done."))
    # The model's name is the third event.
    made = Compaction(2, 7, "<state_snapshot>", acknowledgement="Got it.", meta={"made_by": "Gemini CLI"})
    assert bodies == [*READ, UserMessage("and now?"), made, AssistantMessage("Done.", "r3", model=MODEL)]


def test_the_next_compression_covers_the_one_before_also_when_it_says_the_same() -> None:
    def compressed(number: int) -> dict[str, Any]:
        return sets(CONTEXT, said(f"s{number}", "<state_snapshot>"), answered(f"t{number}", "Got it."))

    bodies = read(*FIRST, compressed(1), said("5", "on"), answered("6", "I am."), compressed(2), said("7", "on"))
    made = [(body.first, body.last) for body in bodies if isinstance(body, Compaction)]
    assert made == [(2, 7), (2, 10)]
    assert not any(isinstance(body, Override) for body in bodies)


def test_the_message_after_one_without_contents_is_no_summary() -> None:
    empty = message("3", "user", "")
    talk = [said("1", "one"), answered("2", "ONE")]
    found = read(*talk, empty, sets(*talk, said("9", "new")), said("10", "more"))
    assert found[-2:] == [UserMessage("new"), UserMessage("more")]
    assert not any(isinstance(body, Compaction) for body in found)


def test_going_back_leaves_out_what_was_said_since() -> None:
    bodies = read(*FIRST, said("5", "wrong"), answered("6", "Hm."), {"$rewindTo": "5"}, said("7", "right"))
    assert bodies[-3:] == [
        Override("exclude", 8, 8, went_back("Gemini CLI")),
        Override("exclude", 9, 9, went_back("Gemini CLI")),
        UserMessage("right"),
    ]


def test_a_cancelled_turn_leaves_the_conversation() -> None:
    assert read(said("1", "one"), answered("2", "ONE"), said("3", "two"), sets(said("1", "one")), said("4", "three"))[
        -3:
    ] == [Override("exclude", 2, 3, LEFT), Override("exclude", 4, 4, LEFT), UserMessage("three")]


def masked(of: str) -> list[dict[str, Any]]:
    return response(of, output=f"<tool_output_masked>\nthe beginning of {of}\n</tool_output_masked>")


def message(name: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": TIME, "type": kind, "content": content, **more}


def asked(name: str, of: str, **more: Any) -> dict[str, Any]:
    """A reply with a call, as it is written again: without its report."""
    parts = [{"text": f"I look at {of}."}, {"functionCall": {"id": of, "name": "ls", "args": {"path": of}}}]
    return message(name, "gemini", parts, **more)


def test_results_that_were_masked_to_make_room_are_masked_where_they_are() -> None:
    talk = [
        message("1", "user", [{"text": "<session_context>"}]),
        message("2", "user", [{"text": "look"}]),
        message("3", "gemini", "I look at a.", toolCalls=[call("a", None)], tokens={"input": 50, "output": 5}),
        message("4", "user", response("a", output="long a")),
        message("5", "gemini", "I look at b.", toolCalls=[call("b", None)], tokens={"input": 60, "output": 5}),
        message("6", "user", response("b", output="long b")),
        message("7", "gemini", "There.", tokens={"input": 70, "output": 5}),
    ]
    again = [
        message("11", "user", [{"text": "<session_context>"}, {"text": "look"}]),
        asked("13", "a"),
        message("14", "user", masked("a")),
        asked("15", "b"),
        message("16", "user", response("b", output="long b")),
        message("17", "gemini", [{"text": "There."}]),
    ]
    touched = {"$set": {"lastUpdated": TIME}}
    written = [line for each in again for line in (each, touched)]
    next_turn = [message("20", "user", "more"), message("21", "gemini", "Yes.", tokens={"input": 55, "output": 5})]
    lines = [HEAD, *talk, *written, {"$set": {"messages": again}}, *next_turn]
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, lines)))
    [result] = [seq for seq, body in enumerate(bodies, 1) if isinstance(body, ToolResult) and body.call_id == "a"]
    words = "<tool_output_masked>\nthe beginning of a\n</tool_output_masked>"
    overrides = [body for body in bodies if isinstance(body, Override)]
    assert overrides == [Override("mask", result, result, "cleared by Gemini CLI to make room", words)]
    assert not any(isinstance(body, Compaction) for body in bodies)
    assert [body.prompt for body in bodies if isinstance(body, Usage)] == [50, 60, 70, 55]
    assert sum(isinstance(body, ToolResult) for body in bodies) == 2, "what was written again is there once"
    assert (
        bodies.index(UserMessage("more")) > bodies.index(overrides[0]) > bodies.index(AssistantMessage("There.", "r3"))
    )

    back = [*lines, {"$rewindTo": "15"}, message("30", "user", "again")]
    [bodies] = read_conversations("file", "\n".join(map(json.dumps, back)))
    gone = [body for body in bodies if isinstance(body, Override) and body.action == "exclude"]
    first = min(body.first for body in gone)
    assert bodies[first - 1] == AssistantMessage("I look at b.", "r2"), "the new ids are those of what was there"
