"""What a provider streams arrives as parts, and what a caller sends arrives at the provider: over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest

from support.provider import Answer, Pause, Provider, piece, text, usage
from support.requirements import requirement
from workbench.models.endpoints import NO_KEY, Endpoint
from workbench.models.failures import ModelFailure
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.reply_parts import CallPiece, ReplyFinished, ReplyPart, ReportedUsage, TextPiece, ThinkingPiece

pytestmark = pytest.mark.xdist_group("litellm")

HELLO = {"model": "openai/m", "messages": [{"role": "user", "content": "hi"}]}
SOON = 60.0
"""Seconds after which what should happen at once did not happen."""


@pytest.fixture(params=["through litellm", "without it"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A server that speaks OpenAI's dialect may be asked either way, and what it says is the same."""
    if request.param == "without it":
        monkeypatch.setitem(globals(), "Endpoint", partial(Endpoint, plain=True))
    return str(request.param)


async def answers(provider: Provider, request: dict[str, object] | None = None) -> list[ReplyPart]:
    """All parts of one answer."""
    return [part async for part in Gateway(Endpoint(provider.url)).stream(request or HELLO)]


def said(parts: list[ReplyPart]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextPiece))


def calls(parts: list[ReplyPart]) -> dict[int, tuple[str, str, str]]:
    """The calls put together: number to id, name and arguments."""
    found: dict[int, tuple[str, str, str]] = {}
    for part in parts:
        if isinstance(part, CallPiece):
            call_id, name, arguments = found.get(part.number, ("", "", ""))
            found[part.number] = (call_id + part.call_id, name + part.name, arguments + part.arguments)
    return found


@requirement("confirm", "counting", "prompt and completion tokens that the provider reports are kept after each call")
async def test_text_and_usage_with_what_was_cached_and_written_and_thought() -> None:
    cost = usage(
        100,
        20,
        prompt_tokens_details={"cached_tokens": 64},
        completion_tokens_details={"reasoning_tokens": 7},
        cache_creation_input_tokens=32,
    )
    async with Provider(Answer([*text("Hel", "lo ", "<s>"), piece({}, "stop"), cost])) as provider:
        parts = await answers(provider)
    assert said(parts) == "Hello <s>"
    assert parts[-2:] == [ReportedUsage(100, 20, cached=64, cache_write=32, reasoning=7), ReplyFinished("stop")]


async def test_usage_that_the_provider_does_not_send_is_not_made_up() -> None:
    async with Provider(Answer([*text("Hello"), piece({}, "stop")])) as provider:
        assert await answers(provider) == [TextPiece("Hello"), ReplyFinished("stop")]


async def test_a_model_may_say_the_same_thing_for_as_long_as_it_likes() -> None:
    async with Provider(Answer([*text(*["again "] * 300), piece({}, "length")])) as provider:
        parts = await answers(provider)
    assert said(parts) == "again " * 300
    assert parts[-1] == ReplyFinished("length")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_thinking_is_told_apart_from_the_answer(name: str) -> None:
    steps = [piece({name: "let me "}), piece({name: "see"}), piece({"content": "42"}), piece({}, "stop")]
    async with Provider(Answer(steps)) as provider:
        parts = await answers(provider)
    assert "".join(part.text for part in parts if isinstance(part, ThinkingPiece)) == "let me see"
    assert said(parts) == "42"


async def test_parallel_calls_in_fragments_are_put_together() -> None:
    def call(index: int, call_id: str | None = None, name: str | None = None, arguments: str = "") -> dict[str, object]:
        head = {"id": call_id, "type": "function"} if call_id else {}
        function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
        return {"index": index, "function": function, **head}

    steps = [
        piece({"role": "assistant", "content": None, "tool_calls": [call(0, "a1", "read_file")]}),
        piece({"tool_calls": [call(0, arguments='{"path": "')]}),
        piece({"tool_calls": [call(1, "b2", "run", '{"command"')]}),
        piece({"tool_calls": [call(0, arguments='x.py"}'), call(1, arguments=': "ls"}')]}),
        piece({}, "tool_calls"),
    ]
    async with Provider(Answer(steps)) as provider:
        parts = await answers(provider)
    assert calls(parts) == {0: ("a1", "read_file", '{"path": "x.py"}'), 1: ("b2", "run", '{"command": "ls"}')}
    assert parts[-1] == ReplyFinished("tool_calls")


@pytest.mark.parametrize(
    ("word", "reason"), [("stop", "stop"), ("length", "length"), ("content_filter", "refused"), ("eos", "stop")]
)
async def test_why_an_answer_ended(word: str, reason: str) -> None:
    async with Provider(Answer([*text("so"), piece({}, word)])) as provider:
        assert (await answers(provider))[-1] == ReplyFinished(reason)  # type: ignore[arg-type]  # one of the closed set


async def test_a_finish_reason_on_the_last_piece_of_text_is_seen() -> None:
    async with Provider(Answer([*text("so"), piece({"content": "!"}, "length")])) as provider:
        parts = await answers(provider)
    assert said(parts) == "so!"
    assert parts[-1] == ReplyFinished("length")


async def test_the_request_arrives_byte_for_byte(way: str) -> None:
    awkward = 'tabs\t, \x00 null, ünïcödé, 日本語 🙂, \u2028, \\ and "quotes", </s> <|im_end|>, trailing blank \n'
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": awkward},
        {"role": "user", "content": [{"type": "text", "text": awkward}], "name": "me"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":  1 }'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": awkward},
        {"role": "user", "content": ""},
    ]
    request = {"model": "openai/org/m", "messages": messages, "tools": [tool], "max_tokens": 77}
    before = json.loads(json.dumps(request))
    async with Provider(Answer([*text("ok"), piece({}, "stop")])) as provider:
        await answers(provider, request)
        body = provider.requests[0].body
    assert request == before
    if way == "through litellm":
        del messages[2]["content"]  # it leaves out a null, which says the same
    assert json.dumps(body["messages"]) == json.dumps(messages)
    assert json.dumps(body["tools"]) == json.dumps([tool])
    name = "org/m" if way == "through litellm" else "openai/org/m"
    assert (body["model"], body["max_tokens"], body["stream"]) == (name, 77, True)
    assert body["stream_options"] == {"include_usage": True}
    assert set(body) == {"model", "messages", "tools", "max_tokens", "stream", "stream_options"}


@pytest.mark.parametrize("model", ["m", "someone/m", "gpt-4o"])
async def test_a_server_of_ones_own_is_spoken_to_in_openais_dialect(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with Provider(Answer([*text("ok"), piece({}, "stop")])) as provider:
        await answers(provider, {**HELLO, "model": model})
        assert provider.requests[0].body["model"] == model
        assert provider.requests[0].path == "/v1/chat/completions"


async def test_the_key_of_the_environment_is_sent_and_that_of_the_endpoint_wins(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    async with Provider(Answer([*text("ok"), piece({}, "stop")])) as provider:
        await answers(provider)
        async for _ in Gateway(Endpoint(provider.url, "from-the-endpoint", "openai")).stream(HELLO):
            pass
        sent = [request.headers["authorization"] for request in provider.requests]
    # What litellm does not ask is on this machine, and gets no key of the user's.
    own = "from-the-environment" if way == "through litellm" else NO_KEY
    assert sent == [f"Bearer {own}", "Bearer from-the-endpoint"]


async def first_part(stream: AsyncIterator[ReplyPart]) -> None:
    assert await anext(stream) == TextPiece("wait")


@pytest.fixture
async def waiting() -> AsyncIterator[Provider]:
    """A provider that says a word and then nothing."""
    async with Provider(Answer([*text("wait"), Pause(asyncio.Event())])) as provider:
        yield provider


async def test_closing_the_stream_closes_the_connection(waiting: Provider) -> None:
    async with aclosing(Gateway(Endpoint(waiting.url)).stream(HELLO)) as stream:
        await first_part(stream)
    await asyncio.wait_for(waiting.gone.wait(), SOON)


async def test_leaving_the_loop_closes_the_connection(waiting: Provider) -> None:
    async for part in Gateway(Endpoint(waiting.url)).stream(HELLO):
        assert part == TextPiece("wait")
        break
    await asyncio.wait_for(waiting.gone.wait(), SOON)


async def test_cancelling_the_reader_closes_the_connection(waiting: Provider) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in Gateway(Endpoint(waiting.url)).stream(HELLO):
            begun.set()

    reader = asyncio.ensure_future(read())
    await asyncio.wait_for(begun.wait(), SOON)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    await asyncio.wait_for(waiting.gone.wait(), SOON)


async def test_cancelling_before_the_first_token_closes_the_connection() -> None:
    async with Provider(Answer(silence=asyncio.Event())) as provider:
        reader = asyncio.ensure_future(answers(provider))
        await asyncio.wait_for(provider.arrived.wait(), SOON)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        await asyncio.wait_for(provider.gone.wait(), SOON)


async def test_closing_the_gateway_closes_its_connections_and_tells_who_reads(waiting: Provider) -> None:
    gateway = Gateway(Endpoint(waiting.url))
    stream = gateway.stream(HELLO)
    await first_part(stream)
    rest = asyncio.ensure_future(anext(stream))
    await gateway.close()
    with pytest.raises(ModelFailure, match="the connection was closed"):
        await asyncio.wait_for(rest, SOON)
    await asyncio.wait_for(waiting.gone.wait(), SOON)


async def test_several_streams_run_side_by_side() -> None:
    gate = asyncio.Event()
    slow = Answer([*text("slow"), Pause(gate), piece({}, "stop")])
    async with Provider(slow, Answer([*text("quick"), piece({}, "stop")])) as provider:
        gateway = Gateway(Endpoint(provider.url))
        waiting = gateway.stream(HELLO)
        assert await anext(waiting) == TextPiece("slow")
        assert said([part async for part in gateway.stream(HELLO)]) == "quick"
        gate.set()
        assert [part async for part in waiting] == [ReplyFinished("stop")]


async def test_usage_that_never_comes_does_not_hold_up_a_whole_answer() -> None:
    steps = [*text("whole"), piece({}, "stop"), Pause(asyncio.Event())]
    async with Provider(Answer(steps)) as provider:
        stream = Gateway(Endpoint(provider.url)).stream(HELLO, patience=SilenceLimits(first=60, between=1))
        assert [part async for part in stream] == [TextPiece("whole"), ReplyFinished("stop")]
