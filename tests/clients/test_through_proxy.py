"""Real clients through the proxy to the rehearsal server: what an independent recorder in front of the proxy saw is
what the sessions hold, request by request. A client that is not installed is skipped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from clients.clients import PROMPT, Client
from clients.libraries import EVERYBODY, Library
from clients.test_rehearsing import LINE
from workbench.log.events import Compaction, Event, Failure, Override, Request, RequestAnswer, ToolResult, text_of
from workbench.log.store import Store
from workbench.proxy.recorder_link import in_process
from workbench.proxy.routes import Upstreams, route_of
from workbench.proxy.server import ProxyServer
from workbench.rehearsal.server import RehearsalServer
from workbench.wire.requests import RequestBodies

DROPPED = ("host", "content-length", "transfer-encoding", "connection", "upgrade")


class Front:
    """A forwarder that shares no code with the proxy, and remembers what it was given."""

    def __init__(self, to: str) -> None:
        self._to = to
        self.bodies: list[dict[str, Any]] = []
        self._items: dict[str, list[Any]] = {}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with aiohttp.ClientSession(auto_decompress=False) as self._client:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        await runner.cleanup()

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        headers = {name: value for name, value in incoming.headers.items() if name.lower() not in DROPPED}
        if incoming.headers.get("Upgrade", "").lower() == "websocket":
            return await self._socket(incoming, headers)
        body = await incoming.read()
        dialect = route_of(incoming.path, incoming.headers).dialect
        asked = self._whole(json.loads(body)) if dialect is not None else {}
        if dialect is not None:
            self.bodies.append(asked)
        url = self._to + incoming.path_qs
        async with self._client.request(incoming.method, url, headers=headers, data=body or None) as upstream:
            kept = {name: value for name, value in upstream.headers.items() if name.lower() not in DROPPED}
            response = web.StreamResponse(status=upstream.status, headers=kept)
            await response.prepare(incoming)
            came = b""
            async for chunk in upstream.content.iter_any():
                await response.write(chunk)
                came += chunk
            if dialect == "responses" and came.startswith(b"{"):
                self._remember(asked, json.loads(came))
            return response

    def _whole(self, body: dict[str, Any]) -> dict[str, Any]:
        """A body with the items of the response that it goes on from."""
        before = self._items.get(body.get("previous_response_id") or "")
        if not before:
            return body
        rest = {key: value for key, value in body.items() if key != "previous_response_id"}
        return {**rest, "input": [*before, *_items(body)]}

    def _remember(self, asked: dict[str, Any], response: dict[str, Any], items: Sequence[Any] = ()) -> None:
        self._items[response["id"]] = [*_items(asked), *(response.get("output") or items)]

    async def _socket(self, incoming: web.Request, headers: dict[str, str]) -> web.StreamResponse:
        own = {name: value for name, value in headers.items() if not name.lower().startswith("sec-websocket")}
        down = web.WebSocketResponse(max_msg_size=0)
        async with self._client.ws_connect(self._to + incoming.path_qs, headers=own, max_msg_size=0) as up:
            await down.prepare(incoming)

            async def back() -> None:
                items: list[Any] = []
                async for message in up:
                    event = json.loads(message.data)
                    if event["type"] == "response.output_item.done":
                        items.append(event["item"])
                    if event["type"] == "response.completed":
                        self._remember(self.bodies[-1], event["response"], items)
                        items = []
                    await down.send_str(message.data)

            coming = asyncio.create_task(back())
            async for message in down:
                if message.type is WSMsgType.TEXT:
                    frame = json.loads(message.data)
                    frame.pop("type")
                    self.bodies.append(self._whole(frame))
                    await up.send_str(message.data)
            coming.cancel()
        return down


def _items(body: dict[str, Any]) -> list[Any]:
    given = body["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


@pytest.mark.long
@pytest.mark.parametrize("client", EVERYBODY, ids=lambda client: client.name)
async def test_the_sessions_of_a_client_behind_the_proxy_are_what_it_sent(
    client: Client | Library, tmp_path: Path
) -> None:
    if client.found() is None:
        pytest.skip(f"{client.binary} is not installed ({client.package})")
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    (folder / "a.txt").write_text(f"{LINE}\n", encoding="utf-8")
    recorder = in_process(print, journals=tmp_path / "unrecorded", store=tmp_path / "proxy.db")
    async with RehearsalServer() as server, ProxyServer(Upstreams(server.url), recorder) as proxy:
        front = Front(proxy.address)
        async with front.serving() as url:
            done = await asyncio.to_thread(client.ask, url, home, folder)
    await asyncio.to_thread(recorder.close, 600)
    with Store.open(tmp_path / "proxy.db") as store:
        logs = [store.session(info.id, write=False).events() for info in store.list()]
        titles = [info.title for info in store.list()]
    assert done.returncode == 0, done.stderr
    assert recorder.lost == 0
    assert front.bodies
    assert _sorted(front.bodies) == _sorted(_sent(logs))
    assert len(logs) == 1, titles
    bodies = [event.body for log in logs for event in log]
    answers = [body for body in bodies if isinstance(body, RequestAnswer)]
    assert [(each.status, each.problem) for each in answers] == [(200, "")] * len(front.bodies)
    assert any(PROMPT in title for title in titles), titles
    assert not client.has_tools or not [body for body in bodies if isinstance(body, Override)]
    if client.has_tools:
        results = [text_of(body.content) for body in bodies if isinstance(body, ToolResult)]
        assert any(LINE in result for result in results)
        assert len(results) == len({body.call_id for body in bodies if isinstance(body, ToolResult)})
    assert sum(isinstance(body, Failure | Compaction) for body in bodies) == 0


def _sent(logs: list[list[Event]]) -> list[dict[str, Any]]:
    found = []
    for log in logs:
        whole = RequestBodies(log)
        requests = [(event.seq, event.body) for event in log if isinstance(event.body, Request)]
        found += [whole.body(seq) for seq, request in requests if request.base or request.messages]
    return found


def _sorted(bodies: list[dict[str, Any]]) -> list[str]:
    """As JSON, with their keys as they came."""
    return sorted(json.dumps(body) for body in bodies)
