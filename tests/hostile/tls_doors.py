"""Attacks on the door of `proxy --tls`: lines that are no CONNECT, half handshakes, odd hosts, and clients that wait.

A fault: the agent gets no answer, a host that is not opened is not passed on untouched, a name that is none reaches the
next proxy, standard error fills up, or files or memory are not given back.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import aiohttp

from hostile.doors import SAID, WHOLE, answer_whole, end_crowd
from hostile.proxies import RunningProgram, provider, started
from hostile.tally import Tally

OPENED = "api.openai.com:443"
URL = f"https://{OPENED.partition(':')[0]}/v1/chat/completions"
PLAIN_NAME = re.compile(rb"CONNECT (?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]+\]):[1-9][0-9]{0,4} HTTP/1\.1\r\n")
HOSTS = (
    "", " ", ":443", "a", "a:", "a:0", "a:65536", "a:-1", "a:443:443", "a b:443", "a\tb:443", "é.example:443",
    "%61:443", "a@b:443", "a/b:443", "[::1:443", "[::1%eth0]:443", "[x]:443", "*.example:443", "a\0b:443", ".:443",
    "..:443", "a" * 300 + ":443", "a." * 126 + "a:443", "xn--.example:443", "API.OPENAI.COM.:443", "api.openai.com:80",
    "api.openai.com.evil.example:443", "127.0.0.1:443", "2130706433:443", "0x7f.1:443", "[::ffff:127.0.0.1]:443",
)  # fmt: skip
LINES = (
    "CONNECT", "CONNECT {}", "CONNECT {} HTTP/9.9", "connect {} HTTP/1.1", "CONNECT  {}  HTTP/1.1",
    "GET http://{}/ HTTP/1.1", "CONNECT https://{}/ HTTP/1.1", "\r\nCONNECT {} HTTP/1.1",
    "CONNECT {} HTTP/1.1\r\nContent-Length: 9", "\0 {} \x7f",
)  # fmt: skip
INSIDE = (
    b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
    b"",
    b"\x16\x03\x01",
    b"\x15\x03\x01\x00\x02\x02\x28",
    b"\0" * 9_000,
)
"""What is sent to an opened host instead of a handshake."""


class _TlsDoor(NamedTuple):
    """The door, and what a client with the token knows of it."""

    address: str
    token: str
    trust: ssl.SSLContext

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def head(self, line: str) -> bytes:
        return f"{line}\r\nProxy-Authorization: Basic {self.token}\r\n\r\n".encode()


class _NextProxy:
    """The proxy that the environment names. It sends back whatever it gets."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, asyncio.LimitOverrunError):
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while chunk := await reader.read(65_536):
                writer.write(chunk)
                await writer.drain()
        writer.close()


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("attacks on the door of proxy --tls")
    asyncio.run(_attack(tally, tries, chance, folder))
    return tally


async def _attack(tally: Tally, tries: int, chance: random.Random, folder: Path) -> None:
    other = _NextProxy()
    listening = await asyncio.start_server(other.serve, "127.0.0.1", 0)
    way = {"HTTPS_PROXY": f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"}
    async with (
        listening,
        provider(answer_whole) as url,
        aiohttp.ClientSession() as client,
        started(folder / "tls", url, "--tls", environment=way) as program,
    ):
        found = json.loads(program.first_line)["tls"]
        token = b64encode(f"x:{found['address'].split(':')[2].partition('@')[0]}".encode()).decode()
        door = _TlsDoor(found["address"], token, ssl.create_default_context(cafile=found["authority"]))
        await _crowd(tally, tries, chance, program, door, client)
    with tally.watching("what reached the next proxy"):
        assert other.heads, "nothing did"
        odd = [head for head in other.heads if not PLAIN_NAME.match(head)]
        assert not odd, odd[0][:200]


async def _crowd(
    tally: Tally,
    tries: int,
    chance: random.Random,
    program: RunningProgram,
    door: _TlsDoor,
    client: aiohttp.ClientSession,
) -> None:
    await _ask(door, client)
    before = len(os.listdir(f"/proc/{program.process.pid}/fd"))
    waiting: list[asyncio.StreamWriter] = []
    kinds: list[Callable[[], bytes]] = [
        lambda: chance.choice(SAID),
        lambda: door.head(chance.choice(LINES).replace("{}", chance.choice(HOSTS))),
        lambda: door.head(f"CONNECT {OPENED} HTTP/1.1") + chance.choice(INSIDE),
        lambda: door.head(f"CONNECT {OPENED} HTTP/1.1") + _hello(door)[: chance.randrange(300)],
        lambda: door.head(f"CONNECT {OPENED} HTTP/1.1")[: chance.randrange(60)],
        lambda: _hello(door),
    ]
    for number in range(tries):
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", door.port)
            writer.write(chance.choice(kinds)())
            if chance.random() < 0.3:
                writer.close()
            waiting.append(writer)
        if number % 25 == 24:
            with tally.watching("the agent in a crowd"):
                await _ask(door, client)
            with tally.watching("a host that is not opened"):
                await _pass_untouched(door, chance)
        else:
            tally.tries += 1
        if len(waiting) > 1_000:
            waiting.pop(0).close()
    with tally.watching("what is left of the crowd"):
        await end_crowd(program, waiting, before)


async def _ask(door: _TlsDoor, client: aiohttp.ClientSession) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "a question"}]}
    async with asyncio.timeout(60), client.post(URL, json=body, proxy=door.address, ssl=door.trust) as came:
        assert await came.read() == WHOLE, came.status


async def _pass_untouched(door: _TlsDoor, chance: random.Random) -> None:
    """Whatever is said to another host arrives there as it was said, and so does its answer."""
    async with _connected(door, "example.org:443") as (reader, writer):
        sent = _hello(door) if chance.random() < 0.3 else chance.randbytes(chance.randrange(1, 200_000))
        writer.write(sent)
        assert await reader.readexactly(len(sent)) == sent


@asynccontextmanager
async def _connected(door: _TlsDoor, host: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        try:
            writer.write(door.head(f"CONNECT {host} HTTP/1.1"))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            yield reader, writer
        finally:
            writer.close()


def _hello(door: _TlsDoor) -> bytes:
    """The first bytes of a handshake."""
    sent = ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        door.trust.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=OPENED.partition(":")[0]).do_handshake()
    return sent.read()
