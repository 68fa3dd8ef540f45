"""Requests that Claude Code wrote down, rebuilt."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.recordings import recorded
from workbench.log.codec import decode_event, encode_event
from workbench.log.events import Request, RequestPart, SlotContent, Usage
from workbench.traces.building import Recording, content_hash
from workbench.traces.formats import read_conversations
from workbench.wire.requests import RequestBodies

MARK = {"type": "ephemeral"}
SYSTEM = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "You are an agent."}]
TOOLS = [{"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}]
PARAMS = {"model": "claude-opus", "betas": ["x"], "max_tokens": 100}
USED = {"input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 7}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def message(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def line(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    said = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": "u", "sessionId": "s", "message": said, **more}


def shape(tools: Any = TOOLS, **more: Any) -> dict[str, Any]:
    held = {"system": SYSTEM, "tools": tools}
    return {"type": "api-request-shape", "sessionId": "s", "shapeHash": content_hash(held), "shape": held, **more}


def blob(value: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "api-request-blob", "sessionId": "s", "hash": content_hash(value), "message": value, **more}


def request(name: str, *tail: dict[str, Any], **more: Any) -> dict[str, Any]:
    wanted = {"shapeHash": shape()["shapeHash"], "querySource": "sdk", "keep": 0, "params": PARAMS, **more}
    return {
        "type": "api-request",
        "sessionId": "s",
        "id": name,
        "tail": [content_hash(each) for each in tail],
        **wanted,
    }


def reply(ref: str, name: str, *blocks: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    said = {"id": name, "model": "claude-opus", "usage": USED}
    return [line("assistant", [block], message=said, requestRef=ref, **more) for block in blocks]


def read(*lines: dict[str, Any]) -> list[Recording]:
    return read_conversations("file", "\n".join(map(json.dumps, lines)))


def requests(bodies: Recording) -> dict[int, Request]:
    return {seq: body for seq, body in enumerate(bodies, 1) if isinstance(body, Request)}


def rebuilt(bodies: Recording) -> list[dict[str, Any]]:
    """The bodies of all requests, in order."""
    made = RequestBodies(number(bodies))
    return [made.body(seq) for seq in requests(bodies)]


ASKED = message("user", text("<system-reminder>rules</system-reminder>"), text("look"))
CALLS = (
    {"type": "thinking", "thinking": "hm", "signature": "sig"},
    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}},
    {"type": "tool_use", "id": "t2", "name": "Read", "input": {"path": "ü"}},
)
RESULTS = [{"type": "tool_result", "tool_use_id": name, "content": "no"} for name in ("t2", "t1")]
SESSION = [
    line("user", "look"),
    shape(),
    blob(ASKED),
    request("q1", ASKED, cacheControl=[{"path": ["messages", 0, "content", 1], "value": MARK}]),
    *reply("q1", "m1", *CALLS[:2]),
    line("user", RESULTS[:1]),  # a result before the reply is over
    *reply("q1", "m1", *CALLS[2:]),
    line("user", RESULTS[1:]),
    request("q2", message("assistant", *CALLS), message("user", *RESULTS), base="q1", keep=1),
    *reply("q2", "m2", text("There is none.")),
]
SENT = [ASKED, message("assistant", *CALLS), message("user", *RESULTS)]


def test_requests_are_rebuilt_from_blobs_and_from_the_lines_of_the_session() -> None:
    [bodies] = read(*SESSION)
    common = {**PARAMS, "system": SYSTEM, "tools": TOOLS}
    marked = {**ASKED, "content": [ASKED["content"][0], {**text("look"), "cache_control": MARK}]}
    assert rebuilt(bodies) == [{**common, "messages": [marked]}, {**common, "messages": SENT}]


def test_a_report_stands_behind_its_reply_and_names_its_request() -> None:
    [bodies] = read(*SESSION)
    first, second = requests(bodies)
    usages = {seq: body.request for seq, body in enumerate(bodies, 1) if isinstance(body, Usage)}
    assert list(usages.values()) == [first, second]
    assert [type(body).__name__ for body in bodies[first:second]] == [
        *("Reasoning", "ToolCall", "ToolCall", "Usage", "ToolResult", "ToolResult"),
        *("RequestPart", "RequestPart", "Request"),
    ]


def test_what_is_written_behind_a_request_and_before_its_reply_stands_before_it() -> None:
    hurry = message("user", RESULTS[0], text("and hurry"))
    typed = {"type": "queued_command", "prompt": "and hurry"}
    [bodies] = read(
        *SESSION[:5],
        blob(hurry),
        request("q2", message("assistant", CALLS[0]), hurry, base="q1", keep=1, timestamp="2026-01-02T03:04:05Z"),
        line("user", RESULTS[:1]),
        {"type": "attachment", "uuid": "a", "sessionId": "s", "attachment": typed},
        *reply("q2", "m2", text("Yes."), timestamp="2026-01-02T03:04:06Z"),
    )
    at = list(requests(bodies))[1]
    kinds = [type(body).__name__ for body in bodies[at - 5 : at + 2]]
    assert kinds == [*("ToolResult", "UserMessage"), *("RequestPart",) * 2, "Request", "AssistantMessage", "Usage"]
    assert bodies.times[at] - bodies.times[at - 1] == 1_000


def test_system_prompt_and_tools_stand_in_their_slots_and_leave_them() -> None:
    [bodies] = read(*SESSION, shape([]), request("q3", ASKED, shapeHash=shape([])["shapeHash"]))
    schema = {"name": "Read", "description": "Reads.", "parameters": {"type": "object"}}
    tool = json.dumps({"type": "function", "function": schema})
    assert [body for body in bodies if isinstance(body, SlotContent)] == [
        SlotContent("system", "system", "Be brief.\nYou are an agent."),
        SlotContent("tools", "Read", tool),
        SlotContent("tools", "Read", ""),
    ]


def test_a_client_that_was_started_anew_names_all_messages_and_the_log_only_the_new_ones() -> None:
    said, more = message("assistant", text("There is none.")), message("user", text("go on"))
    [bodies] = read(*SESSION, line("user", "go on"), request("q3", *SENT, said, more))
    third = list(requests(bodies).values())[2]
    assert (third.base, third.keep, len(third.messages)) == (list(requests(bodies))[1], 3, 2)
    assert rebuilt(bodies)[2]["messages"] == [*SENT, said, more]
    hashes = [body.hash for body in bodies if isinstance(body, RequestPart)]
    assert len(hashes) == len(set(hashes))


@pytest.mark.parametrize(
    ("source", "agent", "purpose"),
    [
        ("sdk", "", "turn"),
        ("repl_main_thread:outputStyle:default", "", "turn"),
        ("compact", "", "compaction"),
        ("generate_session_title", "", "side"),
        ("agent:builtin:general-purpose", "a1", "sub-agent"),
    ],
)
def test_why_and_by_whom_a_request_was_sent(source: str, agent: str, purpose: str) -> None:
    who = {"agentId": agent, "isSidechain": True} if agent else {}
    [bodies] = read(
        line("user", "look", **who), shape(**who), blob(ASKED, **who), request("q1", ASKED, querySource=source, **who)
    )
    [made] = requests(bodies).values()
    assert (made.purpose, made.agent, made.session, made.parent) == (purpose, agent, "s", "s" if agent else "")


def test_a_request_that_names_what_is_not_in_the_file_is_none() -> None:
    [bodies] = read(
        line("user", "look"),
        shape(),
        request("q1", ASKED),
        request("q2", message("user", text("look")), base="q1", keep=1),
        request("q3", message("user", text("look"))),
    )
    [made] = rebuilt(bodies)
    assert made["messages"] == [message("user", text("look"))]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.text(max_size=5)), min_size=1, max_size=12))
def test_every_request_is_rebuilt_whoever_restarts_or_rewinds_and_nothing_is_kept_twice(
    steps: list[tuple[bool, int, str]],
) -> None:
    sent: list[list[dict[str, Any]]] = []
    lines = [shape()]
    held: list[dict[str, Any]] = []
    for at, (restarts, back, said) in enumerate(steps):
        held = held[: len(held) - back]
        keep = 0 if restarts or not sent else min(len(held), len(sent[-1]))
        held = [*held, message("user", text(f"{at} {said}"))]
        lines.append(line("user", [text(f"{at} {said}")], uuid=f"u{at}"))
        lines.append(request(f"q{at}", *held[keep:], **({"base": f"q{at - 1}", "keep": keep} if keep else {})))
        sent.append(held)
        answer = text(f"answer {at}")
        lines += reply(f"q{at}", f"m{at}", answer)
        held = [*held, message("assistant", answer)]
    [bodies] = read(*lines)
    assert [body["messages"] for body in rebuilt(bodies)] == sent
    hashes = [body.hash for body in bodies if isinstance(body, RequestPart)]
    assert len(hashes) == len(set(hashes))
    assert [body.request for body in bodies if isinstance(body, Usage)] == list(requests(bodies))


NONSENSE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "path", "x"]), inner),
    max_leaves=4,
)


@given(st.data())
def test_nonsense_in_a_line_never_stops_the_reader_and_can_be_stored(data: st.DataObject) -> None:
    noted = {"compactedToolIds": ["t1"], "preTokens": 3}
    micro = {"type": "system", "subtype": "microcompact_boundary", "sessionId": "s", "microcompactMetadata": noted}
    told = {"type": "attachment", "sessionId": "s", "attachment": {"type": "x"}, "rendered": [{"content": "y"}]}
    lines = [dict(each) for each in (*SESSION, micro, told)]
    broken = data.draw(st.sampled_from(lines))
    inner = broken.get("microcompactMetadata", broken)
    inner[data.draw(st.sampled_from(sorted(set(inner) - {"type", "sessionId"})))] = data.draw(NONSENSE)
    for bodies in read(*lines):
        events = number(bodies)
        assert [decode_event(encode_event(event)) for event in events] == events


def plain(body: dict[str, Any]) -> dict[str, Any]:
    """A body without the billing line, and with every content as a list: what differs from request to request."""
    said = [
        {**each, "content": [text(each["content"])]} if isinstance(each["content"], str) else each
        for each in body["messages"]
    ]
    system = [block for block in body["system"] if not block["text"].startswith("x-anthropic-billing-header")]
    kept = {key: value for key, value in body.items() if key not in ("metadata", "stream", "betas")}
    return {**kept, "system": system, "messages": said}


RECORDED = [(file, wire) for file, wire in recorded("claude-code") if '"api-request"' in file.read_text("utf-8")]


@pytest.mark.skipif(not RECORDED, reason="no recordings here")
def test_every_request_in_real_transcripts_is_what_went_over_the_wire() -> None:
    for file, wire in RECORDED:
        sent = [plain(each["req"]) for each in wire if each["path"].startswith("/v1/messages?")]
        talks = read_conversations(file.name, file.read_text("utf-8"))
        found = [plain(body) for bodies in talks for body in rebuilt(bodies)]
        assert found, file.name
        for body in found:  # the wire may have parameters that the file has not
            assert body in [{key: each.get(key) for key in body} for each in sent], file.name
