"""Bodies that are small on the wire and large in memory, endless answers, and answers that make no sense.

A fault: a byte that arrives changed, an agent that gets no answer, more than 300 MB beyond the proxy's ordinary size, a
SIGTERM that is not obeyed, or a traceback on standard error.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import aiohttp
import brotli  # type: ignore[import-untyped]
import zstandard
from aiohttp import web

from hostile.proxies import MOST, provider, started
from hostile.tally import Tally

MIB = 2**20
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, 1),
    "deflate": lambda body: zlib.compress(body, 1),
    "br": lambda body: bytes(brotli.compress(body, quality=1)),
    "zstd": zstandard.ZstdCompressor().compress,
}
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/g:streamGenerateContent?alt=sse")
CONTENTS: dict[str, Callable[[int], bytes]] = {
    "zeros": lambda size: b"\0" * size,
    "text": lambda size: b'{"model":"m","messages":[{"role":"user","content":"' + b"a" * size + b'"}]}',
    "lists": lambda size: b'{"model":"m","messages":[' + b"[]," * (size // 3) + b"1]}",
    "deep": lambda size: b'{"model":"m","messages":' + b"[" * size,
    "events": lambda size: b"data: {}\n\n" * (size // 10),
    "objects": lambda size: b'{"model":"m","messages":[' + b'{"a":{}},' * (size // 9) + b"1]}",
}
NONSENSE = (
    b"", b"data: {", b"data: [1,2]\n\ndata: null\n\n", b"\xff\xfe\x00",
    b'event: error\ndata: {"error":{"code":500}}\n\n',
    b'data: {"candidates":[{"content":{"parts":[{"text":1}]}}]}\n\ndata: {"candidates":5}\n\n', b"[{},{},",
    b'data: {"type":"response.failed","response":{"error":{"message":"x"}}}\n\n', b"<html>502</html>", b'"text"',
    b'data: {"choices":[{"delta":{"tool_calls":["x",{"index":[]}]}}]}\n\n', b'data: {"type":"content_block_delta"}\n\n',
)  # fmt: skip
KINDS = ("application/json", "text/event-stream", "text/html", "", "application/json; charset=utf-16")


@cache
def packed_body(content: str, names: tuple[str, ...], size: int) -> bytes:
    body = CONTENTS[content](size)
    for name in names:
        body = PACK[name](body)
    return body


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("bodies through the proxy")
    asyncio.run(_attack(tally, tries, chance, folder))
    return tally


async def _attack(tally: Tally, tries: int, chance: random.Random, folder: Path) -> None:
    answers: dict[str, tuple[bytes, dict[str, str]]] = {}
    got: dict[str, bytes] = {}

    async def answer(incoming: web.BaseRequest) -> web.StreamResponse:
        name = incoming.headers["X-Try"]
        size, check = 0, 0
        async for chunk in incoming.content.iter_any():
            size, check = size + len(chunk), zlib.crc32(chunk, check)
        got[name] = f"{size} {check}".encode()
        body, headers = answers[name]
        return web.Response(body=body, headers=headers)

    large = 1024 if tries >= 100 else 70
    most = 0
    async with provider(answer) as url, aiohttp.ClientSession(auto_decompress=False) as client:
        for options in ((), ("--policy", "layers")):
            async with started(folder / (options[-1] if options else "plain"), url, *options) as program:
                for number in range(tries // 2):
                    name, path = str(number), chance.choice(PATHS)
                    content = chance.choice([*CONTENTS])
                    names = tuple(chance.choices([*PACK], k=chance.choice((0, 1, 1, 1, 2))))
                    size = chance.choice((1000, MIB, large * MIB if names and content != "deep" else 60 * MIB))
                    body = (
                        packed_body(content, names, size) if chance.random() < 0.6 else b'{"model":"m","messages":[]}'
                    )
                    headers = {"X-Try": name, "Content-Type": "application/json"}
                    if len(body) > 100:
                        headers["Content-Encoding"] = ", ".join(names)
                    said, told = chance.choice(NONSENSE), {"Content-Type": chance.choice(KINDS)}
                    if chance.random() < 0.4:
                        packed = (chance.choice([*PACK]),)
                        said = packed_body(chance.choice([*CONTENTS]), packed, chance.choice((MIB, large * MIB)))
                        told["Content-Encoding"] = packed[0]
                    answers[name] = said, {key: value for key, value in told.items() if value}
                    with tally.watching(f"{path} {content} {names} {size}, answered {len(said)} {told}"):
                        async with asyncio.timeout(50):
                            async with client.post(program.address + path, data=body, headers=headers) as came:
                                assert await came.read() == said, "the answer arrived changed"
                        sent = f"{len(body)} {zlib.crc32(body)}".encode()
                        assert got.pop(name) == sent, "the request arrived changed"
                        assert program.grown < MOST, f"it took {program.grown // MIB} MB more"
                    packed_body.cache_clear()
                most = max(most, program.grown)
                with tally.watching("SIGTERM"):
                    await program.stop()
                    assert "Traceback" not in program.errors, program.errors[-500:]
                    assert len(program.errors) < 10_000, f"{len(program.errors)} bytes on standard error"
    tally.told = f"at most {most // MIB} MB more"
