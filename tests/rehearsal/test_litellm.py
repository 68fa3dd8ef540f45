"""What litellm makes of the stand-in over HTTP, in both dialects.

All in one group, so that one process alone pays for the import.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": name, "parameters": SCHEMA}}
    for name in ("read_file", "list_files")
]
ASKED = [{"role": "user", "content": "read a.py and list src"}]
WAYS = ("openai", "anthropic")

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def litellm() -> Iterator[Any]:
    """The module itself, quiet and offline."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        patch.setenv("LITELLM_MODE", "PRODUCTION")
        import litellm

        litellm.suppress_debug_info = True
        yield litellm


class Way:
    """One way to the stand-in: a dialect over HTTP."""

    def __init__(self, litellm: Any, name: str) -> None:
        self.litellm = litellm
        self.name = name
        self.options: dict[str, Any] = {}

    async def __call__(self, *, stream: bool = True, messages: Any = None, **more: Any) -> Any:
        options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
        return await self.litellm.acompletion(
            model=f"{self.name}/rehearsal",
            messages=messages or ASKED,
            tools=TOOLS,
            max_retries=0,
            num_retries=0,
            **options,
            **self.options,
            **more,
        )


@pytest.fixture(params=WAYS)
async def playing(request: pytest.FixtureRequest, litellm: Any) -> AsyncIterator[Callable[[Script], Any]]:
    """Start the stand-in with a script; what comes back asks it."""
    servers = []

    async def start(script: Script) -> Way:
        way = Way(litellm, request.param)
        server = await RehearsalServer(script).__aenter__()
        servers.append(server)
        base = f"{server.url}/v1" if request.param == "openai" else server.url
        way.options = {"api_base": base, "api_key": "any"}
        return way

    yield start
    for server in servers:
        await server.__aexit__()


class Heard:
    """A stream, put together again."""

    def __init__(self) -> None:
        self.text = self.reasoning = ""
        self.calls: dict[int, list[str]] = {}
        self.finish: list[str] = []
        self.usage: Any = None
        self.received: str | None = None

    @classmethod
    async def of(cls, stream: Any) -> Heard:
        heard = cls()
        async for chunk in stream:
            heard.usage = getattr(chunk, "usage", None) or heard.usage
            for choice in chunk.choices:
                heard.text += choice.delta.content or ""
                heard.reasoning += getattr(choice.delta, "reasoning_content", None) or ""
                heard.finish += [choice.finish_reason] if choice.finish_reason else []
                for call in choice.delta.tool_calls or []:
                    known = heard.calls.setdefault(call.index, [call.id, call.function.name, ""])
                    known[2] += call.function.arguments or ""
        heard.received = stream.received_finish_reason
        return heard


FULL = {
    "reasoning": "I need two things.",
    "reply": "Looking.",
    "calls": [{"tool": "read_file", "arguments": {"path": "a.py"}}, {"tool": "list_files", "arguments": {"path": "ö"}}],
}


async def test_a_stream_brings_reasoning_text_parallel_calls_and_usage(playing: Ask) -> None:
    ask = await playing(Script([FULL], chunk=5))
    heard = await Heard.of(await ask())
    assert heard.reasoning == "I need two things."
    assert heard.text == "Looking."
    assert [(name, json.loads(given)) for _, name, given in heard.calls.values()] == [
        ("read_file", {"path": "a.py"}),
        ("list_files", {"path": "ö"}),
    ]
    assert len({call_id for call_id, _, _ in heard.calls.values()}) == 2
    assert heard.finish == ["tool_calls"]
    assert heard.received == "tool_calls"
    assert heard.usage.prompt_tokens > 50
    assert heard.usage.completion_tokens > 20


async def test_a_whole_answer_brings_the_same(playing: Ask) -> None:
    found = await (await playing(Script([FULL])))(stream=False)
    message = found.choices[0].message
    assert message.content == "Looking."
    assert message.reasoning_content == "I need two things."
    assert [call.function.name for call in message.tool_calls] == ["read_file", "list_files"]
    assert found.choices[0].finish_reason == "tool_calls"
    assert found.usage.total_tokens == found.usage.prompt_tokens + found.usage.completion_tokens > 70


async def test_a_conversation_goes_through_calls_and_results_to_an_answer(playing: Ask) -> None:
    ask = await playing(Script())
    heard = await Heard.of(await ask())
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": given}}
        for call_id, name, given in heard.calls.values()
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "first line\nsecond"} for call in calls]
    messages = [*ASKED, {"role": "assistant", "content": heard.text, "tool_calls": calls}, *results]
    answer = await Heard.of(await ask(messages=messages))
    assert answer.finish == ["stop"]
    assert "`read_file` a.py gave 2 lines" in answer.text
    assert "`list_files` src gave 2 lines" in answer.text


async def test_cached_and_reasoning_tokens_reach_the_usage(playing: Ask) -> None:
    ask = await playing(Script([{"reply": "ok"}, {"reasoning": "one two three", "reply": "ok"}]))
    messages = [{"role": "user", "content": "word " * 1000}]
    first = (await Heard.of(await ask(messages=messages))).usage
    second = (await Heard.of(await ask(messages=messages))).usage
    assert first.prompt_tokens == second.prompt_tokens
    assert (first.prompt_tokens_details.cached_tokens or 0) == 0
    assert second.prompt_tokens_details.cached_tokens >= 896
    assert second.completion_tokens_details.reasoning_tokens > 0


REFUSALS = {
    "status 401": "AuthenticationError",
    "status 404": "NotFoundError",
    "status 413": "BadRequestError",
    "status 429 wait 7": "RateLimitError",
    "status 500": "InternalServerError",
    "status 502": "BadGatewayError",
    "status 503": "ServiceUnavailableError",
    "context 4096": "ContextWindowExceededError",
    "policy": "ContentPolicyViolationError",
    "quota": "RateLimitError",
    "drop": "InternalServerError",
}


@pytest.mark.parametrize("fault", REFUSALS)
async def test_a_refusal_becomes_litellm_s_exception(playing: Ask, litellm: Any, fault: str) -> None:
    ask = await playing(Script([{"fault": fault}]))
    with pytest.raises(getattr(litellm, REFUSALS[fault])) as caught:
        await ask()
    if fault.startswith("context"):
        assert "4096" in str(caught.value)
        assert "4097" in str(caught.value)
    if "wait" in fault:
        assert caught.value.litellm_response_headers["retry-after"] == "7"


async def test_overload_has_its_own_status_in_each_way(playing: Ask, litellm: Any) -> None:
    ask = await playing(Script([{"fault": "status 529"}]))
    with pytest.raises((litellm.APIError, litellm.InternalServerError)) as caught:
        await ask()
    assert caught.value.status_code in (500, 529)


@pytest.mark.parametrize("fault", ["cut", "error"])
async def test_a_stream_that_breaks_raises_in_the_middle(playing: Ask, litellm: Any, fault: str) -> None:
    stream = await (await playing(Script([{"reply": "x" * 50, "fault": fault}], chunk=5)))()
    with pytest.raises(litellm.exceptions.MidStreamFallbackError):
        await Heard.of(stream)


@pytest.mark.parametrize("fault", ["no_finish", "html"])
async def test_litellm_invents_a_finish_but_says_that_it_received_none(playing: Ask, fault: str) -> None:
    heard = await Heard.of(await (await playing(Script([{"reply": "half", "fault": fault}])))())
    assert heard.finish == ["stop"]
    assert heard.received is None


@pytest.mark.parametrize(("fault", "finish"), [("length", "length"), ("refused", "content_filter")])
async def test_other_reasons_to_end_pass_through(playing: Ask, fault: str, finish: str) -> None:
    heard = await Heard.of(await (await playing(Script([{"reply": "some words", "fault": fault}])))())
    assert heard.finish == [finish]


@pytest.mark.parametrize("fault", ["silence", "stall", "mute"])
@pytest.mark.parametrize("name", ["openai", "anthropic"])
async def test_giving_up_a_silent_server_closes_the_connection(litellm: Any, name: str, fault: str) -> None:
    async with RehearsalServer(Script([{"reply": "x" * 50, "fault": fault}], chunk=5)) as server:
        way = Way(litellm, name)
        way.options = {"api_base": f"{server.url}/v1" if name == "openai" else server.url, "api_key": "any"}

        async def whole() -> Heard:
            return await Heard.of(await way())

        asking = asyncio.create_task(whole())
        recorded = await server.arrival()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await recorded.outcome == "gone"
