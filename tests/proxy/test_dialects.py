"""All four dialects through the proxy: what was sent is kept as it was, and what was said is said once."""

from __future__ import annotations

import itertools
import json
from typing import Any, NamedTuple

import pytest

from proxy.conftest import Recording
from workbench.log.events import AssistantMessage, DialectName, Request, ToolCall, ToolResult, Usage, UserMessage
from workbench.proxy.routes import Route, Upstreams, known_providers, route_of
from workbench.proxy.unpacking import read_body, unpack_answer

ARGUMENTS = {"path": "src"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


class Wire(NamedTuple):
    """A turn in two requests as a client of a dialect sends them, and the streams that answer them."""

    path: str
    first: dict[str, Any]
    second: dict[str, Any]
    streams: tuple[list[dict[str, Any]], list[dict[str, Any]]]


CALLED = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": json.dumps(ARGUMENTS)}}
CHAT_HEAD = {
    "model": "gpt-4o",
    "stream": True,
    "tools": [{"type": "function", "function": {"name": "ls", "parameters": SCHEMA}}],
}
CHAT_TALK = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "look"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALLED]},
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
]


def _chunk(**delta: Any) -> dict[str, Any]:
    return {"id": "x", "model": "gpt-4o-2024", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _piece(**function: str) -> dict[str, Any]:
    return {"index": 0, "id": "c1" if "name" in function else None, "function": function}


CHAT = Wire(
    "/v1/chat/completions",
    {**CHAT_HEAD, "messages": CHAT_TALK[:2]},
    {**CHAT_HEAD, "messages": CHAT_TALK},
    (
        [
            _chunk(role="assistant", tool_calls=[_piece(name="ls", arguments='{"path"')]),
            _chunk(tool_calls=[_piece(arguments=': "src"}')]),
            {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 5}},
        ],
        [_chunk(content="do"), _chunk(content="ne"), {"choices": [], "usage": {"prompt_tokens": 60}}],
    ),
)

CLAUDE_HEAD = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 9,
    "stream": True,
    "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "ls", "input_schema": SCHEMA}],
}
CLAUDE_TALK = [
    {"role": "user", "content": [{"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": ARGUMENTS}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}]},
]


def _claude_stream(block: dict[str, Any], delta: dict[str, Any], tokens: int) -> list[dict[str, Any]]:
    used = {"input_tokens": tokens, "output_tokens": 1}
    return [
        {"type": "message_start", "message": {"id": f"m{tokens}", "model": "claude-sonnet-4-5", "usage": used}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    ]


CLAUDE = Wire(
    "/v1/messages",
    {**CLAUDE_HEAD, "messages": CLAUDE_TALK[:1]},
    {**CLAUDE_HEAD, "messages": [{"role": "user", "content": "look"}, *CLAUDE_TALK[1:]]},
    (
        _claude_stream(
            {"type": "tool_use", "id": "c1", "name": "ls", "input": {}},
            {"type": "input_json_delta", "partial_json": json.dumps(ARGUMENTS)},
            40,
        ),
        _claude_stream({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, 60),
    ),
)

ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
    {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "abc"},
    {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": json.dumps(ARGUMENTS)},
    {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
]
RESPONSES_HEAD = {
    "model": "gpt-5",
    "stream": True,
    "store": False,
    "instructions": "be brief",
    "tools": [{"type": "function", "name": "ls", "parameters": SCHEMA}],
}


def _responses_stream(items: list[dict[str, Any]], tokens: int) -> list[dict[str, Any]]:
    used = {"input_tokens": tokens, "output_tokens": 5}
    done = [{"type": "response.output_item.done", "item": item} for item in items]
    return [*done, {"type": "response.completed", "response": {"id": f"r{tokens}", "model": "gpt-5", "usage": used}}]


RESPONSES = Wire(
    "/v1/responses",
    {**RESPONSES_HEAD, "input": ITEMS[:1]},
    {**RESPONSES_HEAD, "input": ITEMS},
    (
        _responses_stream(ITEMS[1:3], 40),
        _responses_stream(
            [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}], 60
        ),
    ),
)

CONTENTS: list[dict[str, Any]] = [
    {"role": "user", "parts": [{"text": "look"}]},
    {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": ARGUMENTS}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a.py"}}}]},
]
GEMINI_HEAD = {
    "systemInstruction": {"role": "user", "parts": [{"text": "be brief"}]},
    "tools": [{"functionDeclarations": [{"name": "ls", "parametersJsonSchema": SCHEMA}]}],
    "generationConfig": {"temperature": 0},
}


def _gemini_stream(parts: list[dict[str, Any]], tokens: int) -> list[dict[str, Any]]:
    used = {"promptTokenCount": tokens, "candidatesTokenCount": 5}
    return [
        *({"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts),
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": used, "modelVersion": "gemini-2.5-pro"},
    ]


GEMINI = Wire(
    "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
    {**GEMINI_HEAD, "contents": CONTENTS[:1]},
    {**GEMINI_HEAD, "contents": CONTENTS},
    (_gemini_stream(CONTENTS[1]["parts"], 40), _gemini_stream([{"text": "do"}, {"text": "ne"}], 60)),
)
OLLAMA_HEAD = {
    "model": "qwen3:8b",
    "options": {"num_ctx": 8192},
    "tools": [{"type": "function", "function": {"name": "ls", "parameters": SCHEMA}}],
}
OLLAMA_CALL = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "ls", "arguments": ARGUMENTS}}]}
OLLAMA_TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "look"},
    OLLAMA_CALL,
    {"role": "tool", "tool_name": "ls", "content": "a.py"},
]


def _ollama_stream(messages: list[dict[str, Any]], tokens: int) -> list[dict[str, Any]]:
    end = {"message": {"role": "assistant", "content": ""}, "done": True, "prompt_eval_count": tokens, "eval_count": 5}
    return [*({"model": "qwen3:8b", "message": each, "done": False} for each in messages), {"model": "qwen3:8b", **end}]


OLLAMA = Wire(
    "/api/chat",
    {**OLLAMA_HEAD, "messages": OLLAMA_TALK[:2]},
    {**OLLAMA_HEAD, "messages": OLLAMA_TALK},
    (
        _ollama_stream([OLLAMA_CALL], 40),
        _ollama_stream([{"role": "assistant", "content": "do"}, {"role": "assistant", "content": "ne"}], 60),
    ),
)
WIRES: dict[DialectName, Wire] = {
    "chat": CHAT,
    "anthropic": CLAUDE,
    "responses": RESPONSES,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}


def stream(events: list[dict[str, Any]]) -> bytes:
    if "done" in events[0]:
        return b"".join(f"{json.dumps(event)}\n".encode() for event in events)
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events) + b"data: [DONE]\n\n"


@pytest.mark.parametrize("dialect", WIRES)
def test_a_turn_with_a_tool_is_the_same_in_every_dialect(recording: Recording, dialect: DialectName) -> None:
    wire = WIRES[dialect]
    assert route_of(wire.path, {}).dialect == dialect
    for body, events in zip((wire.first, wire.second), wire.streams, strict=True):
        answer = unpack_answer(dialect, stream(events), {"Content-Type": "text/event-stream"})
        recording.pass_through(wire.path, read_body(json.dumps(body).encode(), {}), answer)
    assert len(recording.store.list()) == 1
    talk = [
        body for body in recording.bodies() if isinstance(body, UserMessage | ToolCall | ToolResult | AssistantMessage)
    ]
    assert [type(body) for body in talk] == [UserMessage, ToolCall, ToolResult, AssistantMessage]
    call, came, reply = talk[1], talk[2], talk[3]
    assert isinstance(call, ToolCall)
    assert json.loads(call.arguments) == ARGUMENTS
    assert isinstance(came, ToolResult)
    assert (came.call_id, came.content) == (call.call_id, "a.py")
    assert isinstance(reply, AssistantMessage)
    assert reply.content == "done"
    assert [body.prompt for body in recording.bodies() if isinstance(body, Usage)] == [40, 60]
    assert recording.sent() == [wire.first, wire.second]
    models = {body.model for body in recording.bodies() if isinstance(body, Request)}
    assert models == {wire.first.get("model", "gemini-2.5-pro")}


@pytest.mark.parametrize(
    ("path", "headers", "route"),
    [
        ("/v1/messages/count_tokens", {}, Route("anthropic", "anthropic", "counting")),
        ("/api/hello", {}, Route("anthropic")),
        ("/v1/models", {"anthropic-version": "2023-06-01"}, Route("anthropic")),
        ("/v1/models", {}, Route("openai")),
        ("/responses/compact", {}, Route("openai", "responses", "compaction")),
        ("/v1beta/models/g-1:countTokens", {}, Route("gemini", "gemini", "counting", "g-1")),
        ("/v1beta/models", {}, Route("gemini")),
        ("/v1/embeddings", {}, Route("openai")),
        ("/v1/chat/completions/", {}, Route("openai", "chat")),
        ("/v1beta/models/g-1:generateContent/", {}, Route("gemini", "gemini", "", "g-1")),
        ("/messages", {}, Route("anthropic", "anthropic")),
        ("/v1beta/openai/chat/completions", {"Authorization": "Bearer k"}, Route("gemini", "chat")),
        ("/v1beta/openai/models", {"Authorization": "Bearer k"}, Route("gemini")),
        ("/openai/v1/chat/completions", {}, Route("openai", "chat")),
        ("/coding/v1/chat/completions", {}, Route("kimi", "chat")),
        ("/coding/v1/messages", {}, Route("kimi", "anthropic")),
        ("/coding/v1/models", {}, Route("kimi")),
    ],
)
def test_an_address_tells_whom_a_request_is_for(path: str, headers: dict[str, str], route: Route) -> None:
    assert route_of(path, headers) == route


@pytest.mark.parametrize(
    ("provider", "path", "address"),
    [
        ("anthropic", "/v1/messages?beta=true", "https://api.anthropic.com/v1/messages?beta=true"),
        ("anthropic", "/messages?beta=true", "https://api.anthropic.com/v1/messages?beta=true"),
        ("anthropic", "/messages/count_tokens", "https://api.anthropic.com/v1/messages/count_tokens"),
        ("anthropic", "/api/hello", "https://api.anthropic.com/api/hello"),
        ("openai", "/v1/models/", "https://api.openai.com/v1/models/"),
        (
            "gemini",
            "/v1beta/openai/chat/completions",
            "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
        ),
        ("kimi", "/coding/v1/chat/completions", "https://api.kimi.com/coding/v1/chat/completions"),
    ],
)
def test_requests_go_where_the_provider_takes_them(
    provider: str, path: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in itertools.chain.from_iterable(home.variables for home in known_providers().values()):
        monkeypatch.delenv(name, raising=False)
    assert str(Upstreams().address(provider, path)) == address


def test_where_the_configured_address_names_a_version_none_is_added() -> None:
    upstreams = Upstreams("http://gateway/anthropic/v1")
    for path in ("/messages", "/v1/messages"):
        assert str(upstreams.address("anthropic", path)) == "http://gateway/anthropic/v1/messages"
    assert str(upstreams.address("kimi", "/coding/v1/messages")) == "http://gateway/anthropic/v1/messages"


def test_a_request_that_goes_on_from_a_response_is_kept_with_what_the_provider_remembers(recording: Recording) -> None:
    answer = {"id": "r1", "output": ITEMS[1:3], "usage": {"input_tokens": 40, "output_tokens": 5}}
    recording.pass_through(RESPONSES.path, RESPONSES.first, answer)
    more = {**RESPONSES_HEAD, "input": ITEMS[3:], "previous_response_id": "r1"}
    recording.pass_through(RESPONSES.path, more, {"id": "r2", "output": []})
    assert recording.sent() == [RESPONSES.first, RESPONSES.second]


def test_bare_texts_that_go_on_from_a_response_become_items_and_can_be_sent_again(recording: Recording) -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "here"}]}
    recording.pass_through(RESPONSES.path, {**RESPONSES_HEAD, "input": "look"}, {"id": "r1", "output": [said]})
    more = {**RESPONSES_HEAD, "previous_response_id": "r1", "input": "again"}
    recording.pass_through(RESPONSES.path, more, {"id": "r2", "output": [said]})
    recording.pass_through(RESPONSES.path, {**more, "previous_response_id": "r2"}, {"id": "r3", "output": []})
    look, again = ({"role": "user", "content": text} for text in ("look", "again"))
    assert [body["input"] for body in recording.sent()] == [
        "look",
        [look, said, again],
        [look, said, again, said, again],
    ]
    talk = [body.content for body in recording.bodies() if isinstance(body, UserMessage | AssistantMessage)]
    assert talk == ["look", "here", "again", "here", "again"], "one session, in which each is told once"


def test_a_request_that_names_a_response_that_passed_elsewhere_is_kept_as_it_was_sent(recording: Recording) -> None:
    body = {"previous_response_id": "r9", **RESPONSES_HEAD, "input": "go on"}
    recording.pass_through(RESPONSES.path, body, {"id": "r10", "output": []})
    assert [list(sent.items()) for sent in recording.sent()] == [list(body.items())]


@pytest.mark.parametrize("dialect", WIRES)
def test_a_stored_request_has_its_keys_in_the_order_in_which_they_were_sent(
    recording: Recording, dialect: DialectName
) -> None:
    wire = WIRES[dialect]
    turned = dict(reversed(wire.first.items()))
    recording.pass_through(wire.path, turned, {})
    recording.pass_through(wire.path, wire.second, {})
    assert [list(body) for body in recording.sent()] == [list(turned), list(wire.second)]
