"""The proxy beside a bare forwarder of aiohttp, each in a process of its own, before the same provider."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from statistics import median
from typing import NamedTuple

import aiohttp
import psutil

from bench import children
from bench.harness import Rounds, Row, Scale, beside, wall
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
STREAMS = 3
"""Long streams for each round of the others: how many chunks come together is chance."""
AGENTS = 200
ROUNDS = 20
"""Requests in a row."""
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
        _child("provider", str(scale.chunks)) as provider,
        _child("bare", provider.url) as bare,
        _child("ours", provider.url, folder) as ours,
    ):
        for name, size in SIZES:
            yield from asyncio.run(_in_a_row(scale, name, size, bare, ours))
        yield asyncio.run(_stream(scale, bare, ours))
        yield from asyncio.run(_many(scale, bare, ours))


class _Figures(NamedTuple):
    """What some requests took, in seconds each."""

    first: float
    """The median first byte."""
    processor: float
    with_recorder: float


async def _in_a_row(scale: Scale, name: str, size: int, bare: _Child, ours: _Child) -> list[Row]:
    """A conversation that goes on, request by request."""
    figures: dict[str, list[_Figures]] = {"ours": [], "bare": []}
    async with aiohttp.ClientSession() as client:
        for number in range(scale.repeats + 1):
            for who, child in (("bare", bare), ("ours", ours)):
                talk = _Talk(size)
                await _asked(client, child, [talk])  # a conversation that is new has to be recorded as a whole
                found = await _asked(client, child, [talk], ROUNDS)
                if number:
                    figures[who].append(found)
    return list(_rows(f"{name} in a row", figures))


async def _many(scale: Scale, bare: _Child, ours: _Child) -> list[Row]:
    """Many agents that ask at once, each in a conversation of its own."""
    figures: dict[str, list[_Figures]] = {"ours": [], "bare": []}
    talks = {who: [_Talk(SIZES[1][1]) for _ in range(AGENTS)] for who in figures}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        for number in range(scale.repeats + 1):
            for who, child in (("bare", bare), ("ours", ours)):
                found = await _asked(client, child, talks[who])
                if number:
                    figures[who].append(found)
    return list(_rows(f"{AGENTS} agents at once", figures))


def _rows(name: str, figures: dict[str, list[_Figures]]) -> Iterator[Row]:
    def rounds(figure: Callable[[_Figures], float]) -> Rounds:
        return Rounds({who: [figure(each) for each in found] for who, found in figures.items()})

    first, processor = rounds(lambda each: each.first), rounds(lambda each: each.processor)
    yield beside(f"first byte, {name}", first, "ours", "bare", PEER, FIRST_BYTE)
    yield beside(f"processor, {name}", processor, "ours", "bare", PEER, PROCESSOR)
    whole = rounds(lambda each: each.with_recorder)
    yield beside(f"processor with the recorder, {name}", whole, "ours", "bare", PEER)


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
    await asyncio.gather(*map(ask, talks))
    await child.settled()  # what it still has to record is not to slow down the others
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


async def _stream(scale: Scale, bare: _Child, ours: _Child) -> Row:
    """The processor's time of both for a long answer, recording included."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "look"}]}
    figures: dict[str, list[float]] = {"ours": [], "bare": []}
    async with aiohttp.ClientSession() as client:
        for number in range(scale.repeats * STREAMS + 1):
            for name, child in (("ours", ours), ("bare", bare)):
                before = child.all_seconds()
                async with client.post(f"{child.url}/v1/chat/completions", json=body) as came:
                    await came.read()
                await child.settled()  # what is done behind it counts
                if number:
                    figures[name].append(max(child.all_seconds() - before, 0.005))
    found = Rounds(figures)
    return beside(f"a stream of {scale.chunks:,} chunks, processor", found, "ours", "bare", PEER, STREAM_SHARE)


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
