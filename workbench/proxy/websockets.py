"""Websockets, on which OpenAI's Responses come too: frames pass unchanged, and each request among them is recorded.

A request on a socket may have only what is new (`previous_response_id`); recorded it is whole.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import aiohttp
from aiohttp import WSMsgType, web
from multidict import CIMultiDict
from yarl import URL

from workbench.proxy.recorder import Recorded, Recorder
from workbench.proxy.routes import Route
from workbench.proxy.sessions import CameBack, SentRequest
from workbench.wire.streams import loaded
from workbench.wire.values import dict_in, list_in, text_in

_OF_THE_SOCKET: Final = ("sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions")
_ENDS: Final = frozenset(("response.completed", "response.failed", "response.incomplete", "error"))


async def pump(
    incoming: web.Request,
    client: aiohttp.ClientSession,
    url: URL,
    route: Route,
    headers: CIMultiDict[str],
    recorder: Recorder | None,
) -> web.StreamResponse:
    """Connect both sides until one of them closes; a provider that takes no websocket answers as it does without us."""
    for name in _OF_THE_SOCKET:
        headers.popall(name, None)
    protocols = [each.strip() for each in headers.popall("sec-websocket-protocol", [""])[0].split(",") if each.strip()]
    address = url.with_scheme({"http": "ws", "https": "wss"}[url.scheme])
    try:
        upstream = await client.ws_connect(
            address, headers=headers, protocols=protocols, max_msg_size=0, autoping=False
        )
    except aiohttp.WSServerHandshakeError as error:
        return web.Response(status=error.status, reason=error.message, text=error.message)
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return web.Response(status=502, text=f"workbench proxy: {url} cannot be reached: {error}")
    async with upstream:
        down = web.WebSocketResponse(protocols=protocols, max_msg_size=0, autoping=False)
        await down.prepare(incoming)
        watched = _Frames(route, incoming.headers, recorder)
        ways = [
            asyncio.create_task(_pass_on(down, upstream, watched.from_client)),
            asyncio.create_task(_pass_on(upstream, down, watched.from_provider)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            watched.over()
            with suppress(Exception):
                code = upstream.close_code or down.close_code or 1000
                await down.close(code=code if code not in (1005, 1006, 1015) else 1000)
        return down


async def _pass_on(source: Any, target: Any, watch: Any) -> None:
    """Frames of one direction, until it ends."""
    async for message in source:
        if message.type is WSMsgType.TEXT:
            await target.send_str(message.data)
            watch(message.data)
        elif message.type is WSMsgType.BINARY:
            await target.send_bytes(message.data)
        elif message.type is WSMsgType.PING:
            await target.ping(message.data)
        elif message.type is WSMsgType.PONG:
            await target.pong(message.data)


class _Frames:
    """What the frames of a socket say, for the recorder; one request is answered at a time."""

    def __init__(self, route: Route, headers: Mapping[str, str], recorder: Recorder | None) -> None:
        self._route = route
        self._headers = headers
        self._recorder = recorder if route.dialect == "responses" else None
        self._asked: _Asked | None = None

    def from_client(self, text: str) -> None:
        """A frame of the client."""
        if self._recorder is None or '"response.create"' not in text[:2000] + text[-2000:]:
            return
        self.over()
        self._asked = _Asked(text)
        asked, at = self._asked, time.time_ns() // 1_000_000
        self._asked.recorded = self._recorder.sent(lambda: self._request(asked, at), len(text))

    def from_provider(self, text: str) -> None:
        """A frame of the provider."""
        asked = self._asked
        if asked is None:
            return
        asked.first = asked.first or time.monotonic()
        asked.frames.append(text)
        if any(end in text for end in _ENDS) and text_in(loaded(text), "type") in _ENDS:
            self._over(asked, "")

    def over(self) -> None:
        """What is still open when the socket closes, or the next request comes, was cut."""
        if self._asked is not None:
            self._over(self._asked, "the connection was closed")

    def _over(self, asked: _Asked, problem: str) -> None:
        self._asked = None
        if asked.recorded is not None:
            asked.ended = time.monotonic()
            asked.recorded.answered(lambda: self._came(asked, problem), sum(map(len, asked.frames)))

    # In the recorder's thread

    def _request(self, asked: _Asked, at: int) -> SentRequest | None:
        frame = loaded(asked.text)
        if not isinstance(frame, dict):
            return None
        body = {key: value for key, value in frame.items() if key != "type"}
        return SentRequest(self._route, self._headers, dict_in(body, "response") or body, at)

    def _came(self, asked: _Asked, problem: str) -> CameBack:
        events = [each for each in map(loaded, asked.frames) if isinstance(each, dict)]
        response = next((dict_in(each, "response") for each in reversed(events) if dict_in(each, "response")), {})
        done = [each["item"] for each in events if each.get("type") == "response.output_item.done" and "item" in each]
        output = list_in(response, "output") or done
        failed = next((each for each in events if each.get("type") == "error"), None)
        status = int(failed.get("status") or 500) if failed else 200
        body = failed or {**response, "output": output}
        first = None if asked.first is None else round((asked.first - asked.began) * 1000)
        took = round((asked.ended - asked.began) * 1000)
        return CameBack(status, {}, body, first, took, problem, "broken" if problem else "")


class _Asked:
    """A request on a socket, and what came back for it so far."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.frames: list[str] = []
        self.began = time.monotonic()
        self.first: float | None = None
        self.ended = self.began
        self.recorded: Recorded | None = None
