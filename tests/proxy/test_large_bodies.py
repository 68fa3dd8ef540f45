"""What is too large to be read passes as it is, is not recorded, and both the session and the user hear of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from proxy.test_server import ASK, WHOLE, proxy
from proxy.test_websockets import ASKED, DONE, HEAD, serving
from support.provider import Answer, Provider
from workbench.config.settings import Settings
from workbench.log.events import AssistantMessage, Failure, Request, RequestAnswer
from workbench.models.catalogue import Catalogue
from workbench.proxy.control import ProxyPolicy
from workbench.proxy.gate import Gate
from workbench.proxy.policies import PassingPolicies, setup_maker
from workbench.proxy.resending import ResentRequest, resend_request
from workbench.proxy.routes import Upstreams

LIMIT = 100_000
OVER = json.dumps({**ASK, "user": "x" * LIMIT}).encode()
JSON = "application/json"
FINE = Answer(body=WHOLE, content_type=JSON)


async def _post(url: str, client: aiohttp.ClientSession, body: Any, **headers: str) -> bytes:
    async with client.post(url, data=body, headers={"Content-Type": JSON, **headers}) as came:
        assert came.status == 200
        return await came.read()


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(OVER, ""), (zlib.compress(OVER), "deflate"), (gzip.compress(gzip.compress(OVER)), "gzip, gzip")],
    ids=["plain", "deflate", "gzip twice"],
)
async def test_a_request_over_the_limit_arrives_as_it_is_and_is_noted(
    body: bytes, encoding: str, tmp_path: Path
) -> None:
    told: list[str] = []
    headers = {"Content-Encoding": encoding} if encoding else {}
    async with Provider(FINE) as provider, proxy(tmp_path, provider.url, told, largest=LIMIT) as running:
        assert await _post(running.url, running.client, json.dumps(ASK)) == WHOLE
        for _ in range(2):
            assert await _post(running.url, running.client, body, **headers) == WHOLE
        bodies = await running.bodies()
        assert [each.raw for each in provider.requests][1:] == [body, body]
        assert provider.requests[1].headers.get("content-length") == str(len(body))
    assert len([each for each in bodies if isinstance(each, Request)]) == 1
    notes = [each.message for each in bodies if isinstance(each, Failure)]
    assert len(notes) == 2
    assert "a request was passed on and not recorded: it" in notes[0]
    assert len(told) == 1


async def test_a_request_without_a_length_is_passed_on_while_it_comes(tmp_path: Path) -> None:
    """The provider has the beginning before the client has said the end."""
    began, got = asyncio.Event(), bytearray()

    async def take(incoming: web.Request) -> web.Response:
        async for chunk in incoming.content.iter_any():
            got.extend(chunk)
            if len(got) > LIMIT:
                began.set()
        return web.Response(body=WHOLE, content_type=JSON)

    async def body() -> AsyncIterator[bytes]:
        yield b"x" * (2 * LIMIT)
        await began.wait()
        yield b"end"

    async with serving(take) as url, proxy(tmp_path, url, largest=LIMIT) as running:
        assert await _post(running.url, running.client, body()) == WHOLE
    assert bytes(got) == b"x" * (2 * LIMIT) + b"end"


@pytest.mark.parametrize("how", ["plain", "gzip", "stream"])
async def test_an_answer_over_the_limit_arrives_as_it_is_and_the_session_says_so(how: str, tmp_path: Path) -> None:
    said = gzip.compress(b"\0" * 2 * LIMIT) if how == "gzip" else b"data: {}\n\n" * (LIMIT // 5)
    kind = "text/event-stream" if how == "stream" else JSON
    answer = Answer(body=said, content_type=kind, headers={"Content-Encoding": "gzip"} if how == "gzip" else {})
    told: list[str] = []
    async with Provider(answer) as provider, proxy(tmp_path, provider.url, told, largest=LIMIT) as running:
        assert await _post(running.url, running.client, json.dumps(ASK)) == said
        bodies = await running.bodies()
    [came] = [each for each in bodies if isinstance(each, RequestAnswer)]
    assert came.problem.startswith("an answer was passed on and not recorded: it")
    assert not [each for each in bodies if isinstance(each, AssistantMessage)]
    assert len(told) == 1


async def test_no_breakpoint_and_no_policy_reads_what_is_too_large(tmp_path: Path) -> None:
    policies = PassingPolicies(setup_maker(Settings(), Catalogue()), 0, ProxyPolicy("layers"))
    body = zlib.compress(OVER)
    async with (
        Provider(FINE) as provider,
        proxy(tmp_path, provider.url, gate=Gate(["every"]), policies=policies, largest=LIMIT) as running,
    ):
        assert await _post(running.url, running.client, body, **{"Content-Encoding": "deflate"}) == WHOLE
        assert provider.requests[0].raw == body


async def test_a_replayed_answer_is_read_up_to_the_limit() -> None:
    for answer in (
        Answer(body=b"\0" * 2 * LIMIT, content_type=JSON),
        Answer(body=gzip.compress(b"\0" * 2 * LIMIT), content_type=JSON, headers={"Content-Encoding": "gzip"}),
    ):
        began = time.monotonic()
        async with Provider(answer) as provider:
            came = await resend_request(ResentRequest("chat", "m", dict(ASK), {}), Upstreams(provider.url), "k", LIMIT)
        assert came.body == {}
        assert "the answer is not read: it " in came.problem
        assert came.took is not None
        assert 0 <= came.took <= (time.monotonic() - began) * 1000 + 1


async def test_an_answer_on_a_websocket_is_kept_up_to_the_limit(tmp_path: Path) -> None:
    events = [{"type": "response.output_text.delta", "delta": "x" * 1000}] * (LIMIT // 500)
    last = {"type": "response.completed", "response": {"id": "r", "output": [DONE]}}

    async def flood(incoming: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(incoming)
        await socket.receive()
        for event in [*events, last]:
            await socket.send_str(json.dumps(event))
        await socket.receive()
        return socket

    told: list[str] = []
    async with serving(flood) as url, proxy(tmp_path, url, told, largest=LIMIT) as running:
        async with running.client.ws_connect(running.address + "/v1/responses") as socket:
            await socket.send_str(json.dumps({**HEAD, "input": [ASKED]}))
            got = [json.loads(await socket.receive_str()) for _ in range(len(events) + 1)]
        bodies = await running.bodies()
    assert got == [*events, last]
    [came] = [each for each in bodies if isinstance(each, RequestAnswer)]
    assert came.problem.startswith("an answer was passed on and not recorded")
    assert len(told) == 1


@pytest.mark.parametrize("side", ["client", "provider"])
async def test_a_message_over_the_limit_closes_the_socket_and_nothing_unpacks_it(side: str, tmp_path: Path) -> None:
    codes: list[int | None] = []

    async def large(incoming: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(incoming)
        if side == "provider":
            await socket.send_bytes(b"\0" * 2 * LIMIT)
        while (await socket.receive()).type is WSMsgType.BINARY:
            codes.append(0)
        codes.append(socket.close_code)
        return socket

    async with serving(large) as url, proxy(tmp_path, url, largest=LIMIT) as running:
        async with running.client.ws_connect(running.address + "/v1/responses", compress=15) as socket:
            assert not socket.compress
            if side == "client":
                await socket.send_bytes(b"\0" * 2 * LIMIT)
            message = await socket.receive()
        assert message.type is WSMsgType.CLOSE
        assert message.data == 1009
    assert codes == [1009] if side == "provider" else codes != [0]
