"""Attacks on the proxy's door by programs of this machine that do not have the token, and kill -9.

A fault: the agent gets no answer, standard error fills up, files or memory are not given back, or an exchange that was
answered more than a quarter of a second before a kill is not recorded.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import aiohttp
from aiohttp import web

from hostile.proxies import MOST, RunningProgram, provider, started
from hostile.tally import Tally
from workbench.log.events import Request, RequestAnswer
from workbench.log.store import Store

WHOLE = json.dumps({"model": "m", "choices": [{"message": {"role": "assistant", "content": "yes"}}]}).encode()
SAID = (
    b"", b"GET ", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00", b"\0" * 100,
    b"POST /guessed/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n", b"A" * 5000,
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", b"PRI * HTTP/2.0\r\n\r\n",
    b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 60_000 + b"\r\n",
)  # fmt: skip
RECORDED = 0.25
"""Seconds within which what was answered is recorded."""


async def answer_whole(incoming: web.BaseRequest) -> web.StreamResponse:
    await incoming.read()
    return web.Response(body=WHOLE, content_type="application/json")


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("attacks on the proxy's door")
    asyncio.run(_attack(tally, tries, chance, folder))
    return tally


async def _attack(tally: Tally, tries: int, chance: random.Random, folder: Path) -> None:
    async with provider(answer_whole) as url, aiohttp.ClientSession() as client:
        async with started(folder / "door", url) as program:
            await _crowd(tally, tries, chance, program, client)
        for number in range(max(1, tries // 1000)):
            with tally.watching("kill -9"):
                await _kill(folder / f"kill{number}", url, client, chance)


async def _ask(program: RunningProgram, client: aiohttp.ClientSession, number: int) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": f"question {number}"}]}
    async with asyncio.timeout(30), client.post(f"{program.address}/v1/chat/completions", json=body) as came:
        assert await came.read() == WHOLE, came.status


async def _crowd(
    tally: Tally, tries: int, chance: random.Random, program: RunningProgram, client: aiohttp.ClientSession
) -> None:
    """Many connections without the token, and an agent among them."""
    await _ask(program, client, 0)
    before = len(os.listdir(f"/proc/{program.process.pid}/fd"))
    crowd: list[asyncio.StreamWriter] = []
    for number in range(tries):
        with suppress(ConnectionError):
            _, writer = await asyncio.open_connection("127.0.0.1", program.port)
            writer.write(chance.choice(SAID))
            crowd.append(writer)
        if number % 50 == 49:
            with tally.watching("the agent in a crowd"):
                await _ask(program, client, number)
        else:
            tally.tries += 1
        if len(crowd) > 2000:
            crowd.pop(0).close()
    with tally.watching("what is left of the crowd"):
        await end_crowd(program, crowd, before)


async def end_crowd(program: RunningProgram, crowd: list[asyncio.StreamWriter], before: int) -> None:
    """Check a proxy after a crowd of connections, and stop it. `before`: its open files before they came."""
    assert program.grown < MOST, f"it took {program.grown >> 20} MB more"
    assert len(program.errors) < 20_000, f"{len(program.errors)} bytes on standard error"
    assert "Traceback" not in program.errors, program.errors[-500:]
    for writer in crowd:
        writer.close()
    while len(os.listdir(f"/proc/{program.process.pid}/fd")) > before + 20:
        await asyncio.sleep(0.1)
    await program.stop()


async def _kill(folder: Path, url: str, client: aiohttp.ClientSession, chance: random.Random) -> None:
    """Four agents ask without a pause until the proxy is killed, alone or with its recorder before or behind it."""
    answered: list[float] = []

    async def agent(program: RunningProgram, number: int) -> None:
        while True:
            await _ask(program, client, number)
            answered.append(time.monotonic())

    async with started(folder, url) as program:
        agents = [asyncio.create_task(agent(program, number)) for number in range(4)]
        while len(answered) < chance.randrange(50, 150):
            await asyncio.sleep(0.01)
        recorders, when = program.recorders, chance.choice(("before", "behind", "not at all"))
        if when == "before":
            _kill_all(recorders)
        killed = time.monotonic()
        await program.stop(signal.SIGKILL)
        if when == "behind":
            _kill_all(recorders)
        await asyncio.gather(*agents, return_exceptions=True)
    async with started(folder, url) as again:  # which records what the other had answered
        await again.stop()
    while os.listdir(folder / "data" / "unrecorded"):
        await asyncio.sleep(0.05)
    due = sum(at < killed - RECORDED for at in answered)
    with Store.open(folder / "data" / "workbench.db") as store:
        events = (event.body for info in store.list() for event in store.session(info.id, write=False).events())
        found = [body for body in events if isinstance(body, RequestAnswer | Request)]
    recorded = sum(isinstance(body, RequestAnswer) for body in found)
    assert recorded >= due, f"{recorded} of {due} exchanges are recorded ({len(answered)} were answered)"
    most = len(answered) + len(agents)
    assert len(found) - recorded <= most, f"{len(found) - recorded} requests are recorded, and at most {most} were made"
    assert recorded <= len(found) - recorded, "there are more answers than requests"


def _kill_all(processes: list[int]) -> None:
    for each in processes:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
