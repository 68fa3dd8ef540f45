"""OpenAI's chat over real HTTP, seen by a plain client and by OpenAI's own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from rehearsal.conftest import ASKED, OPENAI_TOOLS, PATHS, body, data_of
from workbench.rehearsal.server import RehearsalServer

if TYPE_CHECKING:
    import openai

pytestmark = pytest.mark.xdist_group("litellm")  # where the other tests import the clients


@pytest.fixture
async def official(server: RehearsalServer) -> AsyncIterator[openai.AsyncOpenAI]:
    import openai

    async with (
        httpx.AsyncClient(trust_env=False, verify=False) as plain,
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
        ("context 4096", "BadRequestError"),
        ("status 401", "AuthenticationError"),
        ("status 404", "NotFoundError"),
        ("status 413", "APIStatusError"),
        ("status 429 wait 3", "RateLimitError"),
        ("status 500", "InternalServerError"),
        ("status 529", "InternalServerError"),
        ("drop", "APIConnectionError"),
    ],
)
async def test_openai_s_own_client_raises_its_own_errors(official: openai.AsyncOpenAI, fault: str, kind: str) -> None:
    import openai

    raised: type[openai.APIError] = getattr(openai, kind)
    with pytest.raises(raised) as caught:
        await official.chat.completions.create(
            model="rehearsal", messages=ASKED, extra_headers={"x-rehearse-fault": fault}
        )
    if fault.startswith("context"):
        assert caught.value.code == "context_length_exceeded"
        assert "maximum context length is 4096 tokens" in caught.value.message
    if isinstance(caught.value, openai.RateLimitError):
        assert caught.value.response.headers["retry-after"] == "3"


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
