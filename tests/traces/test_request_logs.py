"""Files of requests become what was sent, exactly, in the conversations that the requests make."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.log.events import (
    AssistantMessage,
    Body,
    DialectName,
    OwnDialect,
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
from workbench.sources.source import number_events
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations
from workbench.wire.chat import ChatDialect
from workbench.wire.dialects import DIALECT_REGISTRY
from workbench.wire.parts import join_body
from workbench.wire.requests import RequestBodies

LS = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
SYSTEM = {"role": "system", "content": "be brief"}
ASKED = {"role": "user", "content": "look"}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RETURNED = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
FIRST = {"model": "gpt-4o", "temperature": 0, "tools": [LS], "messages": [SYSTEM, ASKED]}
SECOND = {**FIRST, "messages": [SYSTEM, ASKED, CALLED, RETURNED]}
ANSWERS = [
    {
        "model": "gpt-4o-2024-08-06",
        "choices": [{"message": {**CALLED, "reasoning_content": "hm"}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 5},
    },
    {
        "model": "gpt-4o-2024-08-06",
        "choices": [{"message": {"role": "assistant", "content": "done"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 60, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 32}},
    },
]


def read(*values: Any) -> list[Recording]:
    return read_conversations("file", "\n".join(map(json.dumps, values)))


def requests(bodies: list[Body]) -> list[dict[str, Any]]:
    """The bodies of all requests of a conversation, put together again."""
    parts = {body.hash: body.value for body in bodies if isinstance(body, RequestPart)}
    messages: dict[int, list[Any]] = {}
    found = []
    for seq, body in enumerate(bodies, 1):
        if isinstance(body, Request):
            kept = messages[body.base][: body.keep] if body.base else []
            messages[seq] = [*kept, *(parts[each] for each in body.messages)]
            system, tools = parts.get(body.system), parts.get(body.tools)
            found.append(join_body(body.dialect, system, tools, messages[seq], body.parameters, body.cache_marks))
    return found


def said(bodies: list[Body]) -> list[Body]:
    return [body for body in bodies if not isinstance(body, RequestPart | Request)]


@pytest.mark.parametrize(
    "entries",
    [
        [{"request": body, "response": answer} for body, answer in zip((FIRST, SECOND), ANSWERS, strict=True)],
        [{**body, "response": answer} for body, answer in zip((FIRST, SECOND), ANSWERS, strict=True)],
        [{**answer, **body} for body, answer in zip((FIRST, SECOND), ANSWERS, strict=True)],
        [
            {
                "method": "POST",
                "url": "https://x/v1/chat/completions",
                "request": {"body": json.dumps(body)},
                "resp": answer,
            }
            for body, answer in zip((FIRST, SECOND), ANSWERS, strict=True)
        ],
    ],
    ids=["request", "response", "choices", "http"],
)
def test_requests_that_go_on_are_one_conversation_with_answers_and_reports(entries: list[Any]) -> None:
    [bodies] = read(*entries)
    assert read_conversations("file", json.dumps(entries)) == [bodies]
    assert requests(bodies) == [FIRST, SECOND]
    first, second = (seq for seq, body in enumerate(bodies, 1) if isinstance(body, Request))
    model = "gpt-4o" if "choices" in entries[0] else "gpt-4o-2024-08-06"
    assert said(bodies) == [
        Setting("model", "gpt-4o"),
        SlotContent("system", "system", "be brief"),
        SlotContent("tools", "ls", json.dumps(LS)),
        UserMessage("look"),
        Reasoning("hm", "r1"),
        ToolCall("c1", "ls", "{}", "r1"),
        Usage(model, 0, 40, completion=5, request=first),
        ToolResult("c1", "a.py"),
        AssistantMessage("done", "r2", model=model),
        Usage(model, 0, 60, cached=32, completion=7, request=second),
    ]
    continued = bodies[second - 1]
    assert isinstance(continued, Request)
    assert (continued.base, continued.keep) == (first, 2)


def test_a_log_of_openhands_has_its_parameters_apart() -> None:
    entry = {
        "messages": FIRST["messages"],
        "response": ANSWERS[0],
        "args": [],
        "kwargs": {"model": "gpt-4o", "tools": [LS], "temperature": 0},
        "timestamp": 1_700_000_000.5,
        "cost": 0.01,
    }
    [bodies] = read(entry)
    assert requests(bodies) == [FIRST]
    assert bodies.times[0] == 1_700_000_000_500


def test_bodies_without_answers_tell_the_reply_by_what_follows() -> None:
    [bodies] = read(FIRST, SECOND)
    kinds = [type(body) for body in bodies if not isinstance(body, RequestPart)]
    assert kinds[3:] == [UserMessage, Request, ToolCall, ToolResult, Request]
    assert requests(bodies) == [FIRST, SECOND]


def test_calls_that_the_next_request_tells_otherwise_are_those_of_the_conversation() -> None:
    renamed = {**CALLED, "tool_calls": [{**CALL, "id": "x9"}]}
    follows = {**FIRST, "messages": [SYSTEM, ASKED, renamed, {**RETURNED, "tool_call_id": "x9"}]}
    [bodies] = read({"request": FIRST, "response": ANSWERS[0]}, {"request": follows, "response": ANSWERS[1]})
    assert [body.call_id for body in bodies if isinstance(body, ToolCall | ToolResult)] == ["x9", "x9"]
    assert [body.prompt for body in bodies if isinstance(body, Usage)] == [40, 60]


def test_marks_and_the_two_ways_to_write_a_text_make_no_other_conversation() -> None:
    mark = {"type": "ephemeral"}
    one = {"model": "claude", "max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": "look"}]}
    block = {"type": "text", "text": "look", "cache_control": mark}
    more = [
        {"role": "user", "content": [block]},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "go"},
    ]
    two = {**one, "messages": more}
    [bodies] = read(one, two)
    assert requests(bodies) == [one, two]
    assert [body for body in bodies if isinstance(body, UserMessage | AssistantMessage)] == [
        UserMessage("look"),
        AssistantMessage("ok", "r2", model="claude"),
        UserMessage("go"),
    ]


def test_another_question_and_a_side_request_are_conversations_of_their_own() -> None:
    title = {**FIRST, "messages": [{"role": "system", "content": "make a title"}, ASKED]}
    other = {**FIRST, "messages": [SYSTEM, {"role": "user", "content": "else"}]}
    main, *sides = read(FIRST, title, other, SECOND)
    assert requests(main) == [FIRST, SECOND]
    assert [requests(each) for each in sides] == [[title], [other]]


def test_a_changed_prompt_fills_the_slot_anew_and_a_tool_that_is_gone_is_cleared() -> None:
    talk = [ASKED, CALLED, RETURNED, {"role": "user", "content": "go on"}]
    later = {"model": "gpt-4o", "messages": [{"role": "system", "content": "be long"}, *talk]}
    [bodies] = read(SECOND, later)
    slots = [body for body in bodies if isinstance(body, SlotContent)]
    assert slots[2:] == [SlotContent("system", "system", "be long"), SlotContent("tools", "ls", "")]
    assert requests(bodies) == [SECOND, later]


STREAMS: dict[DialectName, tuple[dict[str, Any], list[Any]]] = {
    "chat": (
        FIRST,
        [
            {"choices": [{"delta": {"content": "d"}}], "model": "m"},
            {"choices": [{"delta": {"content": "one"}, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 5}},
        ],
    ),
    "anthropic": (
        {"model": "claude", "system": "s", "messages": [ASKED]},
        [
            {"type": "message_start", "message": {"model": "m", "content": [], "usage": {"input_tokens": 10}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "done"}},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": 5, "cache_read_input_tokens": 30},
            },
        ],
    ),
    "responses": (
        {"model": "gpt-5", "input": [ASKED]},
        [
            {
                "type": "response.output_item.done",
                "item": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
            },
            {
                "type": "response.completed",
                "response": {"model": "m", "output": [], "usage": {"input_tokens": 40, "output_tokens": 5}},
            },
        ],
    ),
    "gemini": (
        {"model": "g", "contents": [{"role": "user", "parts": [{"text": "look"}]}]},
        [
            {"candidates": [{"content": {"parts": [{"text": "do"}]}}], "modelVersion": "m"},
            {
                "candidates": [{"content": {"parts": [{"text": "ne"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 40, "candidatesTokenCount": 5},
            },
        ],
    ),
    "ollama": (
        {"model": "qwen3:8b", "messages": [ASKED], "options": {"num_ctx": 8192}},
        [
            {"model": "m", "message": {"role": "assistant", "content": "do"}, "done": False},
            {"model": "m", "message": {"role": "assistant", "content": "ne"}, "done": False},
            {"model": "m", "message": {"content": ""}, "done": True, "prompt_eval_count": 40, "eval_count": 5},
        ],
    ),
}


@pytest.mark.parametrize("dialect", get_args(OwnDialect))
def test_an_answer_that_was_streamed_is_put_together(dialect: DialectName) -> None:
    body, events = STREAMS[dialect]
    stream = "\n\n".join(f"data: {json.dumps(event)}" for event in events) + "\n\ndata: [DONE]\n\n"
    if dialect == "ollama":
        stream = "\n".join(map(json.dumps, events)) + "\n"
    [bodies] = read({"n": 1, "method": "POST", "path": "/v1/x", "req": body, "resp": stream})
    *_, answer, usage = bodies
    assert isinstance(answer, AssistantMessage)
    assert isinstance(usage, Usage)
    assert (answer.content, usage.prompt, usage.completion, usage.model) == ("done", 40, 5, "m")
    assert requests(bodies) == [body]


def test_geminis_model_is_in_the_address_and_stays_out_of_the_body() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "look"}]}], "generationConfig": {"topP": 1}}
    path = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
    [bodies] = read({"method": "POST", "path": path, "req": body, "resp": ""})
    events = number_events(bodies)
    [sent] = [event for event in events if isinstance(event.body, Request)]
    assert isinstance(sent.body, Request)
    assert sent.body.model == "gemini-3-pro"
    assert RequestBodies(events).body(sent.seq) == body


def test_calls_of_a_stream_are_whole() -> None:
    pieces: list[dict[str, Any]] = [
        {"index": 0, "id": "c1", "function": {"name": "ls", "arguments": '{"a'}},
        {"index": 0, "function": {"arguments": '": 1}'}},
    ]
    chat = "".join(f"data: {json.dumps({'choices': [{'delta': {'tool_calls': [piece]}}]})}\n" for piece in pieces)
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c1", "name": "ls"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a'}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '": 1}'}},
    ]
    anthropic = "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events)
    for body, stream in ((FIRST, chat), (STREAMS["anthropic"][0], anthropic)):
        [bodies] = read({"request": body, "response": stream})
        assert next(each for each in bodies if isinstance(each, ToolCall)).arguments == '{"a": 1}'


def test_what_a_recorder_saw_besides_is_counted() -> None:
    hello = {"n": 1, "method": "HEAD", "path": "/api/hello", "resp": ""}
    count = {"method": "POST", "path": "/v1/messages/count_tokens", "req": STREAMS["anthropic"][0], "resp": {"a": 1}}
    [bodies] = read(hello, count, {"method": "POST", "path": "/v1/chat", "req": FIRST, "resp": ANSWERS[0]})
    assert bodies[-1] == Setting("left out", {"requests that ask no model": 2})


@pytest.mark.parametrize(
    "value",
    [
        {**SECOND, "messages": [SYSTEM, ASKED, {"role": "assistant", "content": "done"}], "usage": {"total_tokens": 5}},
        {"messages": [ASKED], "response": "a plain text", "model": "m"},
        {"messages": [ASKED]},
    ],
)
def test_a_transcript_is_no_request(value: dict[str, Any]) -> None:
    [bodies] = read(value)
    assert requests(bodies) == []
    assert UserMessage("look") in bodies


def test_an_answer_may_be_the_message_alone() -> None:
    [bodies] = read({"request": FIRST, "response": {"role": "assistant", "content": "done"}})
    assert bodies[-1] == AssistantMessage("done", "r1", model="gpt-4o")


@given(st.lists(st.tuples(st.integers(0, 2), st.text("ab", min_size=1, max_size=2)), min_size=1, max_size=8), st.data())
def test_every_request_of_a_log_is_there_again_exactly_once(steps: list[tuple[int, str]], data: st.DataObject) -> None:
    logs: list[list[dict[str, Any]]] = [[], [], []]
    sent: list[dict[str, Any]] = []
    for which, word in steps:
        talk = logs[which]
        if talk:
            talk.append({"role": "assistant", "content": data.draw(st.text("xy", max_size=2))})
        talk.append({"role": "user", "content": word})
        sent.append({"model": "m", "messages": [{"role": "system", "content": str(which)}, *talk]})
    found = [body for bodies in read(*sent) for body in requests(bodies)]
    assert sorted(map(json.dumps, found)) == sorted(json.dumps(body) for body in sent)


def _as_stream(answer: dict[str, Any]) -> str:
    start = {**answer, "content": [], "stop_reason": None, "usage": {"input_tokens": 900, "output_tokens": 0}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for at, block in enumerate(answer["content"]):
        events.append({"type": "content_block_start", "index": at, "content_block": block})
        events.append({"type": "content_block_stop", "index": at})
    ends = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in [*events, ends])


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("content", ["look", [{"type": "text", "text": "look"}]])
def test_where_the_messages_fit_several_dialects_the_answer_decides(content: Any, streamed: bool) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
    lines = []
    for at in range(3):
        call = {"type": "tool_use", "id": f"c{at}", "name": "ls", "input": {}}
        usage = {"input_tokens": 900, "output_tokens": 5}
        answer = {"type": "message", "role": "assistant", "content": [call], "stop_reason": "tool_use", "usage": usage}
        body = {"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": [*messages]}
        lines.append({"request": body, "response": _as_stream(answer) if streamed else answer})
        result = {"type": "tool_result", "tool_use_id": f"c{at}", "content": "a.py"}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    (made,) = read(*lines)
    assert [each.dialect for each in made if isinstance(each, Request)] == ["anthropic"] * 3
    assert [each.prompt for each in made if isinstance(each, Usage)] == [900] * 3


@pytest.mark.parametrize(
    "body",
    [
        FIRST,
        {"model": "m", "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "look"}]},
        {"model": "m", "messages": [{"role": "developer", "content": "be brief"}, {"role": "user", "content": "look"}]},
    ],
)
def test_an_answer_does_not_decide_against_the_request(body: dict[str, Any]) -> None:
    """A gateway may answer in another form than it was asked in."""
    answer = {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn", "usage": {}}
    (made,) = read({"request": body, "response": answer})
    assert [each.dialect for each in made if isinstance(each, Request)] == ["chat"]


def test_a_plain_chat_stays_one_beside_a_plugins_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    class Acme(ChatDialect):
        name = "acme"

        def recognises_request(self, body: dict[str, Any], answered: bool) -> bool:
            return False

    find = DIALECT_REGISTRY.find_named
    monkeypatch.setattr(DIALECT_REGISTRY, "plugins", lambda: {"acme": Acme()})
    monkeypatch.setattr(DIALECT_REGISTRY, "find_named", lambda name: Acme() if name == "acme" else find(name))
    (made,) = read({"request": {"model": "gpt-4o", "messages": [ASKED]}, "response": ANSWERS[1]})
    assert [each.dialect for each in made if isinstance(each, Request)] == ["chat"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_of_a_tool_with_free_text_has_it_under_input(streamed: bool) -> None:
    called = {"id": "c1", "type": "custom", "custom": {"name": "exec", "input": "cat a.txt"}}
    said = {"role": "assistant", "content": None, "tool_calls": [called]}
    answer: Any = {"model": "gpt-5", "choices": [{"message": said, "finish_reason": "tool_calls"}]}
    if streamed:
        begun = {"index": 0, "id": "c1", "type": "custom", "custom": {"name": "exec", "input": "cat "}}
        pieces = [begun, {"index": 0, "custom": {"input": "a.txt"}}]
        chunks: list[Any] = [{"choices": [{"delta": {"tool_calls": [piece]}}]} for piece in pieces]
        chunks.append({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
        answer = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    tool = {"type": "custom", "custom": {"name": "exec", "description": "Run it."}}
    body = {"model": "gpt-5", "tools": [tool], "messages": [ASKED]}
    returned = {"role": "tool", "tool_call_id": "c1", "content": "hello"}
    (made,) = read(
        {"request": body, "response": answer},
        {"request": {**body, "messages": [ASKED, said, returned]}, "response": {}},
    )
    assert [(each.tool, json.loads(each.arguments)) for each in made if isinstance(each, ToolCall)] == [
        ("exec", {"input": "cat a.txt"})
    ]
    assert [each.call_id for each in made if isinstance(each, ToolResult)] == ["c1"]
    assert [each.name for each in made if isinstance(each, SlotContent)] == ["exec"]
