"""All dialects over real HTTP: answers, streams, errors and faults, seen by plain and by the providers' own clients."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.rehearsal.anthropic_dialect import Anthropic
from workbench.rehearsal.dialect import Dialect, to_json
from workbench.rehearsal.gemini_dialect import Gemini
from workbench.rehearsal.openai_dialect import OpenAI
from workbench.rehearsal.rehearsal_model import RehearsalModel
from workbench.rehearsal.request import BadRequest
from workbench.rehearsal.responses_dialect import Responses
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import DIALECTS, RehearsalServer

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
OPENAI_TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "description": name, "parameters": SCHEMA}}
    for name in ("read_file", "list_files")
]
ANTHROPIC_TOOLS = [{"name": name, "description": name, "input_schema": SCHEMA} for name in ("read_file", "list_files")]
ASKED: list[Any] = [{"role": "user", "content": "read a.py and list src"}]
GEMINI = "/v1beta/models/rehearsal"
PATHS = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": f"{GEMINI}:generateContent",
}
STEP = {"reasoning": "Hm.", "reply": "Hello.", "calls": [{"tool": "read_file", "arguments": {"path": "a.py"}}]}


def body(dialect: str, **more: Any) -> dict[str, Any]:
    match dialect:
        case "responses":
            tools = [{"type": "function", **tool["function"]} for tool in OPENAI_TOOLS]
            return {"model": "rehearsal", "input": ASKED[0]["content"], "tools": tools, **more}
        case "gemini":
            declared = [{"name": tool["name"], "parametersJsonSchema": SCHEMA} for tool in ANTHROPIC_TOOLS]
            contents = [{"role": "user", "parts": [{"text": ASKED[0]["content"]}]}]
            return {"contents": contents, "tools": [{"functionDeclarations": declared}], **more}
    tools = OPENAI_TOOLS if dialect == "openai" else ANTHROPIC_TOOLS
    return {"model": "rehearsal", "messages": ASKED, "tools": tools, "max_tokens": 1000, **more}


async def ask(client: httpx.AsyncClient, dialect: str, stream: bool = False, **more: Any) -> httpx.Response:
    """Post the usual request, to be streamed or not."""
    if dialect == "gemini":
        path = f"{GEMINI}:streamGenerateContent?alt=sse" if stream else PATHS[dialect]
        return await client.post(path, json=body(dialect), **more)
    return await client.post(PATHS[dialect], json=body(dialect, stream=stream), **more)


def client_of(server: RehearsalServer) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, timeout=30, trust_env=False)


def data_of(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


# OpenAI


@pytest.fixture
async def official(server: RehearsalServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with (
        httpx.AsyncClient(trust_env=False) as plain,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0, http_client=plain) as client,
    ):
        yield client


async def test_openai_s_own_client_gets_parallel_calls_and_usage(official: openai.AsyncOpenAI) -> None:
    found = await official.chat.completions.create(model="rehearsal", messages=ASKED, tools=OPENAI_TOOLS)
    calls = [call.function for call in found.choices[0].message.tool_calls or [] if call.type == "function"]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("read_file", {"path": "a.py"}),
        ("list_files", {"path": "src"}),
    ]
    assert found.choices[0].finish_reason == "tool_calls"
    assert found.usage is not None
    assert found.usage.total_tokens == found.usage.prompt_tokens + found.usage.completion_tokens > 20


async def test_openai_s_own_client_streams_it(official: openai.AsyncOpenAI, server: RehearsalServer) -> None:
    arguments: dict[int, str] = {}
    text, finish, usage = "", [], None
    stream = await official.chat.completions.create(
        model="rehearsal", messages=ASKED, tools=OPENAI_TOOLS, stream=True, stream_options={"include_usage": True}
    )
    async for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish += [choice.finish_reason] if choice.finish_reason else []
            for call in choice.delta.tool_calls or []:
                assert call.function is not None
                arguments[call.index] = arguments.get(call.index, "") + (call.function.arguments or "")
    assert text == "I read a.py and list src."
    assert {index: json.loads(each) for index, each in arguments.items()} == {0: {"path": "a.py"}, 1: {"path": "src"}}
    assert finish == ["tool_calls"]
    assert usage is not None
    assert usage.completion_tokens > 0
    assert server.requests[0].headers["authorization"] == "Bearer any"
    assert server.requests[0].body["messages"] == ASKED


async def test_usage_is_streamed_only_where_it_was_asked_for(client: httpx.AsyncClient) -> None:
    plain = data_of((await client.post(PATHS["openai"], json=body("openai", stream=True))).text)
    assert not any("usage" in chunk for chunk in plain)
    asked = body("openai", stream=True, stream_options={"include_usage": True})
    last = data_of((await client.post(PATHS["openai"], json=asked)).text)[-1]
    assert last["choices"] == []
    assert last["usage"]["prompt_tokens"] > 0


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("context 4096", openai.BadRequestError),
        ("status 401", openai.AuthenticationError),
        ("status 404", openai.NotFoundError),
        ("status 413", openai.APIStatusError),
        ("status 429 wait 3", openai.RateLimitError),
        ("status 500", openai.InternalServerError),
        ("status 529", openai.InternalServerError),
        ("drop", openai.APIConnectionError),
    ],
)
async def test_openai_s_own_client_raises_its_own_errors(
    official: openai.AsyncOpenAI, fault: str, kind: type[openai.APIError]
) -> None:
    with pytest.raises(kind) as caught:
        await official.chat.completions.create(
            model="rehearsal", messages=ASKED, extra_headers={"x-rehearse-fault": fault}
        )
    if fault.startswith("context"):
        assert caught.value.code == "context_length_exceeded"
        assert "maximum context length is 4096 tokens" in caught.value.message
    if isinstance(caught.value, openai.RateLimitError):
        assert caught.value.response.headers["retry-after"] == "3"


# Anthropic


async def test_anthropic_s_message_holds_thinking_text_and_tool_use() -> None:
    async with RehearsalServer(Script([STEP])) as server, client_of(server) as client:
        found = (await client.post(PATHS["anthropic"], json=body("anthropic"))).json()
    thinking, text, use = found["content"]
    assert (thinking["type"], thinking["thinking"]) == ("thinking", "Hm.")
    assert text == {"type": "text", "text": "Hello."}
    assert (use["type"], use["name"], use["input"]) == ("tool_use", "read_file", {"path": "a.py"})
    assert found["stop_reason"] == "tool_use"
    assert found["usage"]["output_tokens"] > 0


async def test_anthropic_s_events_come_in_their_order_with_whole_blocks() -> None:
    async with RehearsalServer(Script([STEP], chunk=4)) as server, client_of(server) as client:
        events = data_of((await client.post(PATHS["anthropic"], json=body("anthropic", stream=True))).text)
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["message_start", "ping"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    starts = {event["index"]: event["content_block"] for event in events if event["type"] == "content_block_start"}
    assert [block["type"] for block in starts.values()] == ["thinking", "text", "tool_use"]
    assert [event["index"] for event in events if event["type"] == "content_block_stop"] == [0, 1, 2]
    joined = dict.fromkeys(starts, "")
    for event in events:
        if event["type"] == "content_block_delta":
            delta = event["delta"]
            joined[event["index"]] += delta.get("thinking") or delta.get("text") or delta.get("partial_json") or ""
    assert (joined[0], joined[1], json.loads(joined[2])) == ("Hm.", "Hello.", {"path": "a.py"})
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


async def test_anthropic_s_conversation_is_understood(client: httpx.AsyncClient) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.py"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "gone"}],
        "is_error": True,
    }
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    messages = [
        {
            "role": "user",
            "content": [picture, {"type": "text", "text": "list x"}, {"type": "text", "text": "read a.py"}],
        },
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}, use]},
        {"role": "user", "content": [result]},
    ]
    asked = body("anthropic", messages=messages, system=[{"type": "text", "text": "Be terse."}])
    found = (await client.post(PATHS["anthropic"], json=asked)).json()
    assert "`read_file` a.py failed: gone" in found["content"][0]["text"]


@pytest.fixture
async def theirs(server: RehearsalServer) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with (
        anthropic.DefaultAsyncHttpxClient(trust_env=False) as plain,
        anthropic.AsyncAnthropic(base_url=server.url, api_key="any", max_retries=0, http_client=plain) as client,
    ):
        yield client


async def test_anthropic_s_own_client_gets_the_same_whole_and_streamed(theirs: anthropic.AsyncAnthropic) -> None:
    tools: Any = [*ANTHROPIC_TOOLS, {"type": "web_search_20250305", "name": "web_search"}]
    asked: Any = {"model": "rehearsal", "max_tokens": 1000, "messages": ASKED, "tools": tools}
    whole = await theirs.messages.create(**asked)
    async with theirs.messages.stream(**asked) as stream:
        streamed = await stream.get_final_message()
    assert [block.type for block in whole.content] == ["text", "tool_use", "tool_use"]
    assert [block.to_dict() for block in whole.content] == [block.to_dict() for block in streamed.content]
    assert whole.stop_reason == streamed.stop_reason == "tool_use"
    assert streamed.usage.output_tokens == whole.usage.output_tokens


async def test_anthropic_s_own_client_counts_tokens_and_finds_models(theirs: anthropic.AsyncAnthropic) -> None:
    used = (await theirs.messages.create(model="m", max_tokens=10, system="Be terse.", messages=ASKED)).usage
    counted = await theirs.messages.count_tokens(model="m", system="Be terse.", messages=ASKED)
    assert counted.input_tokens == used.input_tokens
    assert (await theirs.models.retrieve("claude-x")).id == "claude-x"
    assert [model.id async for model in theirs.models.list()] == ["rehearsal"]
    with pytest.raises(anthropic.RateLimitError):
        await theirs.messages.count_tokens(model="m", messages=ASKED, extra_headers={"x-rehearse-fault": "status 429"})


async def test_system_messages_stand_among_anthropic_s_others(client: httpx.AsyncClient) -> None:
    schema = {
        "type": "object",
        "properties": {"file_path": {"type": "string", "description": "The absolute path"}},
        "required": ["file_path"],
    }
    environment = {"role": "system", "content": "# Environment\n - Primary working directory: /work/it\n"}
    messages = [{"role": "system", "content": []}, *ASKED, environment]
    asked = body("anthropic", messages=messages, tools=[{"name": "Read", "input_schema": schema}], strange={"a": 1})
    found = (await client.post(PATHS["anthropic"], json=asked)).json()
    assert found["content"][-1]["name"] == "Read"
    assert found["content"][-1]["input"] == {"file_path": "/work/it/a.py"}


async def test_anthropic_counts_cached_tokens_beside_the_others(client: httpx.AsyncClient) -> None:
    asked = body("anthropic", messages=[{"role": "user", "content": "word " * 1000}])
    first = (await client.post(PATHS["anthropic"], json=asked)).json()["usage"]
    second = (await client.post(PATHS["anthropic"], json=asked)).json()["usage"]
    assert first["cache_read_input_tokens"] == 0
    assert second["cache_read_input_tokens"] >= 896
    assert second["input_tokens"] + second["cache_read_input_tokens"] == first["input_tokens"]


@pytest.mark.parametrize(
    ("fault", "status", "kind", "said"),
    [
        ("context 4096", 400, "invalid_request_error", "tokens > 4096 maximum"),
        ("status 401", 401, "authentication_error", "x-api-key"),
        ("status 404", 404, "not_found_error", "model: rehearsal"),
        ("status 413", 413, "request_too_large", "maximum size"),
        ("status 429", 429, "rate_limit_error", "rate limit"),
        ("status 500", 500, "api_error", "Internal"),
        ("status 529", 529, "overloaded_error", "Overloaded"),
        ("status 418", 418, "invalid_request_error", "not accepted"),
        ("quota", 429, "rate_limit_error", "credit balance"),
        ("policy", 400, "invalid_request_error", "content filtering"),
    ],
)
async def test_anthropic_s_errors(client: httpx.AsyncClient, fault: str, status: int, kind: str, said: str) -> None:
    found = await client.post(PATHS["anthropic"], json=body("anthropic"), headers={"x-rehearse-fault": fault})
    assert found.status_code == status
    assert found.json()["type"] == "error"
    assert found.json()["error"]["type"] == kind
    assert said in found.json()["error"]["message"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"messages": []}, "at least one message"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role: expected user, assistant or system"),
        ({"messages": [{"role": "user", "content": []}]}, "messages.0.content: expected text or a list"),
        ({"messages": [{"role": "user", "content": " "}]}, "must be non-empty"),
        (
            {
                "messages": [
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "a", "input": {}}]}
                ]
            },
            "without a result: 1",
        ),
    ],
)
async def test_anthropic_refuses_what_anthropic_refuses(client: httpx.AsyncClient, change: Any, said: str) -> None:
    found = await client.post(PATHS["anthropic"], json=body("anthropic", **change))
    assert found.status_code == 400
    assert said in found.json()["error"]["message"]


CALL = {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], "at least one message"),
        ([{"role": "robot", "content": "x"}], "messages[0].role: expected system"),
        ([{"role": "user"}], "messages[0].content: expected text"),
        ([{"role": "user", "content": 3}], "messages[0].content: expected a list of objects"),
        ([{"role": "tool", "content": "x"}], "messages[0].tool_call_id: expected the id"),
        ([{"role": "tool", "tool_call_id": "1", "content": "x"}], "must be a response to a preceding message"),
        ([{"role": "assistant", "content": None, "tool_calls": [CALL]}], "must be followed by tool messages"),
        ([{"role": "assistant", "content": None, "tool_calls": [CALL, CALL]}], "two calls have the same id"),
        ([{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}], "expected a name and arguments"),
    ],
)
async def test_openai_s_dialect_refuses_what_openai_refuses(
    client: httpx.AsyncClient, messages: list[Any], said: str
) -> None:
    found = await client.post(PATHS["openai"], json={"model": "m", "messages": messages})
    assert found.status_code == 400
    assert said in found.json()["error"]["message"]


# Faults of the connection and the stream, alike in all


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["cut", "drop"])
async def test_a_connection_that_closes_is_seen_as_such(
    server: RehearsalServer, client: httpx.AsyncClient, dialect: str, stream: bool, fault: str
) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await ask(client, dialect, stream, headers={"x-rehearse-fault": fault})
    assert await server.requests[0].outcome == "broken"


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["silence", "stall", "mute"])
async def test_silence_lasts_until_the_client_goes_away(
    server: RehearsalServer, client: httpx.AsyncClient, dialect: str, stream: bool, fault: str
) -> None:
    timeout = httpx.Timeout(60, read=0.2)
    with pytest.raises(httpx.ReadTimeout):
        await ask(client, dialect, stream, headers={"x-rehearse-fault": fault}, timeout=timeout)
    assert await (await server.arrival()).outcome == "gone"


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_page_of_html_comes_with_status_200(client: httpx.AsyncClient, dialect: str) -> None:
    found = await ask(client, dialect, True, headers={"x-rehearse-fault": "html"})
    assert found.status_code == 200
    assert found.headers["content-type"].startswith("text/html")
    assert found.text.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_stream_may_end_without_a_reason(client: httpx.AsyncClient, dialect: str) -> None:
    fault = {"x-rehearse-fault": "no_finish"}
    text = (await ask(client, dialect, True, headers=fault)).text
    assert "a.py" in text
    assert 'tool_calls"}' not in text
    ends = ('"finish_reason":"', '"stop_reason":"', "[DONE]", "message_stop", "finishReason", "response.completed")
    assert not any(word in text for word in ends)
    whole = (await ask(client, dialect, headers=fault)).json()
    match dialect:
        case "openai":
            assert whole["choices"][0]["finish_reason"] is None
        case "responses":
            assert whole["status"] == "in_progress"
        case "anthropic":
            assert whole["stop_reason"] is None
        case "gemini":
            assert "finishReason" not in whole["candidates"][0]


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True])
async def test_json_may_be_broken(client: httpx.AsyncClient, dialect: str, stream: bool) -> None:
    found = await ask(client, dialect, stream, headers={"x-rehearse-fault": "bad_json"})
    with pytest.raises(json.JSONDecodeError):
        data_of(found.text) if stream else found.json()


@pytest.mark.parametrize("dialect", PATHS)
async def test_an_error_may_come_in_the_middle(client: httpx.AsyncClient, dialect: str) -> None:
    fault = {"x-rehearse-fault": "error"}
    events = data_of((await ask(client, dialect, True, headers=fault)).text)
    assert len(events) > 1
    assert "error" in events[-1]
    assert (await ask(client, dialect, headers=fault)).status_code == 500


@pytest.mark.parametrize("dialect", PATHS)
async def test_usage_may_be_missing(client: httpx.AsyncClient, dialect: str) -> None:
    found = await ask(client, dialect, headers={"x-rehearse-fault": "no_usage"})
    assert not {"usage", "usageMetadata"} & found.json().keys()


@pytest.mark.parametrize("dialect", PATHS)
async def test_an_answer_at_a_speed_comes_whole_and_a_client_that_leaves_ends_it(dialect: str) -> None:
    script = Script([{"reply": "Hello.", "speed": 600, "delay": 0.01}, {"reply": "x" * 99, "speed": 1}], chunk=1)
    async with RehearsalServer(script) as server, client_of(server) as client:
        found = data_of((await ask(client, dialect, True)).text)
        assert len(found) > 5
        path = PATHS[dialect].replace(":generate", ":streamGenerate")
        async with client.stream("POST", path, json=body(dialect, stream=True)) as response:
            await anext(response.aiter_raw())
        assert await server.requests[1].outcome == "gone"


# Whatever a client sends

NAMES = st.sampled_from(
    [
        *("messages", "input", "contents", "role", "content", "parts", "type", "text", "tools", "name", "function"),
        *("tool_calls", "arguments", "functionCall", "functionResponse", "call_id", "output", "system", "response"),
        *("functionDeclarations", "tool_use_id", "tool_call_id", "max_tokens", "stream", "generationConfig", "schema"),
        *("custom", "response_format", "output_config", "format", "previous_response_id", "instructions", "id"),
    ]
)
WORDS = st.sampled_from(
    [
        *("user", "assistant", "system", "tool", "model", "message", "text", "tool_use", "tool_result", "function"),
        *(
            "function_call",
            "function_call_output",
            "namespace",
            "custom",
            "additional_tools",
            "read a.py",
            "run ls",
            "",
        ),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=25,
)


TALKS: dict[type[Dialect], dict[str, Any]] = {
    OpenAI: {
        **body("openai", response_format={"type": "json_schema", "json_schema": {"schema": SCHEMA}}),
        "messages": [
            {"role": "system", "content": "Be terse."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "read a.py"}, {"type": "image_url", "image_url": {}}],
            },
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "read_file", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "one"},
        ],
    },
    Responses: {
        **body("responses", text={"format": {"type": "json_schema", "schema": SCHEMA}}, instructions="Be terse."),
        "input": [
            {"type": "additional_tools", "tools": [{"type": "namespace", "name": "a", "tools": [{"type": "custom"}]}]},
            {"role": "user", "content": [{"type": "input_text", "text": "read a.py"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "function_call", "call_id": "1", "name": "read_file", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "one"}]},
        ],
    },
    Anthropic: {
        **body(
            "anthropic", output_config={"format": {"schema": SCHEMA}}, system=[{"type": "text", "text": "Be terse."}]
        ),
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "read a.py"}, {"type": "image", "source": {}}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "read_file", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "one"}]},
            {"role": "system", "content": "Be quick."},
        ],
    },
    Gemini: {
        **body(
            "gemini", generationConfig={"responseSchema": SCHEMA}, systemInstruction={"parts": [{"text": "Terse."}]}
        ),
        "contents": [
            {"role": "user", "parts": [{"text": "read a.py"}, {"inlineData": {"mimeType": "image/png", "data": ""}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "one"}}}]},
        ],
    },
}


def places(value: Any, *before: Any) -> list[tuple[Any, ...]]:
    """Where something stands in a value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [each for key, inner in inside for each in [(*before, key), *places(inner, *before, key)]]


@given(st.sampled_from(DIALECTS), st.data())
def test_any_object_is_answered_or_refused_and_nothing_else(make: type[Dialect], data: st.DataObject) -> None:
    dialect, sent = make(), copy.deepcopy(TALKS[make])
    for _ in range(data.draw(st.integers(0, 3))):
        found = places(sent)
        *before, last = data.draw(st.sampled_from(found)) if found else ("messages",)
        place: Any = sent
        for key in before:
            place = place[key]
        place[last] = data.draw(JSON)
    try:
        request = dialect.read(sent, "/v1beta/models/m:generateContent")
    except BadRequest:
        return
    played = RehearsalModel().play(request)
    assert json.loads(to_json(dialect.whole(played, request, "1")))
    assert b"".join(event.data for event in dialect.stream(played, request, "1"))
