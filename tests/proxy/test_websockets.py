"""Frames of websockets pass as they are; requests among them are recorded whole, though only what is new was sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from proxy.test_server import proxy
from support.waiting import GIVE_UP
from workbench.log.events import AssistantMessage, Request, RequestAnswer, ToolResult, UserMessage
from workbench.proxy import websockets
from workbench.proxy.frame_texts import response_in
from workbench.proxy.frames import FRAME, SocketRequest
from workbench.sources.source import number_events
from workbench.wire.requests import RequestBodies

ASKED = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
GOT = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}
DONE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
HEAD = {"type": "response.create", "model": "gpt-5", "instructions": "be brief"}


class Socket:
    """A provider that answers each request on a socket with what is next."""

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.frames: list[str] = []
        self.headers: dict[str, str] = {}
        self.closed = asyncio.Event()

    async def serve(self, incoming: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(incoming)
        self.headers = dict(incoming.headers)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                self.frames.append(message.data)
                for event in self.answers.pop(0):
                    await socket.send_str(json.dumps(event))
            elif message.type is WSMsgType.BINARY:
                await socket.send_bytes(message.data)
        self.closed.set()
        return socket


@asynccontextmanager
async def serving(handler: Any) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    await runner.cleanup()


def answer(name: str, *items: dict[str, Any]) -> list[dict[str, Any]]:
    done = [{"type": "response.output_item.done", "item": item} for item in items]
    used = {"input_tokens": 40, "output_tokens": 5}
    begun = {"type": "response.created", "response": {"id": name, "error": None}}
    return [begun, *done, {"type": "response.completed", "response": {"id": name, "model": "gpt-5", "usage": used}}]


async def test_what_is_sent_as_a_difference_is_recorded_whole(tmp_path: Path) -> None:
    provider = Socket(answer("r0"), answer("r1", CALL), answer("r2", DONE))
    frames = [
        {**HEAD, "input": [ASKED], "generate": False},
        {**HEAD, "input": [ASKED], "previous_response_id": None},
        {**HEAD, "input": [GOT], "previous_response_id": "r1"},
    ]
    async with serving(provider.serve) as url, proxy(tmp_path, url) as running:
        address = running.address + "/v1/responses"
        headers = {"Authorization": "Bearer k", "session-id": "s1"}
        async with running.client.ws_connect(address, headers=headers) as socket:
            for frame in frames:
                await socket.send_str(json.dumps(frame))
                while "response.completed" not in (await socket.receive_str()):
                    pass
            await socket.send_bytes(b"\x00\xff")
            assert await socket.receive_bytes() == b"\x00\xff"
        await asyncio.wait_for(provider.closed.wait(), GIVE_UP)
        bodies = await running.bodies()
    assert [json.loads(frame) for frame in provider.frames] == frames
    assert provider.headers["Authorization"] == "Bearer k"
    requests = [body for body in bodies if isinstance(body, Request)]
    assert [(each.purpose, each.name) for each in requests] == [("side", "warming up"), ("turn", ""), ("turn", "")]
    assert [each.status for each in bodies if isinstance(each, RequestAnswer)] == [200, 200, 200]
    talk = [type(each) for each in bodies if isinstance(each, UserMessage | ToolResult | AssistantMessage)]
    assert talk == [UserMessage, ToolResult, AssistantMessage]
    events = number_events(bodies)
    last = max(event.seq for event in events if isinstance(event.body, Request))
    assert RequestBodies(events).body(last)["input"] == [ASKED, CALL, GOT]


@pytest.mark.parametrize(("status", "told"), [(429, 429), ("failed", 500), (None, 500), ([], 500)])
def test_an_error_has_its_status_or_that_of_any_fault(status: object, told: int) -> None:
    failed = {"type": "error", "status": status, "error": {"message": "no"}}
    assert response_in([json.dumps(failed)]) == (failed, told)


def test_an_answer_of_the_largest_size_is_kept_and_of_a_larger_one_only_its_end() -> None:
    end = json.dumps({"type": "response.completed"})
    largest = 2 * FRAME + len("x" * 9 + end)
    for most, kept, is_lost in ((largest, ["x" * 9, end], False), (largest - 1, [end], True)):
        asked = SocketRequest("")
        for frame in ("x" * 9, end):
            asked.keep_frame(frame, most)
        assert (asked.frames, bool(asked.lost)) == (kept, is_lost)


@pytest.mark.parametrize(("known", "chosen"), [(["two"], "two"), ([], None)])
async def test_the_client_hears_which_protocol_the_provider_has_chosen(
    known: list[str], chosen: str | None, tmp_path: Path
) -> None:
    async def choose(incoming: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=known)
        await socket.prepare(incoming)
        await socket.close()
        return socket

    async with (
        serving(choose) as url,
        proxy(tmp_path, url) as running,
        running.client.ws_connect(running.address + "/v1/realtime", protocols=("one", "two")) as socket,
    ):
        assert socket.protocol == chosen


async def test_a_provider_that_takes_no_websocket_says_so_itself(tmp_path: Path) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=426, text="not here", headers={"Retry-After": "7"})

    async with serving(refuse) as url, proxy(tmp_path, url) as running:
        asks = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "k",
        }
        async with running.client.get(running.address + "/v1/responses", headers=asks) as found:
            assert (found.status, found.headers["Retry-After"], await found.text()) == (426, "7", "not here")
        with pytest.raises(aiohttp.WSServerHandshakeError) as error:
            await running.client.ws_connect(running.address + "/v1/responses")
        assert error.value.status == 426


async def test_a_client_that_closes_in_the_middle_leaves_what_came(tmp_path: Path) -> None:
    provider = Socket([{"type": "response.output_item.done", "item": DONE}])
    async with serving(provider.serve) as url, proxy(tmp_path, url) as running:
        async with running.client.ws_connect(running.address + "/v1/responses") as socket:
            await socket.send_str(json.dumps({**HEAD, "input": [ASKED]}))
            await socket.receive_str()
        await asyncio.wait_for(provider.closed.wait(), GIVE_UP)
        bodies = await running.bodies()
    [came] = [each for each in bodies if isinstance(each, RequestAnswer)]
    assert came.problem == "the connection was closed"
    assert came.first is not None
    assert came.took is not None
    assert 0 <= came.first <= came.took, "milliseconds since the request"
    assert [each.finish for each in bodies if isinstance(each, AssistantMessage)] == ["broken"]


REASON = "this key is not for gpt-5 \u2013 grüße"


@pytest.mark.parametrize("path", ["responses", "realtime"])
async def test_the_client_hears_why_its_provider_closes(path: str, tmp_path: Path) -> None:
    async def close(incoming: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(incoming)
        await socket.close(code=1008, message=REASON.encode())
        return socket

    async with (
        serving(close) as url,
        proxy(tmp_path, url) as running,
        running.client.ws_connect(f"{running.address}/v1/{path}") as socket,
    ):
        heard = await asyncio.wait_for(socket.receive(), GIVE_UP)
    assert (heard.type, heard.data, heard.extra) == (WSMsgType.CLOSE, 1008, REASON)


@pytest.mark.parametrize("path", ["responses", "realtime"])
async def test_the_provider_hears_why_its_client_closes(path: str, tmp_path: Path) -> None:
    heard: asyncio.Future[aiohttp.WSMessage] = asyncio.get_running_loop().create_future()

    async def hear(incoming: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(incoming)
        heard.set_result(await socket.receive())
        return socket

    async with serving(hear) as url, proxy(tmp_path, url) as running:
        socket = await running.client.ws_connect(f"{running.address}/v1/{path}")
        await socket.close(code=4001, message=REASON.encode())
        message = await asyncio.wait_for(heard, GIVE_UP)
    assert (message.type, message.data, message.extra) == (WSMsgType.CLOSE, 4001, REASON)


async def test_a_client_that_sends_faster_than_its_provider_reads_waits_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websockets, "MOST_QUEUED", 10)
    sent = [f"message {number}, longer than may wait".encode() for number in range(5)]
    async with (
        serving(Socket().serve) as url,
        proxy(tmp_path, url) as running,
        running.client.ws_connect(running.address + "/v1/realtime") as socket,
    ):
        for each in sent:
            await socket.send_bytes(each)
        assert [await asyncio.wait_for(socket.receive_bytes(), GIVE_UP) for _ in sent] == sent
