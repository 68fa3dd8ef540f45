"""A session of Kimi Code is read with the requests that were sent, as they were sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.recordings import recorded
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    KeptEvent,
    Override,
    Reasoning,
    Request,
    RequestPart,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.traces import kimi
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations
from workbench.traces.kimi import GO_ON, LEFT
from workbench.traces.reading import read_json

TOOL = {"name": "Bash", "description": "run", "parameters": {"type": "object"}}
SYSTEM = {"role": "system", "content": "You are Kimi."}
START = (
    {"type": "metadata", "protocol_version": "1.5", "created_at": 1_767_323_045_000},
    {"type": "profile.bind", "agentId": "main", "systemPrompt": "You are Kimi.", "time": 1_767_323_045_678},
    {"type": "llm.tools_snapshot", "hash": "t", "tools": [TOOL]},
)


def said(text: str, kind: str = "user") -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": text}], "toolCalls": [], "origin": {"kind": kind}}
    return {"type": "context.append_message", "agentId": "main", "message": message}


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": kind, **more}}


def sends(count: int, kind: str = "loop", **more: Any) -> dict[str, Any]:
    named = {"provider": "openai", "model": "k2", "toolsHash": "t", "messageCount": count, "maxTokens": 99}
    return {"type": "llm.request", "agentId": "main", "kind": kind, **named, **more}


def used(other: int, cached: int = 0) -> dict[str, Any]:
    return {"type": "usage.record", "usage": {"inputOther": other, "output": 3, "inputCacheRead": cached}}


def answer(count: int, text: str) -> list[dict[str, Any]]:
    """A step that says something."""
    part = event("content.part", part={"type": "text", "text": text})
    return [event("step.begin"), sends(count), used(7), part, event("step.end", finishReason="end_turn")]


CALLS = [
    event("step.begin"),
    sends(2),
    used(7, 5),
    event("content.part", part={"type": "think", "think": "hm", "reasoningKey": "reasoning_content"}),
    event("tool.call", toolCallId="a", name="Read", args={"path": "ä"}),
    event("tool.call", toolCallId="b", name="Bash", args={"command": "ls"}),
    event("tool.result", toolCallId="b", result={"output": "x\n", "durationMs": 26}),
    said("and hurry"),
    event("tool.result", toolCallId="a", result={"output": "no such file", "isError": True, "note": "<note>"}),
    event("step.end", finishReason="tool_use"),
]


def read(*lines: dict[str, Any]) -> Recording:
    [found] = read_conversations("file", "\n".join(map(json.dumps, [*START, *lines])))
    return found


def talk(found: list[Body]) -> list[Body]:
    aside = (Setting, SlotContent, Request, RequestPart, Usage)
    return [body for body in found if not isinstance(body, aside)]


def sent(found: Recording) -> list[list[Any]]:
    """The messages of each request."""
    parts = {body.hash: body.value for body in found if isinstance(body, RequestPart)}
    made: dict[int, list[Any]] = {}
    for seq, body in enumerate(found, 1):
        if isinstance(body, Request):
            made[seq] = [*made.get(body.base, [])[: body.keep], *(parts[name] for name in body.messages)]
    return list(made.values())


def test_a_step_is_a_reply_and_its_results_come_in_the_order_of_the_calls() -> None:
    found = read(said("look"), said("<reminder>", "injection"), *CALLS)
    assert talk(found) == [
        UserMessage("look"),
        UserMessage("<reminder>"),
        Reasoning("hm", "r1"),
        ToolCall("a", "Read", '{"path": "ä"}', "r1"),
        ToolCall("b", "Bash", '{"command": "ls"}', "r1"),
        ToolResult("a", "<system>ERROR: Tool execution failed.</system>\nno such file\n<note>", "Read", True),
        ToolResult("b", "Wall time: 0.026 seconds\nx\n", "Bash"),
        UserMessage("and hurry"),
    ]
    assert set(found.times) == {1_767_323_045_678}


def test_a_request_is_what_was_sent_and_its_report_names_it() -> None:
    found = read(said("look"), said("<reminder>", "injection"), *CALLS, *answer(6, "Done."))
    first, second = sent(found)
    arguments = {"a": '{"path":"ä"}', "b": '{"command":"ls"}'}
    tools = {"a": "Read", "b": "Bash"}
    failed = "<system>ERROR: Tool execution failed.</system>\nno such file\n<note>"
    assert first == [SYSTEM, {"role": "user", "content": "look"}, {"role": "user", "content": "<reminder>"}]
    assert second == [
        *first,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": each, "type": "function", "function": {"name": tools[each], "arguments": arguments[each]}}
                for each in "ab"
            ],
            "reasoning_content": "hm",
        },
        {"role": "tool", "tool_call_id": "a", "content": failed},
        {"role": "tool", "tool_call_id": "b", "content": "Wall time: 0.026 seconds\nx\n"},
        {"role": "user", "content": "and hurry"},
    ]
    requests = [(seq, body) for seq, body in enumerate(found, 1) if isinstance(body, Request)]
    reports = [body for body in found if isinstance(body, Usage)]
    assert [(report.prompt, report.cached, report.request) for report in reports] == [
        (12, 5, requests[0][0]),
        (7, 0, requests[1][0]),
    ]
    assert requests[1][1].base == requests[0][0]
    assert requests[0][1].parameters == {"model": "k2", "max_tokens": 99}
    parts = {body.hash: body.value for body in found if isinstance(body, RequestPart)}
    assert parts[requests[0][1].tools] == [{"type": "function", "function": TOOL}]


def test_the_report_stands_behind_its_reply() -> None:
    found = read(said("look"), said("<reminder>", "injection"), *CALLS)
    at = next(at for at, body in enumerate(found) if isinstance(body, Usage))
    assert isinstance(found[at - 1], ToolCall)


def test_a_reply_that_the_next_line_ends_is_a_whole_one() -> None:
    *begun, _ = answer(1, "Done.")
    assert talk(read(said("look"), *begun)) == [UserMessage("look"), AssistantMessage("Done.", "r1", model="k2")]


def test_system_prompt_and_tools_are_in_their_slots() -> None:
    found = read(said("look"), *answer(1, "Done."))
    wrapped = json.dumps({"type": "function", "function": TOOL})
    assert [body for body in found if isinstance(body, SlotContent)] == [
        SlotContent("system", "system prompt", "You are Kimi."),
        SlotContent("tools", "Bash", wrapped),
    ]


def test_other_tools_take_the_place_of_those_before() -> None:
    changed = {"type": "llm.tools_snapshot", "hash": "u", "tools": [{**TOOL, "name": "Read"}]}
    first, second = answer(1, "Done."), answer(3, "On.")
    second[1] = sends(3, toolsHash="u")
    found = read(said("look"), *first, said("on"), changed, *second)
    assert [(body.name, body.text == "") for body in found if isinstance(body, SlotContent)] == [
        ("system prompt", False),
        ("Bash", False),
        ("Bash", True),
        ("Read", False),
    ]
    parts = {body.hash: body.value for body in found if isinstance(body, RequestPart)}
    tools = [parts[body.tools][0]["function"]["name"] for body in found if isinstance(body, Request)]
    assert tools == ["Bash", "Read"]


def test_a_request_of_messages_that_are_not_in_the_file_is_none() -> None:
    unknown = read(said("look"), *answer(5, "Done."))
    other = read(said("look"), event("step.begin"), sends(1, provider="anthropic"), used(7), *answer(1, "x")[3:])
    for found in (unknown, other):
        assert not any(isinstance(body, Request) for body in found)
        at = next(at for at, body in enumerate(found) if isinstance(body, Usage))
        assert isinstance(found[at - 1], AssistantMessage)


def test_a_compaction_keeps_what_the_user_said_and_its_own_request_is_marked() -> None:
    compacted = {
        "type": "context.apply_compaction",
        "summary": "short",
        "contextSummary": "In short: short",
        "compactedCount": 3,
        "keptUserMessageCount": 1,
        "tokensBefore": 900,
        "tokensAfter": 90,
    }
    lines = [said("look"), said("<reminder>", "injection"), *answer(2, "Looked."), sends(4, "compaction"), used(8)]
    found = read(*lines, compacted, *answer(3, "On."))
    asked = [(seq, body) for seq, body in enumerate(found, 1) if isinstance(body, Request)]
    assert [body.purpose for _, body in asked] == ["turn", "compaction", "turn"]
    assert not asked[1][1].messages  # the one that asks for it is not in the file
    assert [body.request for body in found if isinstance(body, Usage)] == [seq for seq, _ in asked]
    [made] = [body for body in found if isinstance(body, Compaction)]
    look = found.index(UserMessage("look")) + 1
    assert (made.first, made.kept, made.place, made.summary) == (look, (KeptEvent(look),), "end", "In short: short")
    assert made.meta == {"made_by": "Kimi Code", "tokens_before": 900, "tokens_after": 90}
    assert sent(found)[-1] == [SYSTEM, *({"role": "user", "content": text} for text in ("look", made.summary, GO_ON))]


def test_an_older_compaction_keeps_the_last_messages() -> None:
    compacted = {"type": "context.apply_compaction", "summary": "short", "compactedCount": 1}
    found = read(said("one"), said("two"), compacted, *answer(2, "On."))
    [made] = [body for body in found if isinstance(body, Compaction)]
    assert (made.place, made.kept) == ("start", (KeptEvent(found.index(UserMessage("two")) + 1),))
    assert sent(found)[-1] == [SYSTEM, *({"role": "user", "content": text} for text in ("short", "two"))]


def test_what_was_taken_back_is_no_longer_sent() -> None:
    undo = {"type": "context.undo", "count": 1}
    found = read(said("one"), *answer(1, "ONE"), said("two"), *answer(3, "TWO"), undo, said("three"), *answer(3, "x"))
    at = found.index(UserMessage("two")) + 1
    assert Override("exclude", at, at, LEFT) in found
    assert [message["content"] for message in sent(found)[-1][1:]] == ["one", "ONE", "three"]
    cleared = read(said("one"), {"type": "context.clear"}, said("two"), *answer(1, "x"))
    assert [message["content"] for message in sent(cleared)[-1][1:]] == ["two"]


def test_a_call_that_was_interrupted_says_so_once_the_session_goes_on() -> None:
    begun = [said("look"), event("step.begin"), sends(1), event("tool.call", toolCallId="a", name="Read", args={})]
    assert talk(read(*begun))[-1] == ToolCall("a", "Read", "{}", "r1")
    gone_on = talk(read(*begun, *answer(3, "Done.")))
    assert isinstance(gone_on[-2], ToolResult)
    assert gone_on[-2].is_error
    assert "interrupted" in str(gone_on[-2].content)


def test_other_lines_are_counted() -> None:
    found = read({"type": "turn.prompt", "input": [{"type": "text", "text": "look"}]}, said("look"))
    assert found[-1] == Setting("left out", {"metadata": 1, "turn.prompt": 1})


RECORDED = list(recorded("kimi"))


@pytest.mark.skipif(not RECORDED, reason="no recordings here")
def test_every_request_in_real_transcripts_is_what_went_over_the_wire() -> None:
    for file, wire in RECORDED:
        [found] = read_conversations(file.name, file.read_text("utf-8"))
        requests = [body for body in found if isinstance(body, Request)]
        parts = {body.hash: body.value for body in found if isinstance(body, RequestPart)}
        for request, messages, each in zip(requests, sent(found), wire, strict=True):
            if request.purpose == "turn":
                assert messages == each["req"]["messages"], file.name
                assert parts[request.tools] == each["req"]["tools"], file.name


@pytest.mark.parametrize(
    ("line", "is_kimi"),
    [
        ({"type": "metadata", "protocol_version": "1.5"}, True),
        ({"type": "metadata"}, False),
        ({"type": "session", "protocol_version": "1.5"}, False),
        ({"type": "llm.request"}, True),
        ({"type": "context.append_message"}, True),
        ({"type": "message"}, False),
        ({}, False),
    ],
)
def test_one_line_is_enough_to_recognise_a_session(line: dict[str, Any], is_kimi: bool) -> None:
    lines = [{"type": "unknown"}, line]
    assert kimi.recognises(read_json("file", "\n".join(map(json.dumps, lines)))) == is_kimi
