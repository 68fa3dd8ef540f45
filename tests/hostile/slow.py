"""Clients and providers that read or write a little and then nothing, at the proxy and at `serve`.

A fault: another client gets no answer meanwhile, 300 MB more than the ordinary size, SIGTERM that is not obeyed while
they are connected, files that are not given back, or a traceback on standard error.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from hostile.proxies import MOST, RunningProgram, provider, running, started
from hostile.tally import Tally

MIB = 2**20
SECONDS = 40
"""After which an answer is taken for lost."""
LARGE = 100 * MIB
"""Bytes of an answer that nobody reads."""
WHOLE = json.dumps({"model": "m", "choices": [{"message": {"role": "assistant", "content": "yes"}}]}).encode()
ASKED = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
EVENT = b'data: {"choices":[{"delta":{"content":"' + b"x" * 4_000 + b'"}}]}\n\n'


async def _answer(incoming: web.BaseRequest) -> web.StreamResponse:
    """As the request says: at once, far too much, or next to nothing."""
    how = incoming.headers.get("X-How", "")
    if how == "socket":
        return await _frames(incoming)
    await incoming.read()
    if not how:
        return web.Response(body=WHOLE, content_type="application/json")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(incoming)
    with suppress(ConnectionError):
        if how == "drips":
            await response.write(b"data: ")
            await asyncio.Event().wait()
        for _ in range(LARGE // len(EVENT)):
            await response.write(EVENT)
    return response


async def _frames(incoming: web.BaseRequest) -> web.WebSocketResponse:
    opened = web.WebSocketResponse()
    await opened.prepare(incoming)
    with suppress(ConnectionError):
        for _ in range(LARGE // len(EVENT)):
            await opened.send_bytes(EVENT)
    return opened


# Slow clients; each stays connected


class Client:
    """A connection with a small buffer, so that little waits on the way."""

    def __init__(self, server: RunningProgram) -> None:
        self._server = server
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self._socket.setblocking(False)
        parts = urlsplit(server.address)
        self.path, self.query = parts.path, parts.query

    async def say(self, text: str | bytes) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            await loop.sock_sendall(self._socket, text.encode() if isinstance(text, str) else text)

    async def connect(self) -> None:
        await asyncio.get_running_loop().sock_connect(self._socket, ("127.0.0.1", self._server.port))

    async def hear(self, size: int) -> bytes:
        async with asyncio.timeout(SECONDS):
            return await asyncio.get_running_loop().sock_recv(self._socket, size)

    def close(self) -> None:
        self._socket.close()


def _head(client: Client, how: str, size: int, *more: str) -> str:
    lines = (
        f"POST {client.path}/v1/chat/completions HTTP/1.1", "Host: x", f"X-How: {how}", f"Content-Length: {size}",
        "Content-Type: application/json", *more,
    )  # fmt: skip
    return "".join(f"{line}\r\n" for line in lines) + "\r\n"


def _upgrade(path: str, *more: str) -> str:
    lines = (
        f"GET {path} HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *more,
    )  # fmt: skip
    return "".join(f"{line}\r\n" for line in lines) + "\r\n"


async def reads_nothing(client: Client) -> None:
    await client.say(_head(client, "much", len(ASKED)).encode() + ASKED)


async def reads_a_little(client: Client) -> None:
    await reads_nothing(client)
    for _ in range(5):
        assert await client.hear(100)


async def writes_a_little(client: Client) -> None:
    await client.say(_head(client, "", 50 * MIB) + '{"model": "')


async def writes_half(client: Client) -> None:
    await client.say(_head(client, "", 40 * MIB))
    await asyncio.wait([asyncio.create_task(client.say(b"x" * 20 * MIB))], timeout=1)


async def writes_half_a_chunk(client: Client) -> None:
    head = _head(client, "", 0).replace("Content-Length: 0", "Transfer-Encoding: chunked")
    await client.say(head + "100000\r\n{")


async def gets_a_little(client: Client) -> None:
    """The provider is slow."""
    await client.say(_head(client, "drips", len(ASKED)).encode() + ASKED)


async def reads_no_frames(client: Client) -> None:
    await client.say(_upgrade(f"{client.path}/v1/realtime", "Host: x", "X-How: socket"))


AT_THE_PROXY: tuple[Callable[[Client], Awaitable[None]], ...] = (
    reads_nothing, reads_a_little, writes_a_little, writes_half, writes_half_a_chunk, gets_a_little, reads_no_frames,
)  # fmt: skip


async def sees_nothing(client: Client) -> None:
    """A tab that does not read what its screen draws, whatever it does."""
    await client.say(_upgrade(f"/ws?{client.query}&width=200&height=60", f"Host: 127.0.0.1:{client._server.port}"))
    assert b" 101 " in await client.hear(1_000)
    for number in range(200):
        text = json.dumps(["resize", {"width": 100 + number % 90, "height": 50}]).encode()
        await client.say(b"\x81" + bytes([0x80 | len(text)]) + bytes(4) + text)


async def asks_for_a_page_slowly(client: Client) -> None:
    await client.say(f"GET /?{client.query} HTTP/1.1\r\nHost: ")


async def sends_half_a_frame(client: Client) -> None:
    await client.say(_upgrade(f"/ws?{client.query}", f"Host: 127.0.0.1:{client._server.port}"))
    await client.hear(1_000)
    await client.say(b"\x81\xfe\x7f\xff" + bytes(4) + b"[")


AT_SERVE: tuple[Callable[[Client], Awaitable[None]], ...] = (asks_for_a_page_slowly, sends_half_a_frame, sees_nothing)


# The attack


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: slow connections; every tenth at `serve`, where each has a screen of its own."""
    tally = Tally("slow readers and writers")
    asyncio.run(_attack(tally, tries, folder))
    return tally


async def _attack(tally: Tally, tries: int, folder: Path) -> None:
    async with provider(_answer) as url, started(folder / "proxy", url) as proxy:
        most = await _crowd(tally, proxy, AT_THE_PROXY, tries - tries // 10, _ask)
    async with running(folder / "serve", "serve", "--port", "0") as serve:
        most = max(most, await _crowd(tally, serve, AT_SERVE, min(tries // 10, 12), _open_page))
    tally.told = f"at most {most // MIB} MB more"


async def _crowd(
    tally: Tally,
    server: RunningProgram,
    kinds: tuple[Callable[[Client], Awaitable[None]], ...],
    many: int,
    ask: Callable[[RunningProgram], Awaitable[None]],
) -> int:
    """Slow clients that stay, and one that asks among them; the bytes that the server took."""
    await ask(server)
    files = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    clients: list[Client] = []
    for number in range(many):
        kind = kinds[number % len(kinds)]
        with tally.watching(f"{kind.__name__} among {len(clients)}"):
            client = Client(server)
            clients.append(client)
            await client.connect()
            await kind(client)
            if number % 5 == 4 or number == many - 1:
                await ask(server)
                assert server.grown < MOST, f"it took {server.grown // MIB} MB more"
    with tally.watching("half of them leave"):
        for client in clients[::2]:
            client.close()
        async with asyncio.timeout(SECONDS):
            while len(os.listdir(f"/proc/{server.process.pid}/fd")) > files + len(clients) * 4:
                await asyncio.sleep(0.05)
        await ask(server)
    most = server.grown
    with tally.watching("SIGTERM while the others are connected"):
        await server.stop()
        assert "Traceback" not in server.errors, server.errors[-500:]
        assert len(server.errors) < 20_000, f"{len(server.errors)} bytes on standard error"
    for client in clients:
        client.close()
    return most


async def _ask(server: RunningProgram) -> None:
    async with asyncio.timeout(SECONDS), aiohttp.ClientSession() as client:
        headers = {"Content-Type": "application/json"}
        async with client.post(f"{server.address}/v1/chat/completions", data=ASKED, headers=headers) as came:
            assert await came.read() == WHOLE, came.status


async def _open_page(server: RunningProgram) -> None:
    async with asyncio.timeout(SECONDS), aiohttp.ClientSession() as client, client.get(server.address) as page:
        assert page.status == 200, page.status
