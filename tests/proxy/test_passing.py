"""How bytes pass: headers before the first chunk, large bodies while they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proxy.test_server import proxy
from support.provider import Answer, Pause, Provider
from workbench.log.events import Request, RequestAnswer

BEGIN, END = b'{"model": "m", "messages": [{"role": "user", "content": "', b'"}]}'


async def test_the_headers_of_an_answer_come_before_its_first_chunk(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with (
        Provider(Answer([Pause(gate)])) as provider,
        proxy(tmp_path, provider.url) as running,
        running.client.post(running.url, data=BEGIN + END) as came,
    ):
        assert came.status == 200
        gate.set()
        assert b"[DONE]" in await came.read()


@pytest.mark.parametrize("size", [10, 100_000, 300_000, 3_000_000])
@pytest.mark.parametrize("is_sized", [True, False])
async def test_a_body_of_any_size_arrives_whole_and_is_recorded(tmp_path: Path, size: int, is_sized: bool) -> None:
    body = BEGIN + b"x" * size + END

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), 70_000):
            yield body[at : at + 70_000]

    async with (
        Provider(Answer(body=b"{}", content_type="application/json")) as provider,
        proxy(tmp_path, provider.url) as running,
    ):
        async with running.client.post(running.url, data=body if is_sized else pieces()) as came:
            assert await came.read() == b"{}"
        assert provider.requests[0].raw == body
        found = [type(each) for each in await running.bodies() if isinstance(each, Request | RequestAnswer)]
        assert found == [Request, RequestAnswer]


async def test_a_large_body_is_passed_on_while_it_comes(tmp_path: Path) -> None:
    arrived, more = asyncio.Event(), asyncio.Event()

    async def provide(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(len(BEGIN))
        arrived.set()
        await reader.readuntil(END)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def body() -> AsyncIterator[bytes]:
        yield BEGIN
        await more.wait()
        yield b"x" * 500_000 + END

    server = await asyncio.start_server(provide, "127.0.0.1", 0, limit=2**20)
    async with server, proxy(tmp_path, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1") as running:
        length = {"Content-Length": str(len(BEGIN) + 500_000 + len(END))}
        asking = asyncio.create_task(running.client.post(running.url, data=body(), headers=length))
        await arrived.wait()
        more.set()
        async with await asking as came:
            assert await came.read() == b"{}"
