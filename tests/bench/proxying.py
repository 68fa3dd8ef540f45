"""The proxy beside a bare forwarder of aiohttp, each in a process of its own, before the same provider.

As a command: `bench.proxying provider CHUNKS`, `bare URL` or `ours URL FOLDER`; its first line is the address.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import aiohttp
import psutil
from aiohttp import web

from bench import children
from bench.harness import Rounds, Row, Scale, Target, beside, wall

PEER = "bare forwarder"
REQUESTS = (
    ("5 KB in a row", 5_000, 0.0),
    ("50 KB in a row", 50_000, 0.0),
    ("500 KB in a row", 500_000, 0.0),
    ("500 KB, 20 ms apart", 500_000, 0.02),
)
"""What they are called, their bytes, and the pause between them, in which the last one is recorded."""
FIRST_BYTE = 0.003
"""Seconds by which the first byte may come later."""
STREAM_SHARE = 1.1
"""What a long stream may cost, by what it costs the bare forwarder."""
_NUMBERS = count(1)
IDLE = 0.001
"""Seconds of the processor that a process uses at most in a twentieth of a second when it has nothing to do."""
AGENTS = 50
ROUNDS = 20
"""Requests in a row."""


class _Child(NamedTuple):
    url: str
    process: psutil.Process

    def seconds(self) -> float:
        """Of the processor, since it began."""
        if psutil.LINUX:  # as clock_getcpuclockid(3) names it: psutil counts in hundredths
            return time.clock_gettime((~self.process.pid << 3) | 2)
        used = self.process.cpu_times()
        return float(used.user + used.system)

    async def settled(self) -> None:
        """Wait until it has nothing more to do."""
        before = -1.0
        while (now := self.seconds()) - before > IDLE:
            before = now
            await asyncio.sleep(0.05)


def run(scale: Scale) -> Iterator[Row]:
    """The first byte, a long stream, and many agents at once."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _child("provider", str(scale.chunks)) as provider,
        _child("bare", provider.url) as bare,
        _child("ours", provider.url, folder) as ours,
    ):
        yield from asyncio.run(_first_bytes(scale, provider, bare, ours))
        yield asyncio.run(_stream(scale, bare, ours))
        yield asyncio.run(_many(scale, bare, ours))


async def _first_bytes(scale: Scale, provider: _Child, bare: _Child, ours: _Child) -> list[Row]:
    found = []
    async with aiohttp.ClientSession() as client:
        for name, size, pause in REQUESTS:
            added: dict[str, list[float]] = {bare.url: [], ours.url: []}
            for number in range(scale.repeats + 1):
                direct = await _asked(client, provider, size, pause)
                for each in (bare, ours):
                    taken = await _asked(client, each, size, pause)
                    if number:
                        added[each.url].append(taken - direct)
            mine, others = (max(median(added[each.url]), 1e-6) for each in (ours, bare))
            target = Target("at most", FIRST_BYTE, "ours")
            found.append(Row(f"added to the first byte, {name}", mine, "s", others, PEER, mine / others, target))
    return found


async def _asked(client: aiohttp.ClientSession, child: _Child, size: int, pause: float) -> float:
    """How long the first byte takes when a conversation goes on, request by request; the median of them."""
    talk, taken = _Talk(size), []
    for number in range(ROUNDS + 1):
        body = talk.next_request()
        began = wall()
        async with client.post(f"{child.url}/v1/chat/completions", data=body) as came:
            await came.content.readany()
            taken.append(wall() - began)
            await came.read()
        if not number:
            await child.settled()  # a conversation that is new has to be recorded as a whole
        await asyncio.sleep(pause)
    await child.settled()  # what it still has to record is not to slow down the others
    return median(taken[1:])


class _Talk:
    """A conversation of its own with results of tools; its requests are as large as wanted, or a little larger."""

    def __init__(self, size: int) -> None:
        words = f"You work in repository {next(_NUMBERS)}. Look before you write. "
        prompt = {"role": "system", "content": words * (size // 500)}
        self._said = [json.dumps(prompt).encode()]
        self._turns = 0
        while sum(map(len, self._said)) < size:
            self._turn(f"def value(x):\n    return x + {self._turns}\n" * min(80, size // 1000))

    def _turn(self, result: str) -> None:
        self._turns += 1
        call = {"name": "read", "arguments": json.dumps({"path": f"src/{self._turns}.py"})}
        calls = [{"id": f"call_{self._turns}", "type": "function", "function": call}]
        for message in (
            {"role": "user", "content": f"look at file {self._turns}"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"call_{self._turns}", "content": result},
            {"role": "assistant", "content": "yes"},
        ):
            self._said.append(json.dumps(message).encode())

    def next_request(self) -> bytes:
        """What an agent would send next."""
        self._said.append(json.dumps({"role": "user", "content": f"and then, {len(self._said)}?"}).encode())
        body = b'{"model": "m", "messages": [%s]}' % b", ".join(self._said)
        self._said.append(json.dumps({"role": "assistant", "content": "yes"}).encode())
        return body


async def _stream(scale: Scale, bare: _Child, ours: _Child) -> Row:
    """The processor's time of both for a long answer, recording included."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "look"}]}
    figures: dict[str, list[float]] = {"ours": [], "bare": []}
    async with aiohttp.ClientSession() as client:
        for number in range(scale.repeats + 1):
            for name, child in (("ours", ours), ("bare", bare)):
                before = child.seconds()
                async with client.post(f"{child.url}/v1/chat/completions", json=body) as came:
                    await came.read()
                await child.settled()  # what is done behind it counts
                if number:
                    figures[name].append(max(child.seconds() - before, 0.005))
    found = Rounds(figures)
    return beside(f"a stream of {scale.chunks:,} chunks, processor", found, "ours", "bare", PEER, STREAM_SHARE)


async def _many(scale: Scale, bare: _Child, ours: _Child) -> Row:
    """How long the last of many agents waits for its first byte, when all ask at once."""
    body = {"model": "m", "messages": [{"role": "user", "content": "x " * 10_000}]}
    figures: dict[str, list[float]] = {bare.url: [], ours.url: []}

    async def first(client: aiohttp.ClientSession, url: str) -> float:
        began = wall()
        async with client.post(f"{url}/v1/chat/completions", json=body) as came:
            await came.content.readany()
            return wall() - began

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        for _ in range(scale.repeats + 1):
            for url, times in figures.items():
                times.append(max(await asyncio.gather(*(first(client, url) for _ in range(AGENTS)))))
    mine, others = median(figures[ours.url][1:]), median(figures[bare.url][1:])
    return Row(f"{AGENTS} agents at once, the last first byte", mine, "s", others, PEER, mine / others, None)


@contextmanager
def _child(*arguments: str) -> Iterator[_Child]:
    with subprocess.Popen(
        children.command("proxying", *arguments),
        env=children.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield _Child(process.stdout.readline().strip(), psutil.Process(process.pid))


# In the processes of their own


@asynccontextmanager
async def _serving(handler: Any) -> AsyncIterator[str]:
    app = web.Application(client_max_size=0)
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def _provider(chunks: int) -> Any:
    whole = json.dumps({"model": "m", "choices": [{"message": {"role": "assistant", "content": "yes"}}]}).encode()
    pieces = [
        b"data: %s\n\n"
        % json.dumps({"model": "m", "choices": [{"index": 0, "delta": {"content": f"w{at} "}}]}).encode()
        for at in range(chunks)
    ]

    async def answer(incoming: web.Request) -> web.StreamResponse:
        body = await incoming.read()
        if b'"stream"' not in body[:200]:
            return web.Response(body=whole, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(incoming)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0.0005)  # so that they come one by one, as tokens do
        return response

    return answer


@asynccontextmanager
async def _bare(to: str) -> AsyncIterator[str]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False) as client:

        async def forward(incoming: web.Request) -> web.StreamResponse:
            body = await incoming.read()
            async with client.request(incoming.method, to + incoming.path_qs, data=body) as upstream:
                response = web.StreamResponse(status=upstream.status, headers={"Content-Type": upstream.content_type})
                await response.prepare(incoming)
                async for chunk in upstream.content.iter_any():
                    await response.write(chunk)
                return response

        async with _serving(forward) as url:
            yield url


async def _main(kind: str, *given: str) -> None:
    if kind == "provider":
        serving = _serving(_provider(int(given[0])))
    elif kind == "bare":
        serving = _bare(given[0])
    else:
        serving = _ours(*given)
    async with serving as url:
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.read)  # until whoever started us ends, in whatever way


@asynccontextmanager
async def _ours(to: str, folder: str) -> AsyncIterator[str]:
    from workbench.cli.proxy import SWITCH
    from workbench.log.store import Store
    from workbench.proxy.recorder import Recorder
    from workbench.proxy.routes import Upstreams
    from workbench.proxy.server import ProxyServer
    from workbench.proxy.sessions import ProxySessions

    sys.setswitchinterval(SWITCH)
    store = Store.open(Path(folder) / "proxy.db")
    recorder = Recorder(ProxySessions(lambda: store))
    async with ProxyServer(Upstreams(to), recorder) as server:
        yield server.address
    recorder.close()
    store.close()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
