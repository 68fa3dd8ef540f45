"""The proxy beside a bare forwarder of aiohttp, each in a process of its own, before the same provider."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from statistics import median
from typing import NamedTuple

import aiohttp
import psutil

from bench import children
from bench.harness import Row, Scale, beside, rounds, wall
from bench.pace import end_samples, sample_anew
from workbench.proxy.recorder_process import GATHER

PEER = "bare forwarder"
SIZES = (("5 KB", 5_000), ("50 KB", 50_000), ("500 KB", 500_000), ("2 MB", 2_000_000))
"""Of requests: what they are called, and their bytes."""
FIRST_BYTE = 1.3
"""How much later the first byte may come, as a multiple of the bare forwarder's."""
PROCESSOR = 1.5
"""What the forwarding process may use of the processor, as a multiple. With the recorder it has no limit."""
STREAM_SHARE = 1.1
"""The same for a long stream."""
STREAMS, STREAM_LENGTH = 2, 4
"""So many times the usual rounds, and the scale's chunks: how many chunks come together is chance."""
TURNS = 2
"""So many times the usual rounds, for the same reason."""
AGENTS = 200
ROUNDS, LARGE_ROUNDS = 400, 60
"""Requests in a row, and large ones: enough that chance does not decide what they take together."""
LARGE = 500_000
IDLE = 0.001
"""Seconds of the processor that a process uses at most in a twentieth of a second when it has nothing to do."""
SETTLED = 3 * GATHER
"""Seconds after which a process that uses nothing has nothing left to do."""
_NUMBERS = count(1)


class _Child(NamedTuple):
    url: str
    process: psutil.Process

    def seconds(self) -> float:
        """Of the processor, since it began."""
        return children.spent_by(self.process.pid)

    def all_seconds(self) -> float:
        """The same with its recorder."""
        return sum(children.spent_by(each.pid) for each in (self.process, *self.process.children()))

    async def settled(self) -> None:
        """Wait until neither it nor its recorder has anything to do; the recorder waits a little before it works."""
        before, since = -1.0, wall()
        while wall() - since < SETTLED:
            await asyncio.sleep(0.05)
            now = self.all_seconds()
            if now - before > IDLE:
                since = wall()
            before = now


def run(scale: Scale) -> Iterator[Row]:
    """The first byte, the processor, a long stream, and many agents at once."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _child("provider", str(STREAM_LENGTH * scale.chunks)) as provider,
        _child("bare", provider.url) as bare,
        _child("ours", provider.url, folder) as ours,
    ):
        both = {"bare": bare, "ours": ours}
        for name, size in SIZES:
            yield from _in_a_row(scale, name, size, both)
        yield from _stream(scale, both)
        yield from _many(scale, both)


class _Figures(NamedTuple):
    """What some requests took, in seconds each."""

    first: float
    """The median first byte."""
    processor: float
    with_recorder: float


Asking = Callable[[aiohttp.ClientSession, str], Coroutine[None, None, _Figures]]
"""Has one of both asked, and says what that took."""


def _in_a_row(scale: Scale, name: str, size: int, both: Mapping[str, _Child]) -> Iterator[Row]:
    """A conversation that goes on, request by request."""

    async def asked(client: aiohttp.ClientSession, who: str) -> _Figures:
        talk = _Talk(size)
        await _asked(client, both[who], [talk])  # a conversation that is new has to be recorded as a whole
        return await _asked(client, both[who], [talk], ROUNDS if size < LARGE else LARGE_ROUNDS)

    yield from _rows(scale.repeats * TURNS, f"{name} in a row", both, asked)


def _many(scale: Scale, both: Mapping[str, _Child]) -> Iterator[Row]:
    """Many agents that ask at once, each in a conversation of its own."""
    talks = {who: [_Talk(SIZES[1][1]) for _ in range(AGENTS)] for who in both}

    async def asked(client: aiohttp.ClientSession, who: str) -> _Figures:
        return await _asked(client, both[who], talks[who])

    yield from _rows(scale.repeats, f"{AGENTS} agents at once", both, asked)


def _rows(repeats: int, name: str, both: Mapping[str, _Child], asked: Asking) -> Iterator[Row]:
    """What both took for the same requests, in turns."""
    processor: dict[str, list[float]] = {who: [] for who in both}
    whole: dict[str, list[float]] = {who: [] for who in both}
    with _client() as (runner, client):

        def first(who: str) -> float:
            took = runner.run(asked(client, who))
            processor[who].append(took.processor)
            whole[who].append(took.with_recorder)
            return took.first

        for who in both:
            runner.run(asked(client, who))  # to warm up
        found = rounds({who: partial(first, who) for who in both}, repeats, warm_up=False, parallel=both)
        yield beside(f"first byte, {name}", found, "ours", "bare", PEER, FIRST_BYTE)
        found = found.also("our processor", processor["ours"], "ours").also("bare processor", processor["bare"], "bare")
        yield beside(f"processor, {name}", found, "our processor", "bare processor", PEER, PROCESSOR)
        found = found.also("our whole", whole["ours"], "ours").also("bare whole", whole["bare"], "bare")
        yield beside(f"processor with the recorder, {name}", found, "our whole", "bare whole", PEER)


@contextmanager
def _client() -> Iterator[tuple[asyncio.Runner, aiohttp.ClientSession]]:
    """A loop, and a client in it with any number of connections."""

    async def made() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    with asyncio.Runner() as runner:
        client = runner.run(made())
        try:
            yield runner, client
        finally:
            runner.run(client.close())


async def _asked(client: aiohttp.ClientSession, child: _Child, talks: list[_Talk], times: int = 1) -> _Figures:
    """Have conversations go on at once, by so many requests each; what they leave to do counts."""
    taken: list[float] = []

    async def ask(talk: _Talk) -> None:
        for _ in range(times):
            body = talk.next_request()
            began = wall()
            async with client.post(f"{child.url}/v1/chat/completions", data=body) as came:
                await came.content.readany()
                taken.append(wall() - began)
                await came.read()

    before = child.seconds(), child.all_seconds()
    sample_anew()
    await asyncio.gather(*map(ask, talks))
    end_samples()  # what it still has to record counts too, but hardly anything else runs by then
    await child.settled()  # so that the rest does not slow down the others
    used = (child.seconds() - before[0], child.all_seconds() - before[1])
    return _Figures(median(taken), *(max(each / len(taken), 1e-6) for each in used))


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


def _stream(scale: Scale, both: Mapping[str, _Child]) -> Iterator[Row]:
    """The processor's time of both for a long answer, recording included."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "look"}]}

    async def streamed(client: aiohttp.ClientSession, child: _Child) -> float:
        before = child.all_seconds()
        async with client.post(f"{child.url}/v1/chat/completions", json=body) as came:
            await came.read()
        end_samples()
        await child.settled()  # what is done behind it counts
        return max(child.all_seconds() - before, 0.005)

    with _client() as (runner, client):
        works = {who: lambda child=child: runner.run(streamed(client, child)) for who, child in both.items()}
        found = rounds(works, scale.repeats * STREAMS, parallel=both)
        yield beside(
            f"a stream of {STREAM_LENGTH * scale.chunks:,} chunks, processor", found, "ours", "bare", PEER, STREAM_SHARE
        )


@contextmanager
def _child(*arguments: str) -> Iterator[_Child]:
    with subprocess.Popen(
        children.command("forwarders", *arguments),
        env=children.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield _Child(process.stdout.readline().strip(), psutil.Process(process.pid))
