"""What a client sends arrives as it was sent, and what a provider answers too, whatever happens on the way."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import os
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import brotli  # type: ignore[import-untyped]
import psutil
import pytest
import zstandard
from aiohttp import web

from support.provider import Answer, Drop, Pause, Provider, Raw
from support.recorder_thread import in_thread
from support.waiting import GIVE_UP
from workbench.log.events import AssistantMessage, Failure, Request, RequestAnswer
from workbench.log.store import Store
from workbench.proxy.recorder import Recorder
from workbench.proxy.routes import Upstreams
from workbench.proxy.server import PassedRequest, ProxyServer
from workbench.proxy.sessions import ProxySessions

CHUNKS: list[Any] = [
    {"model": "m", "choices": [{"index": 0, "delta": {"content": text}}]} for text in ("one ", "two ", "three")
]
WHOLE = json.dumps({"model": "m", "choices": [{"message": {"role": "assistant", "content": "done"}}]}).encode()
ASK = {"model": "m", "messages": [{"role": "user", "content": "look"}]}


class Running:
    """A proxy before a provider, and the sessions that it records."""

    def __init__(self, server: ProxyServer, client: aiohttp.ClientSession, store: Store, recorder: Recorder) -> None:
        self.url = f"{server.address}/v1/chat/completions"
        self.address = server.address
        self.server = server
        self.client = client
        self.recorder = recorder
        self.store = store

    async def bodies(self) -> list[Any]:
        """The events of all sessions, when all is recorded."""
        await asyncio.to_thread(self.recorder.close, 120)
        return [event.body for info in self.store.list() for event in self.store.session(info.id).events()]


@asynccontextmanager
async def proxy(folder: Path, url: str, told: list[str] | None = None, **more: Any) -> AsyncIterator[Running]:
    with Store.open(folder / "proxy.db") as store:
        recorder = in_thread(ProxySessions(lambda: store), (told if told is not None else []).append)
        async with (
            ProxyServer(Upstreams(url), recorder, **more) as server,
            aiohttp.ClientSession(auto_decompress=False) as client,
        ):
            yield Running(server, client, store, recorder)
        recorder.close(120)


async def test_a_request_and_its_answer_pass_as_they_are(tmp_path: Path) -> None:
    body = b'{"messages": [ {"content":"l\\u00f6ok","role":"user"} ],\n "model":"m" }'
    headers = {"Authorization": "Bearer k", "X-Odd": "a b", "Content-Type": "application/json; charset=utf-8"}
    answer = Answer(body=WHOLE, content_type="application/json", headers={"X-Request-Id": "r1", "Set-Cookie": "a=1"})
    async with Provider(answer) as provider, proxy(tmp_path, provider.url) as running:
        async with running.client.post(f"{running.url}?beta=true&x=%2F", data=body, headers=headers) as came:
            assert await came.read() == WHOLE
            assert (came.status, came.headers["X-Request-Id"], came.headers["Set-Cookie"]) == (200, "r1", "a=1")
        got = provider.requests[0]
        assert got.raw == body
        assert {name: got.headers[name.lower()] for name in headers} == headers
        assert running.address.rpartition("/")[2] not in json.dumps(got.headers)


async def test_a_request_is_listed_without_its_query_which_may_hold_a_key(tmp_path: Path) -> None:
    listed: asyncio.Queue[PassedRequest] = asyncio.Queue()
    answer = Answer(body=WHOLE, content_type="application/json")
    async with Provider(answer) as provider, proxy(tmp_path, provider.url) as running:
        running.server.passed = listed.put_nowait
        async with running.client.post(f"{running.url}?key=secret", data=b"{}") as came:
            await came.read()
        found = await asyncio.wait_for(listed.get(), GIVE_UP)
    assert (found.method, found.path, found.status) == ("POST", "/v1/chat/completions", 200)
    assert running.server.requests == 1


async def test_headers_that_come_twice_arrive_twice_and_in_order(tmp_path: Path) -> None:
    heads: list[bytes] = []

    async def provider(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: a\r\nserver: b\r\nConnection: close\r\n\r\n{}"
        writer.write(answer)
        writer.close()

    own = [b"X-Goog-Api-Client: x/1", b"User-Agent: sdk/1", b"Accept: a", b"user-agent: agent/2", b"Accept: b"]
    async with await asyncio.start_server(provider, "127.0.0.1", 0) as upstream:
        port = upstream.sockets[0].getsockname()[1]
        async with proxy(tmp_path, f"http://127.0.0.1:{port}") as running:
            where = running.url.removeprefix("http://")
            host, _, path = where.partition("/")
            reader, writer = await asyncio.open_connection("127.0.0.1", int(host.rpartition(":")[2]))
            lines = [f"POST /{path} HTTP/1.1".encode(), b"Host: x", *own, b"Content-Length: 2", b"Connection: close"]
            writer.write(b"\r\n".join(lines) + b"\r\n\r\n{}")
            came = await reader.read()
            writer.close()
    assert came.split(b"\r\n")[0] == b"HTTP/1.1 200 OK"
    sent = [line for line in heads[0].split(b"\r\n") if line.lower().startswith((b"x-goog", b"user-agent", b"accept:"))]
    assert [line.lower() for line in sent] == [line.lower() for line in own]
    assert [line for line in came.split(b"\r\n") if line.lower().startswith(b"server")] == [b"Server: a", b"Server: b"]


async def test_a_stream_comes_as_it_goes(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with (
        Provider(Answer(steps=[CHUNKS[0], Pause(gate), *CHUNKS[1:]])) as provider,
        proxy(tmp_path, provider.url) as running,
        running.client.post(running.url, json={**ASK, "stream": True}) as came,
    ):
        first = await came.content.readuntil(b"\n\n")
        assert b"one " in first  # while the provider still holds back the rest
        gate.set()
        rest = await came.read()
        assert b"two " in rest
        assert b"[DONE]" in rest
        said = [body for body in await running.bodies() if isinstance(body, AssistantMessage)]
        assert [body.content for body in said] == ["one two three"]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("encoding", PACKED)
async def test_what_is_packed_passes_packed_and_is_read_all_the_same(tmp_path: Path, encoding: str) -> None:
    pack = PACKED[encoding]
    sent = pack(json.dumps(ASK).encode())
    answer = Answer(body=pack(WHOLE), content_type="application/json", headers={"Content-Encoding": encoding})
    async with Provider(answer) as provider, proxy(tmp_path, provider.url) as running:
        headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
        async with running.client.post(running.url, data=sent, headers=headers) as came:
            assert await came.read() == pack(WHOLE)
            assert came.headers["Content-Encoding"] == encoding
        assert provider.requests[0].raw == sent
        assert [body.content for body in await running.bodies() if isinstance(body, AssistantMessage)] == ["done"]


async def test_a_provider_that_breaks_off_breaks_off_for_the_client(tmp_path: Path) -> None:
    async with (
        Provider(Answer(steps=[*CHUNKS[:2], Drop()])) as provider,
        proxy(tmp_path, provider.url) as running,
        running.client.post(running.url, json={**ASK, "stream": True}) as came,
    ):
        with pytest.raises(aiohttp.ClientError):
            await came.read()
        bodies = await running.bodies()
        assert [(body.content, body.finish) for body in bodies if isinstance(body, AssistantMessage)] == [
            ("one two ", "broken")
        ]
        assert any(isinstance(body, Failure) for body in bodies)


async def test_a_client_that_goes_away_ends_the_request(tmp_path: Path) -> None:
    async with (
        Provider(Answer(steps=[CHUNKS[0], Pause(asyncio.Event())])) as provider,
        proxy(tmp_path, provider.url) as running,
    ):
        came = await running.client.post(running.url, json={**ASK, "stream": True})
        await came.content.readuntil(b"\n\n")
        came.close()
        await asyncio.wait_for(provider.gone.wait(), GIVE_UP)
        bodies = await running.bodies()
        assert [body.problem for body in bodies if isinstance(body, RequestAnswer)] == ["the client went away"]
        assert [body.finish for body in bodies if isinstance(body, AssistantMessage)] == ["cancelled"]


async def test_a_write_to_a_client_that_is_gone_is_not_the_providers_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = web.StreamResponse.write

    async with Provider(Answer(steps=CHUNKS)) as provider, proxy(tmp_path, provider.url) as running:
        token = running.address.rpartition("/")[2]

        async def write(self: web.StreamResponse, data: bytes) -> None:
            request = self._req
            if request is None or token not in request.path or request.transport is None:
                return await whole(self, data)
            request.transport.abort()
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")

        monkeypatch.setattr(web.StreamResponse, "write", write)
        with pytest.raises(aiohttp.ClientError):
            await (await running.client.post(running.url, json={**ASK, "stream": True})).read()
        monkeypatch.undo()
        bodies = await running.bodies()
        assert [body.problem for body in bodies if isinstance(body, RequestAnswer)] == ["the client went away"]


async def test_a_provider_that_hangs_hangs_and_holds_up_nobody_else(tmp_path: Path) -> None:
    hanging = Answer(silence=asyncio.Event())
    async with (
        Provider(hanging, Answer(body=WHOLE, content_type="application/json")) as provider,
        proxy(tmp_path, provider.url) as running,
    ):
        stuck = asyncio.create_task(running.client.post(running.url, json=ASK))
        await asyncio.wait_for(provider.arrived.wait(), GIVE_UP)
        async with running.client.post(running.url, json=ASK) as came:
            assert await came.read() == WHOLE
        assert not stuck.done()
        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)


async def test_errors_pass_with_all_they_say(tmp_path: Path) -> None:
    error = b'{"error": {"message": "slow down", "type": "rate_limit_error"}}'
    answer = Answer(status=429, headers={"Retry-After": "7"}, body=error, content_type="application/json")
    async with Provider(answer) as provider, proxy(tmp_path, provider.url) as running:
        async with running.client.post(running.url, json=ASK) as came:
            assert (came.status, came.headers["Retry-After"], await came.read()) == (429, "7", error)
        bodies = await running.bodies()
        assert [body.message for body in bodies if isinstance(body, Failure)] == ["HTTP 429: slow down"]


async def test_a_provider_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with Provider(Answer()) as provider:
        gone = provider.url
    async with (
        proxy(tmp_path, gone) as running,
        running.client.post(running.url, json=ASK) as came,
    ):
        assert came.status == 502
        said = (await came.json())["error"]["message"]
        assert f"{gone}/chat/completions cannot be reached" in said
        assert "ssl:" not in said, "a word of Python's"


async def test_without_the_token_nothing_passes(tmp_path: Path) -> None:
    async with Provider(Answer(body=WHOLE)) as provider, proxy(tmp_path, provider.url) as running:
        root, _, token = running.address.rpartition("/")
        for path in ("", "/", "/v1/chat/completions", f"/{token}x/v1", f"/x{token}/v1"):
            async with running.client.post(root + path, json=ASK) as came:
                assert came.status == 404
        assert provider.requests == []


async def test_thirty_megabytes_pass_in_both_directions(tmp_path: Path) -> None:
    large = json.dumps({**ASK, "messages": [{"role": "user", "content": "x" * 30_000_000}]}).encode()
    back = json.dumps({"choices": [{"message": {"role": "assistant", "content": "y" * 30_000_000}}]}).encode()
    answer = Answer(body=back, content_type="application/json")
    async with Provider(answer) as provider, proxy(tmp_path, provider.url) as running:
        async with running.client.post(running.url, data=large) as came:
            assert await came.read() == back
        assert provider.requests[0].raw == large


async def test_a_slow_reader_gets_all_of_it_and_the_proxy_holds_no_more_than_it_records(tmp_path: Path) -> None:
    pieces: list[Any] = [Raw(b"data: " + b"z" * 65_536 + b"\n\n") for _ in range(200)]
    async with (
        Provider(Answer(steps=pieces)) as provider,
        proxy(tmp_path, provider.url) as running,
        running.client.post(running.url, json={**ASK, "stream": True}) as came,
    ):
        got = bytearray()
        while chunk := await came.content.read(8_192):
            got += chunk
            if len(got) % 50 == 0:
                await asyncio.sleep(0)
        assert got.count(b"z") == 200 * 65_536


@pytest.mark.long
@pytest.mark.parametrize("count", [200, pytest.param(1_000, marks=pytest.mark.wide)])
async def test_many_requests_in_a_row_leave_nothing_behind(tmp_path: Path, count: int) -> None:
    process = psutil.Process(os.getpid())

    async def ask(running: Running, count: int) -> None:
        for _ in range(count):
            async with running.client.post(running.url, json=ASK) as came:
                assert await came.read() == WHOLE

    async with (
        Provider(Answer(body=WHOLE, content_type="application/json")) as provider,
        proxy(tmp_path, provider.url) as running,
    ):
        await ask(running, count // 10)
        gc.collect()
        files, tasks = process.num_fds(), len(asyncio.all_tasks())
        await ask(running, count - count // 10)
        assert len(provider.requests) == count
        assert process.num_fds() <= files + 5
        assert len(asyncio.all_tasks()) <= tasks + 5
        assert sum(isinstance(body, Request) for body in await running.bodies()) == count
        assert running.recorder.lost == 0


async def test_fifty_agents_at_once_do_not_wait_for_each_other(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with (
        Provider(Answer(steps=[CHUNKS[0], Pause(gate), CHUNKS[1]])) as provider,
        proxy(tmp_path, provider.url) as running,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client,
    ):
        begun = [await client.post(running.url, json={**ASK, "stream": True}) for _ in range(50)]
        for came in begun:
            assert b"one " in await came.content.readuntil(b"\n\n")  # all of them, while none is over
        gate.set()
        for came in begun:
            assert b"two " in await came.read()


async def test_a_recorder_that_fails_breaks_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    async with (
        Provider(Answer(body=WHOLE, content_type="application/json")) as provider,
        proxy(tmp_path, provider.url, told) as running,
    ):
        link: Any = running.recorder._link
        link._recording._sessions._store = lambda: 1 // 0
        for _ in range(3):
            async with running.client.post(running.url, json=ASK) as came:
                assert await came.read() == WHOLE
        await running.bodies()
        assert told == ["not recorded: ZeroDivisionError: integer division or modulo by zero"]
        assert running.recorder.lost >= 3


async def test_what_is_no_request_for_an_answer_passes_and_is_not_recorded(tmp_path: Path) -> None:
    async with (
        Provider(Answer(body=b'{"data": []}', content_type="application/json")) as provider,
        proxy(tmp_path, provider.url) as running,
    ):
        async with running.client.get(f"{running.address}/v1/models?limit=5") as came:
            assert await came.read() == b'{"data": []}'
        async with running.client.head(f"{running.address}/api/hello") as came:
            assert came.status == 200
        assert [received.path for received in provider.requests] == ["/v1/models", "/v1/api/hello"]
        assert await running.bodies() == []
