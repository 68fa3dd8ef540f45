"""Streamed answers of the wrapped clients: recorded when the stream ends, with what it reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from adapters.test_examples import needs
from support.waiting import patiently
from workbench.adapters.anthropic import plan_anthropic
from workbench.adapters.litellm import plan_litellm
from workbench.adapters.openai import plan_openai
from workbench.models.engine import import_litellm
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")  # which imports the clients, too
SAID: list[Any] = [{"role": "user", "content": "hello"}]
CLAUDE: dict[str, Any] = {"model": "claude-opus-4-5", "max_tokens": 500, "messages": SAID}
CHAT: dict[str, Any] = {"model": "gpt-4o", "messages": SAID}
RESPONSE: dict[str, Any] = {"model": "gpt-4o", "input": SAID}
COUNTED: dict[str, Any] = {"stream_options": {"include_usage": True}}
REPLY = "The answer in many small pieces."
CALLS = [{"tool": "read_log", "arguments": {"number": 3}}]


def script(**fault: Any) -> Script:
    return Script([{"reply": REPLY, "calls": CALLS, **fault}])


def openai_client(server: RehearsalServer, awaited: bool) -> Any:
    needs("openai")
    from openai import AsyncOpenAI, OpenAI

    kind: Any = AsyncOpenAI if awaited else OpenAI
    return plan_openai(kind(base_url=f"{server.url}/v1", api_key="any", max_retries=0), window=16_000)


def anthropic_client(server: RehearsalServer, awaited: bool) -> Any:
    needs("anthropic")
    from anthropic import Anthropic, AsyncAnthropic

    kind: Any = AsyncAnthropic if awaited else Anthropic
    return plan_anthropic(kind(base_url=server.url, api_key="any", max_retries=0), window=16_000)


Way = tuple[Callable[[RehearsalServer, bool], Any], Callable[[Any], Any], Callable[[Any], Any], bool]
"""A client, its conversations, the call, and whether it gives a manager that has to be entered."""
WAYS: dict[str, Way] = {
    "chat": (
        openai_client,
        lambda client: client.chat.completions,
        lambda chats: chats.create(stream=True, **CHAT, **COUNTED),
        False,
    ),
    "chat.stream": (
        openai_client,
        lambda client: client.chat.completions,
        lambda chats: chats.stream(**CHAT, **COUNTED),
        True,
    ),
    "beta.chat.stream": (
        openai_client,
        lambda client: client.beta.chat.completions,
        lambda chats: chats.stream(**CHAT, **COUNTED),
        True,
    ),
    "responses": (
        openai_client,
        lambda client: client.responses,
        lambda responses: responses.create(stream=True, **RESPONSE),
        False,
    ),
    "responses.stream": (
        openai_client,
        lambda client: client.responses,
        lambda responses: responses.stream(**RESPONSE),
        True,
    ),
    "messages": (
        anthropic_client,
        lambda client: client.messages,
        lambda messages: messages.create(stream=True, **CLAUDE),
        False,
    ),
    "messages.stream": (
        anthropic_client,
        lambda client: client.messages,
        lambda messages: messages.stream(**CLAUDE),
        True,
    ),
    "beta.messages": (
        anthropic_client,
        lambda client: client.beta.messages,
        lambda messages: messages.create(stream=True, **CLAUDE),
        False,
    ),
    "beta.messages.stream": (
        anthropic_client,
        lambda client: client.beta.messages,
        lambda messages: messages.stream(**CLAUDE),
        True,
    ),
}


async def streamed(way: str, server: RehearsalServer, awaited: bool, most: int = 1_000) -> Any:
    """Ask, read so many events, and give the context."""
    client_for, owner_of, ask, managed = WAYS[way]
    owner = owner_of(client_for(server, awaited))
    if awaited:
        await _read_later(ask(owner), managed, most)
    else:
        await asyncio.to_thread(_read_now, ask, owner, most)
    return owner.workbench.context


async def _read_later(made: Any, managed: bool, most: int) -> None:
    async with made if managed else await made as stream:
        left = most
        async for _ in stream:
            left -= 1
            if not left:
                break


def _read_now(ask: Any, owner: Any, most: int) -> None:
    with ask(owner) as stream:
        for at, _ in enumerate(stream, 1):
            if at == most:
                break


def recorded(context: Any) -> list[tuple[str, str]]:
    """What the context has after the user's message: kinds and texts."""
    return [(item.kind, item.original) for item in context.plan.items if item.role in ("assistant", "tool")]


def reported(context: Any) -> list[int | None]:
    return [event.body.prompt for event in context._planner.events if type(event.body).__name__ == "Usage"]


@pytest.mark.parametrize("awaited", [False, True], ids=["waiting", "awaited"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_stream_is_recorded_when_it_ends_with_its_usage(way: str, awaited: bool) -> None:
    async with RehearsalServer(script()) as server:
        context = await streamed(way, server, awaited)
    said, call = recorded(context)[:2]
    assert said == ("message", REPLY)
    assert call[0] == "tool_call"
    assert "number" in call[1]
    [prompt] = reported(context)
    assert prompt


@pytest.mark.parametrize("awaited", [False, True], ids=["waiting", "awaited"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_stream_that_is_left_early_is_not_recorded(way: str, awaited: bool) -> None:
    async with RehearsalServer(script()) as server:
        context = await streamed(way, server, awaited, most=2)
    assert recorded(context) == []
    assert reported(context) == []


@pytest.mark.parametrize("awaited", [False, True], ids=["waiting", "awaited"])
@pytest.mark.parametrize("way", ["chat", "responses", "messages", "messages.stream"])
async def test_a_stream_that_breaks_off_raises_and_is_not_recorded(way: str, awaited: bool) -> None:
    client_for, owner_of, ask, managed = WAYS[way]
    async with RehearsalServer(script(fault="cut")) as server:
        owner = owner_of(client_for(server, awaited))
        read = _read_later(ask(owner), managed, 1_000) if awaited else asyncio.to_thread(_read_now, ask, owner, 1_000)
        with pytest.raises(Exception, match=r"(?i)closed|incomplete|peer|read|connection"):
            await read
    assert recorded(owner.workbench.context) == []


@pytest.mark.parametrize("way", ["chat", "responses", "messages", "beta.messages.stream"])
async def test_the_next_request_finds_the_conversation_again(way: str) -> None:
    """The program repeats the answer in its own words; it is not in the context twice."""
    client_for, owner_of, ask, managed = WAYS[way]
    async with RehearsalServer(Script([{"reply": REPLY}, {"reply": "Again."}])) as server:
        owner = owner_of(client_for(server, True))
        await _read_later(ask(owner), managed, 1_000)
        first = owner.workbench.context
        again = [*SAID, {"role": "assistant", "content": REPLY}, {"role": "user", "content": "and now?"}]
        key = "input" if way == "responses" else "messages"
        kept = {"max_tokens": 500} if "messages" in way else {}
        await owner.create(model="gpt-4o", **{key: again}, **kept)
    assert owner.workbench.context is first
    assert [text for _, text in recorded(first)] == [REPLY, "Again."]
    assert all(item.state == "sent" for item in first.plan.items)


async def test_an_awaited_stream_of_litellm_is_recorded_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = import_litellm()
    planned = plan_litellm(window=16_000)
    for name in ("success_callback", "_async_success_callback"):  # a planner of another test would be found there
        monkeypatch.setattr(litellm, name, [])
    monkeypatch.setattr(litellm, "callbacks", [planned])
    given = {"model": "openai/gpt-4o", "api_key": "any", "messages": SAID, "stream": True, **COUNTED}
    async with RehearsalServer(Script([{"reply": REPLY}])) as server:
        async for _ in await litellm.acompletion(base_url=f"{server.url}/v1", **given):
            pass
        context = planned.workbench.context
        async with patiently():
            while not reported(context):  # the callback is called in a task of its own
                await asyncio.sleep(0.01)
    assert recorded(context) == [("message", REPLY)]
    assert len(reported(context)) == 1


async def test_a_stream_of_litellm_that_is_waited_for_is_recorded_at_once() -> None:
    import_litellm()
    planned = plan_litellm(window=16_000)
    given = {"model": "openai/gpt-4o", "api_key": "any", "messages": SAID, "stream": True, **COUNTED}
    async with RehearsalServer(Script([{"reply": REPLY}])) as server:
        made = await asyncio.to_thread(lambda: list(planned.completion(base_url=f"{server.url}/v1", **given)))
    assert made
    assert recorded(planned.workbench.context) == [("message", REPLY)]
    assert len(reported(planned.workbench.context)) == 1
