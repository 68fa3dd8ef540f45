"""Anthropic's messages over real HTTP, seen by a plain client and by Anthropic's own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from rehearsal.conftest import ANTHROPIC_TOOLS, ASKED, PATHS, STEP, body, client_of, data_of
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer
from workbench.wire.dialects import DIALECTS

if TYPE_CHECKING:
    import anthropic

pytestmark = pytest.mark.xdist_group("litellm")  # where the other tests import the clients


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
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

    async with (
        DefaultAsyncHttpxClient(trust_env=False, verify=False) as plain,
        AsyncAnthropic(base_url=server.url, api_key="any", max_retries=0, http_client=plain) as client,
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
    from anthropic import RateLimitError

    used = (await theirs.messages.create(model="m", max_tokens=10, system="Be terse.", messages=ASKED)).usage
    counted = await theirs.messages.count_tokens(model="m", system="Be terse.", messages=ASKED)
    assert counted.input_tokens == used.input_tokens
    assert (await theirs.models.retrieve("claude-x")).id == "claude-x"
    assert [model.id async for model in theirs.models.list()] == ["rehearsal"]
    with pytest.raises(RateLimitError):
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


@pytest.mark.parametrize("place", ["output_config", "output_format"])
def test_the_schema_of_the_answer_is_found_in_the_new_place_and_in_the_old(place: str) -> None:
    shape = {"type": "object", "properties": {"a": {"type": "string"}}}
    given: dict[str, Any] = {"schema": shape} if place == "output_format" else {"format": {"schema": shape}}
    asked = DIALECTS["anthropic"].new_speaker().read_request(body("anthropic", **{place: given}))
    assert asked.schema == shape
