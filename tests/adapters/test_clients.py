"""The wrapped clients beyond a loop of chats: calls that wait, streams, responses, and what is not planned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from adapters import runs
from adapters.test_examples import needs
from workbench.adapters.anthropic import plan_anthropic
from workbench.adapters.litellm import plan_litellm
from workbench.adapters.openai import chat_request, plan_openai
from workbench.models.engine import import_litellm
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")  # which imports the clients, too
LONG = "12 " * 30_000
CALL = {"id": "c1", "type": "function", "function": {"name": "read_log", "arguments": '{"number": 1}'}}
CHAT: list[Any] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "read the log"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": LONG},
]
ITEMS: list[Any] = [
    {"role": "user", "content": "read the log"},
    {"type": "function_call", "call_id": "c1", "name": "read_log", "arguments": '{"number": 1}'},
    {"type": "function_call_output", "call_id": "c1", "output": LONG},
]
BLOCKS: list[Any] = [
    {"role": "user", "content": "read the log"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read_log", "input": {"number": 1}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": LONG}]},
]
CLAUDE: dict[str, Any] = {"model": "claude-opus-4-5", "max_tokens": 500}


@pytest.fixture
def openai_client() -> Callable[[RehearsalServer], Any]:
    needs("openai")
    from openai import OpenAI

    return lambda server: plan_openai(OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0), window=16_000)


@pytest.fixture
def anthropic_client() -> Callable[[RehearsalServer], Any]:
    needs("anthropic")
    from anthropic import Anthropic

    return lambda server: plan_anthropic(Anthropic(base_url=server.url, api_key="any", max_retries=0), window=16_000)


async def sent(ask: Callable[[RehearsalServer], Any]) -> dict[str, Any]:
    """The body of what a call that waits sends."""
    async with RehearsalServer() as server:
        await asyncio.to_thread(ask, server)
    return server.requests[0].body


async def test_a_chat_that_is_waited_for_is_planned_and_its_prompt_stays(openai_client: Any) -> None:
    body = await sent(lambda server: openai_client(server).chat.completions.create(model="gpt-4o", messages=CHAT))
    assert body["messages"][:3] == CHAT[:3]
    assert "truncated" in body["messages"][3]["content"]


def test_an_answer_without_choices_is_no_message() -> None:
    contents = chat_request({"model": "gpt-4o", "messages": CHAT})
    assert contents.messages_in(SimpleNamespace(choices=[])) == []
    assert contents.messages_in(SimpleNamespace(choices=None)) == []


async def test_a_streamed_chat_is_planned(openai_client: Any) -> None:
    def ask(server: RehearsalServer) -> None:
        with openai_client(server).chat.completions.create(model="gpt-4o", messages=CHAT, stream=True) as stream:
            assert list(stream)

    assert "truncated" in (await sent(ask))["messages"][3]["content"]


async def test_a_chat_whose_response_stays_packed_is_planned(openai_client: Any) -> None:
    def ask(server: RehearsalServer) -> None:
        chats = openai_client(server).chat.completions
        assert chats.with_raw_response.create(model="gpt-4o", messages=CHAT).parse().choices

    assert "truncated" in (await sent(ask))["messages"][3]["content"]


async def test_a_response_is_planned(openai_client: Any) -> None:
    def ask(server: RehearsalServer) -> None:
        responses = openai_client(server).responses
        responses.create(model="gpt-4o", instructions="Be brief.", input=ITEMS)
        assert responses.workbench.context.plan.items[-1].role == "assistant"

    body = await sent(ask)
    assert body["instructions"] == "Be brief."
    assert body["input"][:2] == ITEMS[:2]
    assert "truncated" in body["input"][2]["output"]


async def test_a_bare_question_becomes_one_message(openai_client: Any) -> None:
    body = await sent(lambda server: openai_client(server).responses.create(model="gpt-4o", input="hello"))
    assert body["input"] == [{"role": "user", "content": "hello"}]


async def test_what_goes_on_from_the_providers_memory_is_not_planned(openai_client: Any) -> None:
    def ask(server: RehearsalServer) -> None:
        responses = openai_client(server).responses
        first = responses.create(model="gpt-4o", input="hello")
        responses.create(model="gpt-4o", input="again", previous_response_id=first.id)

    async with RehearsalServer() as server:
        await asyncio.to_thread(ask, server)
    assert server.requests[1].body["input"] == "again"


async def test_the_client_that_was_given_stays_as_it_is() -> None:
    needs("openai")
    from openai import AsyncOpenAI

    async with RehearsalServer() as server:
        client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0)
        plan_openai(client, window=16_000)
        await client.chat.completions.create(model="gpt-4o", messages=CHAT)
    assert server.requests[0].body["messages"] == CHAT


async def test_claudes_messages_are_planned_and_marks_for_the_cache_stay(anthropic_client: Any) -> None:
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]

    def ask(server: RehearsalServer) -> None:
        messages = anthropic_client(server).messages
        messages.create(messages=BLOCKS, system=system, **CLAUDE)
        assert messages.workbench.context.plan.items[-1].role == "assistant"

    body = await sent(ask)
    assert body["system"] == system
    assert body["messages"][:2] == BLOCKS[:2]
    assert "truncated" in str(body["messages"][2]["content"])


async def test_claudes_stream_is_planned(anthropic_client: Any) -> None:
    def ask(server: RehearsalServer) -> None:
        with anthropic_client(server).messages.stream(messages=BLOCKS, **CLAUDE) as stream:
            assert stream.get_final_text()

    assert "truncated" in str((await sent(ask))["messages"][2]["content"])


async def test_litellm_has_a_completion_that_waits() -> None:
    import_litellm()
    planned = plan_litellm(window=16_000)
    given = {"model": "openai/gpt-4o", "api_key": "any", "messages": CHAT, "tools": [runs.CHAT_TOOL]}
    body = await sent(lambda server: planned.completion(api_base=f"{server.url}/v1", **given))
    assert "truncated" in body["messages"][3]["content"]
    assert planned.workbench.context.plan.items[-1].role == "assistant"


async def test_litellms_callback_leaves_what_is_no_chat_and_forgets_what_failed() -> None:
    planned = plan_litellm(window=16_000)
    assert await planned.async_pre_call_deployment_hook({"input": "text"}, "aembedding") is None
    given = {"model": "gpt-4o", "messages": CHAT, "litellm_call_id": "1"}
    assert await planned.async_pre_call_deployment_hook(given, "acompletion") != given
    await planned.async_post_call_failure_deployment_hook(given, ValueError("broken"), "acompletion")
    await planned.async_post_call_success_deployment_hook(given, object(), "acompletion")
    assert planned.workbench.context.plan.items[-1].role == "tool"
