"""kill -9 of a proxy while answers stream through it.

A fault: an exchange that was answered a quarter of a second before is not in the log, a request whose answer was under
way is not there, or its answer looks whole.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from aiohttp import web

from hostile.proxies import provider, started
from hostile.tally import Tally
from workbench.log.events import Request, RequestAnswer
from workbench.log.store import Store

RECORDED = 0.25
"""Seconds within which what passed is recorded."""
SECONDS = 40


class DialectName(NamedTuple):
    """How one provider is asked, and how it streams."""

    path: str
    ask: Callable[[str], dict[str, Any]]
    events: tuple[tuple[str, dict[str, Any]], ...]
    """The whole answer; the half of it is cut behind the second."""


def _messages(text: str) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 99, "stream": True, "messages": [{"role": "user", "content": text}]}


def _chunk(delta: dict[str, Any], end: str | None = None) -> tuple[str, dict[str, Any]]:
    return "", {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}


def _named(event: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return event["type"], event


DIALECTS = {
    "chat": DialectName(
        "/v1/chat/completions",
        _messages,
        (_chunk({"role": "assistant", "content": "one"}), _chunk({"content": " two"}), _chunk({}, "stop")),
    ),
    "messages": DialectName(
        "/v1/messages",
        _messages,
        (
            _named({"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m", "content": []}}),
            _named({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "one"}}),
            _named({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " two"}}),
            _named({"type": "content_block_stop", "index": 0}),
            _named({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            _named({"type": "message_stop"}),
        ),
    ),
    "responses": DialectName(
        "/v1/responses",
        lambda text: {"model": "m", "stream": True, "input": [{"role": "user", "content": text}]},
        (
            _named({"type": "response.created", "response": {"id": "r", "status": "in_progress"}}),
            _named({"type": "response.output_text.delta", "delta": "one two"}),
            _named({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}),
        ),
    ),
}
HALF = 2
"""Events of an answer that is never whole."""


async def _answer(incoming: web.BaseRequest) -> web.StreamResponse:
    if incoming.headers.get("Upgrade"):
        return await _socket(incoming)
    await incoming.read()
    dialect = next(each for each in DIALECTS.values() if each.path == incoming.path)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(incoming)
    is_half = incoming.headers.get("X-Half") == "yes"
    for name, event in dialect.events[: HALF if is_half else None]:
        await response.write(f"{f'event: {name}' if name else ':'}\ndata: {json.dumps(event)}\n\n".encode())
    if is_half:
        await asyncio.Event().wait()
    return response


async def _socket(incoming: web.BaseRequest) -> web.WebSocketResponse:
    """The same for a websocket; a request says itself whether it wants the half."""
    opened = web.WebSocketResponse()
    await opened.prepare(incoming)
    async for message in opened:
        for _, event in DIALECTS["responses"].events[: HALF if "half" in message.data else None]:
            await opened.send_json(event)
    return opened


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: kills."""
    tally = Tally("kill -9 in streams")
    told: Counter[str] = Counter()
    asyncio.run(_attack(tally, tries, chance, folder, told))
    tally.told = ", ".join(f"{what} {many:,}" for what, many in sorted(told.items()))
    return tally


async def _attack(tally: Tally, tries: int, chance: random.Random, folder: Path, told: Counter[str]) -> None:
    async with provider(_answer) as url:
        for number in range(tries):
            with tally.watching(f"kill {number}"):
                told.update(await _kill(folder / f"cut{number}", url, chance))


async def _kill(folder: Path, url: str, chance: random.Random) -> Counter[str]:
    """Agents of all dialects, each with some whole answers and a half one; then the proxy is killed."""
    origin = url.removesuffix("/v1")
    agents = [chance.choice((*DIALECTS, "socket")) for _ in range(chance.randint(1, 4))]
    whole = [chance.randint(0, 3) for _ in agents]
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(SECONDS)) as client:
        async with started(folder, origin) as program:
            opened = [
                await _agent(client, program.address, kind, f"agent {number}", many)
                for number, (kind, many) in enumerate(zip(agents, whole, strict=True))
            ]
            await asyncio.sleep(RECORDED * chance.choice((1.5, 3)))
            await program.stop(signal.SIGKILL)
        for each in opened:
            each.close()
        async with started(folder, origin) as again:  # which records what the other had answered
            while any((folder / "data" / "unrecorded").glob("*")):  # no folder where no answer was whole
                await asyncio.sleep(0.05)
            await again.stop()
    return _check(folder / "data", sum(whole), len(agents))


class Opened(NamedTuple):
    """What an agent still has open."""

    close: Callable[[], object]


async def _agent(client: aiohttp.ClientSession, address: str, kind: str, name: str, whole: int) -> Opened:
    """Ask, and begin to read the last answer."""
    if kind == "socket":
        return await _at_a_socket(client, address, name, whole)
    dialect = DIALECTS[kind]
    url = f"{address}{dialect.path}"
    for number in range(whole):
        async with client.post(url, json=dialect.ask(f"{name} {number}")) as came:
            assert came.status == 200, await came.text()
            await came.read()
    came = await client.post(url, json=dialect.ask(f"{name} half"), headers={"X-Half": "yes"})
    heard = b""
    while heard.count(b"data:") < HALF:
        more = await came.content.readany()
        assert more, f"the answer ended: {heard!r}"
        heard += more
    return Opened(came.close)


async def _at_a_socket(client: aiohttp.ClientSession, address: str, name: str, whole: int) -> Opened:
    socket = await client.ws_connect(f"{address}/v1/responses")
    for number in [*range(whole), -1]:
        asked = {"type": "response.create", **DIALECTS["responses"].ask(f"{name} {'half' if number < 0 else number}")}
        await socket.send_json(asked)
        for _ in DIALECTS["responses"].events[: HALF if number < 0 else None]:
            await socket.receive_json()
    return Opened(lambda: socket._response.close())


def _check(data: Path, whole: int, half: int) -> Counter[str]:
    with Store.open(data / "workbench.db") as store:
        logs = {info.id: store.session(info.id, write=False).events() for info in store.list()}
    asked = sum(isinstance(event.body, Request) for events in logs.values() for event in events)
    answers = [event.body for events in logs.values() for event in events if isinstance(event.body, RequestAnswer)]
    complete = sum(not each.problem for each in answers)
    assert complete == whole, f"{complete} of {whole} whole answers are recorded as whole"
    assert asked == whole + half, f"{asked} of {whole + half} requests are recorded"
    return Counter(whole=whole, half=half, cut=len(answers) - complete)
