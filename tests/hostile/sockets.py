"""Frames of websockets that no library sends, to the proxy, to the rehearsal server, and from a provider to the proxy.

A fault: another agent gets no answer, a broken connection stays open, a message in fragments does not arrive, 300 MB
more than the ordinary size, files that are not given back, or a traceback on standard error.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import random
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp

from hostile.proxies import MOST, RunningProgram, running, started
from hostile.tally import Tally

MIB = 2**20
CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
REQUEST = json.dumps({"type": "response.create", "model": "gpt-5", "input": "hello"}).encode()
SECONDS = 40
"""After which an answer, or the end of a broken connection, is taken for lost."""


class Frames(NamedTuple):
    """What somebody sends."""

    sent: bytes
    ends: bool = False
    """Whether the other side has to end the connection."""


Maker = Callable[[random.Random, bool], Frames]


def frame(
    kind: int, body: bytes = b"", *, masked: bool = True, final: bool = True, bits: int = 0, size: int = -1
) -> bytes:
    """One frame; `size`: what its head says where that is not true."""
    size = len(body) if size < 0 else size
    first = (0x80 if final else 0) | bits << 4 | kind
    flag = 0x80 if masked else 0
    head = struct.pack("!BB", first, flag | size)[:2] if size < 126 else b""
    if 126 <= size < 65536:
        head = struct.pack("!BBH", first, flag | 126, size)
    elif size >= 65536:
        head = struct.pack("!BBQ", first, flag | 127, size)
    return head + (b"\0\0\0\0" if masked else b"") + body  # a mask of zeros leaves the body as it is


def in_fragments(chance: random.Random, masked: bool, body: bytes = REQUEST) -> bytes:
    """A message in pieces, some of them empty, with pings between them."""
    cuts = sorted(chance.randrange(len(body)) for _ in range(chance.randint(1, 20)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    sent = b""
    for number, piece in enumerate(pieces):
        kind, last = CONTINUED if number else TEXT, number == len(pieces) - 1
        sent += frame(kind, piece, masked=masked, final=last)
        if not last and chance.random() < 0.3:
            sent += frame(PING, b"here?", masked=masked)
    return sent


def no_utf8(chance: random.Random, masked: bool) -> Frames:
    bad = chance.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"a\x80b", b"\xc0\xaf"))
    return Frames(frame(TEXT, b'{"type": "' + bad, masked=masked), ends=True)


def reserved_bits(chance: random.Random, masked: bool) -> Frames:
    return Frames(frame(TEXT, REQUEST, masked=masked, bits=chance.choice((1, 2, 3, 6, 7))), ends=True)


def reserved_kind(chance: random.Random, masked: bool) -> Frames:
    return Frames(frame(chance.choice((3, 4, 7, 11, 15)), b"x", masked=masked), ends=True)


def long_ping(chance: random.Random, masked: bool) -> Frames:
    return Frames(frame(chance.choice((PING, PONG, CLOSE)), b"x" * 126, masked=masked), ends=True)


def ping_in_fragments(_: random.Random, masked: bool) -> Frames:
    return Frames(frame(PING, b"x", masked=masked, final=False), ends=True)


def continued_nothing(_: random.Random, masked: bool) -> Frames:
    return Frames(frame(CONTINUED, b"x", masked=masked), ends=True)


def two_at_once(_: random.Random, masked: bool) -> Frames:
    """A second message before the first is whole."""
    return Frames(frame(TEXT, b"a", masked=masked, final=False) + frame(TEXT, b"b", masked=masked), ends=True)


def huge_by_its_head(chance: random.Random, masked: bool) -> Frames:
    """It says that terabytes follow."""
    size = chance.choice((2**63 - 1, 2**62, 2**40, 200 * MIB))
    return Frames(frame(chance.choice((TEXT, BINARY)), b"x" * 10_000, masked=masked, size=size), ends=True)


def huge_in_fragments(_: random.Random, masked: bool) -> Frames:
    """More than a message may have, a MiB at a time."""
    piece = b"x" * MIB
    more = frame(CONTINUED, piece, masked=masked, final=False)
    return Frames(frame(TEXT, piece, masked=masked, final=False) + more * 80, ends=True)


def odd_close(chance: random.Random, masked: bool) -> Frames:
    body = chance.choice((b"\x03", b"\x00\x00", b"\x03\xed", b"\x03\xee", b"\xff\xff", b"\x03\xe8\xff\xfe", b""))
    return Frames(frame(CLOSE, body, masked=masked), ends=True)


def pings(chance: random.Random, masked: bool) -> Frames:
    return Frames(frame(PING, b"x" * 125, masked=masked) * chance.choice((1_000, 20_000)))


def empty_fragments(chance: random.Random, masked: bool) -> Frames:
    many = chance.choice((1_000, 50_000))
    return Frames(frame(TEXT, b"", masked=masked, final=False) + frame(CONTINUED, masked=masked, final=False) * many)


def cut(chance: random.Random, masked: bool) -> Frames:
    whole = frame(TEXT, REQUEST * 10, masked=masked)
    return Frames(whole[: chance.randrange(1, len(whole))])


def strange_texts(chance: random.Random, masked: bool) -> Frames:
    said = (
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"type":"response.create"}',
        b"[" * 100_000,
        b'{"type":"response.create","input":{}}',
    )
    return Frames(b"".join(frame(TEXT, each, masked=masked) for each in chance.choices(said, k=4)))


def noise(chance: random.Random, _: bool) -> Frames:
    return Frames(chance.randbytes(chance.randrange(1, 5_000)))


MAKERS: tuple[Maker, ...] = (
    no_utf8, reserved_bits, reserved_kind, long_ping, ping_in_fragments, continued_nothing, two_at_once,
    huge_by_its_head, odd_close, pings, empty_fragments, cut, strange_texts, noise, huge_in_fragments,
)  # fmt: skip


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: connections with frames of that kind."""
    tally = Tally("frames of websockets")
    asyncio.run(_attack(tally, tries, chance, folder))
    return tally


async def _attack(tally: Tally, tries: int, chance: random.Random, folder: Path) -> None:
    bad = Provider(chance)
    async with (
        running(folder / "rehearsal", "rehearse", "--port", "0") as rehearsal,
        started(folder / "proxy", f"{rehearsal.address}/v1") as proxy,
        bad.serving() as address,
        started(folder / "before", address) as before,
    ):
        servers = (rehearsal, proxy, before)
        for server in (rehearsal, proxy):
            await _honest(server, chance)
        files = [_files(server) for server in servers]
        for number in range(tries):
            server, maker = servers[number % 3], MAKERS[number // 3 % len(MAKERS)]
            with tally.watching(
                f"{maker.__name__} {('to the rehearsal server', 'to the proxy', 'by a provider')[number % 3]}"
            ):
                if server is before:
                    bad.maker = maker
                    await _ask_bad_provider(server)
                else:
                    await _visit(server, maker(chance, True))
                if number % 5 == 0:
                    await _honest(proxy, chance)
        tally.told = f"at most {max(server.grown for server in servers) // MIB} MB more"
        for server, many in zip(servers, files, strict=True):
            with tally.watching("what is left"):
                await _check(server, many)


def _files(server: RunningProgram) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


async def _check(server: RunningProgram, files: int) -> None:
    assert server.grown < MOST, f"it took {server.grown // MIB} MB more"
    async with asyncio.timeout(SECONDS):
        while _files(server) > files + 5:
            await asyncio.sleep(0.05)
    await server.stop()
    assert "Traceback" not in server.errors, server.errors[-500:]
    assert len(server.errors) < 20_000, f"{len(server.errors)} bytes on standard error"


# Agents


@asynccontextmanager
async def _connected(server: RunningProgram) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection that has become a websocket."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(
            f"GET {urlsplit(server.address).path}/v1/responses HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        async with asyncio.timeout(SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        assert b" 101 " in head, head
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _visit(server: RunningProgram, frames: Frames) -> None:
    async with _connected(server) as (reader, writer):
        with suppress(ConnectionError):  # it may be ended while it still sends
            async with asyncio.timeout(SECONDS):
                sending = asyncio.create_task(_send(writer, frames.sent))
                if frames.ends:
                    while await reader.read(65536):
                        pass
                await sending


async def _send(writer: asyncio.StreamWriter, sent: bytes) -> None:
    with suppress(ConnectionError):
        for at in range(0, len(sent), MIB):
            writer.write(sent[at : at + MIB])
            await writer.drain()


async def _honest(server: RunningProgram, chance: random.Random) -> None:
    """A request in fragments is answered."""
    async with _connected(server) as (reader, writer), asyncio.timeout(SECONDS):
        writer.write(in_fragments(chance, True))
        heard = b""
        while b"response.completed" not in heard:
            more = await reader.read(65536)
            assert more, f"the connection was closed: {heard[-200:]!r}"
            heard += more


# A provider


class Provider:
    """Answers each websocket with the frames of one maker."""

    def __init__(self, chance: random.Random) -> None:
        self.maker: Maker = noise
        self._chance = chance

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            key = next(
                line.split(b":")[1].strip()
                for line in head.splitlines()
                if line.lower().startswith(b"sec-websocket-key")
            )
            writer.write(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Accept: " + accepted(key) + b"\r\n\r\n"
            )
            await reader.read(65536)  # the request
            await _send(writer, self.maker(self._chance, False).sent)
        writer.close()


def accepted(key: bytes) -> bytes:
    """The answer to a websocket's key."""
    return base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())


async def _ask_bad_provider(server: RunningProgram) -> None:
    """Whatever the provider says, the agent's connection ends."""
    async with aiohttp.ClientSession() as client, asyncio.timeout(SECONDS):
        address = f"{server.address}/v1/responses"
        async with client.ws_connect(address, max_msg_size=0, autoping=True) as socket:
            await socket.send_str(REQUEST.decode())
            async for _ in socket:
                pass
