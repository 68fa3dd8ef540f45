"""Every fault of a provider is one of the closed set, told without keys: over real HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
from functools import partial

import pytest

from support.provider import Answer, Drop, Pause, Provider, Raw, Step, piece, refusal, text
from support.waiting import GIVE_UP
from workbench.models.endpoints import Endpoint
from workbench.models.failures import Category, ModelFailure
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.reply_parts import ReplyPart, TextPiece

pytestmark = pytest.mark.xdist_group("litellm")

HELLO = {"model": "openai/m", "messages": [{"role": "user", "content": "hi"}]}
KEY = "sk-unit-0123456789abcdef"


@pytest.fixture(params=["through litellm", "without it"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A server that speaks OpenAI's dialect may be asked either way, and its faults are the same."""
    if request.param == "without it":
        monkeypatch.setitem(globals(), "Endpoint", partial(Endpoint, plain=True))
    return str(request.param)


async def failing(endpoint: Endpoint, patience: SilenceLimits | None = None) -> tuple[list[ReplyPart], ModelFailure]:
    """What came before the failure, and the failure."""
    parts: list[ReplyPart] = []
    try:
        async for part in Gateway(endpoint).stream(HELLO, patience=patience):
            parts.append(part)
    except ModelFailure as failure:
        return parts, failure
    raise AssertionError(f"no failure, but {parts}")


async def failure_of(answer: Answer) -> ModelFailure:
    async with Provider(answer) as provider:
        return (await failing(Endpoint(provider.url, KEY)))[1]


LIMIT = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."


@pytest.mark.parametrize(
    ("status", "message", "code", "category"),
    [
        (401, "Incorrect API key provided", "invalid_api_key", "authentication"),
        (403, "Not for this project", None, "authentication"),
        (404, "The model `m` does not exist", "model_not_found", "unknown_model"),
        (429, "Slow down", None, "rate_limit"),
        (429, "You exceeded your current quota", "insufficient_quota", "bad_request"),
        (402, "Insufficient credits", None, "bad_request"),
        (500, "Oops", None, "overloaded"),
        (502, "Bad gateway", None, "overloaded"),
        (503, "Busy", None, "overloaded"),
        (529, "Overloaded", None, "overloaded"),
        (408, "Too slow", None, "timeout"),
        (504, "Too slow", None, "timeout"),
        (400, LIMIT, "context_length_exceeded", "context_too_long"),
        (413, "Request too large", None, "context_too_long"),
        (400, "Rejected by our safety system", "content_policy_violation", "refused_content"),
        (400, "The prompt triggered the content management policy", "content_filter", "refused_content"),
        (400, "messages[1].role is wrong", None, "bad_request"),
        (422, "No such parameter", None, "bad_request"),
    ],
)
async def test_each_status_and_word_has_its_category(
    status: int, message: str, code: str | None, category: Category
) -> None:
    async with Provider(refusal(status, message, code=code)) as provider:
        parts, failure = await failing(Endpoint(provider.url, KEY))
        assert len(provider.requests) == 1  # litellm does not try again behind our back
    assert (parts, failure.category) == ([], category)
    assert failure.detail.rstrip(".") == message.rstrip(".")


async def test_the_wait_that_a_provider_names_is_kept() -> None:
    assert (await failure_of(refusal(429, "Slow down", {"retry-after": "7"}))).wait == 7
    assert (await failure_of(refusal(503, "Busy", {"retry-after-ms": "1500"}))).wait == 1.5
    assert (await failure_of(refusal(429, "Please try again in 1m30.5s."))).wait == 90.5
    assert (await failure_of(refusal(429, "Slow down"))).wait is None


async def test_the_sizes_that_a_provider_names_are_kept() -> None:
    failure = await failure_of(refusal(400, LIMIT))
    assert (failure.limit, failure.asked) == (8192, 9000)
    body = {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it"}}
    body["error"] |= {"type": "exceed_context_size_error", "n_prompt_tokens": 2003, "n_ctx": 1024}
    llama = Answer(status=400, body=json.dumps(body).encode(), content_type="application/json")
    failure = await failure_of(llama)
    assert (failure.category, failure.limit, failure.asked) == ("context_too_long", 1024, 2003)


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        assert (await failing(Endpoint(base, KEY)))[1].category == "connection"


async def test_a_connection_closed_without_an_answer() -> None:
    assert (await failure_of(Answer(before="close"))).category == "connection"


async def test_a_model_of_no_known_provider() -> None:
    with pytest.raises(ModelFailure) as caught:
        await anext(Gateway().stream({**HELLO, "model": "no-such-model"}))
    assert caught.value.category == "unknown_model"


async def test_no_key_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert (await failing(Gateway().endpoint))[1].category == "authentication"


BREAKS: dict[str, list[Step]] = {
    "dropped": [Drop()],
    "bad JSON": [Raw(b'data: {"choices\n\n')],
    "an error": [Raw(b'data: {"error": {"message": "it fell over", "code": 500}}\n\n')],
    "no finish reason": [],
    "finished by an error": [piece({}, "error")],
}


@pytest.mark.parametrize("steps", BREAKS.values(), ids=BREAKS.keys())
@pytest.mark.parametrize("done", [True, False])
async def test_a_stream_that_breaks_keeps_what_came(steps: list[Step], done: bool) -> None:
    async with Provider(Answer([*text("so", " far"), *steps], done=done)) as provider:
        parts, failure = await failing(Endpoint(provider.url, KEY))
    assert "".join(part.text for part in parts if isinstance(part, TextPiece)) == "so far"
    assert failure.category == "broken_stream"


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        (b"<html><body>Please log in</body></html>", "text/html; charset=utf-8", "a web page"),
        (b'{"status": "ok"}', "application/json", "a single JSON document"),
        (b"", "text/event-stream", "without a finish reason"),
    ],
)
async def test_a_page_with_status_200_is_no_answer(body: bytes, kind: str, says: str) -> None:
    failure = await failure_of(Answer(body=body, content_type=kind))
    assert failure.category == "broken_stream"
    assert says in failure.detail


async def test_a_limit_met_in_mid_stream_is_told_as_one() -> None:
    error = b'data: {"error": {"message": "Rate limit reached, try again in 2s", "code": 429}}\n\n'
    failure = await failure_of(Answer([*text("so"), Raw(error)]))
    assert (failure.category, failure.wait) == ("rate_limit", 2)


HEARTBEATS = {
    "silence": b"",
    "comments": b": keep-alive\n\n",
    "empty chunks": b"data: " + json.dumps(piece()).encode() + b"\n\n",
}


@pytest.mark.parametrize("heartbeat", HEARTBEATS.values(), ids=HEARTBEATS.keys())
async def test_silence_before_the_first_token_ends(heartbeat: bytes) -> None:
    async with Provider(Answer([Pause(asyncio.Event(), heartbeat)])) as provider:
        parts, failure = await failing(Endpoint(provider.url, KEY), SilenceLimits(first=0.3, between=60))
        await asyncio.wait_for(provider.gone.wait(), GIVE_UP)
    assert (parts, failure.category) == ([], "timeout")
    assert "no answer began within 0.3 seconds" in failure.detail


async def test_silence_before_the_headers_ends() -> None:
    async with Provider(Answer(silence=asyncio.Event())) as provider:
        _, failure = await failing(Endpoint(provider.url, KEY), SilenceLimits(first=0.3, between=60))
    assert failure.category == "timeout"


@pytest.mark.parametrize("heartbeat", HEARTBEATS.values(), ids=HEARTBEATS.keys())
async def test_silence_in_mid_stream_ends_and_keeps_what_came(heartbeat: bytes) -> None:
    async with Provider(Answer([*text("so"), Pause(asyncio.Event(), heartbeat)])) as provider:
        parts, failure = await failing(Endpoint(provider.url, KEY), SilenceLimits(first=60, between=1))
        await asyncio.wait_for(provider.gone.wait(), GIVE_UP)
    assert (parts, failure.category) == ([TextPiece("so")], "timeout")
    assert "nothing more came within 1 seconds" in failure.detail


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
async def test_a_key_that_the_provider_repeats_is_not_passed_on(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "zq7-very-private-8842"
    monkeypatch.setenv("SOME_SERVICE_TOKEN", other)
    failure = await failure_of(refusal(status, f"Wrong key {KEY}, or {other}, or Bearer {KEY}", code=KEY))
    for hidden in (KEY, other):
        assert hidden not in str(failure)
        assert hidden not in repr(failure)
        assert hidden not in repr(vars(failure))
    assert failure.__context__ is None or KEY not in repr(failure.__context__)
    assert KEY not in repr(Endpoint("http://x", KEY))


@pytest.mark.parametrize("mistake", [ValueError("a bug"), RecursionError(), UnicodeError()])
async def test_a_mistake_in_the_diagnosis_ends_the_request_too(
    monkeypatch: pytest.MonkeyPatch, mistake: Exception
) -> None:
    def wrong(*_: object) -> ModelFailure:
        raise mistake

    monkeypatch.setattr("workbench.models.gateway.diagnose", wrong)
    failure = await asyncio.wait_for(failure_of(refusal(500, "Oops")), GIVE_UP)
    assert failure.category == "bad_request"
    assert type(mistake).__name__ in failure.detail


async def test_whatever_is_thrown_inside_the_request_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As a library in Rust throws it."""

    def panics(*_: object) -> None:
        raise Panic("no")

    monkeypatch.setattr("workbench.models.gateway.ChunkReader.parts", panics)
    failure = await asyncio.wait_for(failure_of(Answer(text("so"))), GIVE_UP)
    assert "no" in failure.detail
