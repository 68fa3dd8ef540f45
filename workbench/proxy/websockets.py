"""Passes websocket frames on unchanged, as OpenAI's Responses API uses them. A request among them may have to wait."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import aiohttp
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from multidict import CIMultiDict
from yarl import URL

from workbench.config.background import in_background
from workbench.config.values import replace
from workbench.models.diagnose import connection_words
from workbench.proxy.frame_texts import frame_of, is_request, request_in
from workbench.proxy.frames import SocketFrames, SocketRequest
from workbench.proxy.gate import Gate, HeldRequest, Release, SeenRequest
from workbench.proxy.headers import PlainResponse, outgoing_proxy, safe_reason
from workbench.proxy.holding import OwnAnswer, until_released
from workbench.proxy.recorder import Recorder
from workbench.proxy.records import HeldRecord
from workbench.proxy.routes import Route
from workbench.proxy.unpacking import LARGEST, BodyTooLarge
from workbench.proxy.websocket_client import WebsocketRefused
from workbench.wire.dialects import DIALECTS
from workbench.wire.earlier_responses import EARLIER
from workbench.wire.speaking import SocketSpeaker, to_json

WHY_FIXED: Final = "a websocket sends only the new part, which is not rewritten: release it unchanged, or answer it"
HELD: Final = b"held by workbench proxy"
"""The payload of pings that show a waiting client that the connection is alive."""
MOST_QUEUED: Final = 16 * 1024 * 1024
"""Bytes of messages that may wait after a held one; then the client has to wait with the next."""
_OF_THE_SOCKET: Final = ("sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions")

_log = logging.getLogger(__name__)
# No warning if a provider accepts none of the client's protocols: that concerns only those two.
logging.getLogger("aiohttp.websocket").setLevel(logging.ERROR)


async def pump_websocket(
    incoming: web.BaseRequest,
    client: aiohttp.ClientSession,
    url: URL,
    route: Route,
    headers: CIMultiDict[str],
    recorder: Recorder | None,
    gate: Gate | None = None,
    largest: int = LARGEST,
) -> web.StreamResponse:
    """Connect both sides until one of them closes. If the provider refuses the websocket, pass on its answer.

    A message of more than `largest` bytes closes the connection with code 1009: both sides would have to keep it whole.
    """
    for name in _OF_THE_SOCKET:
        headers.popall(name, None)
    protocols = [each.strip() for each in headers.popall("sec-websocket-protocol", [""])[0].split(",") if each.strip()]
    address = url.with_scheme({"http": "ws", "https": "wss"}[url.scheme])
    proxy = outgoing_proxy(url.scheme, url.host or "")
    try:
        upstream = await client.ws_connect(
            address, headers=headers, protocols=protocols, max_msg_size=largest, autoping=False, proxy=proxy
        )
    except WebsocketRefused as error:
        reason = safe_reason(error.reason)
        refused = PlainResponse(status=error.status, reason=reason, headers=error.headers)
        refused.content_length = len(error.body)
        await refused.prepare(incoming)
        await refused.write_eof(error.body)
        return refused
    except aiohttp.WSServerHandshakeError as error:
        return web.Response(status=502, text=f"workbench proxy: {url}: {error.message}")
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return web.Response(status=502, text=f"workbench proxy: {url} cannot be reached: {connection_words(error)}")
    async with upstream:
        chosen = (upstream.protocol,) if upstream.protocol else ()
        # Without compression the size of a message is its number of bytes on the wire.
        down = web.WebSocketResponse(protocols=chosen, max_msg_size=largest, autoping=False, compress=False)
        await down.prepare(incoming)
        frames = None
        if route.dialect is not None and DIALECTS[route.dialect].has_websockets:
            frames = SocketFrames(route, incoming.headers, recorder, largest, waits=gate is not None)
        passing = _FromClient(down, upstream, frames, gate, route, incoming.headers)
        answers = _Messages(upstream)
        directions = [
            asyncio.create_task(passing.pass_messages()),
            asyncio.create_task(_from_provider(answers, down, frames)),
        ]
        try:
            await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for direction in directions:
                direction.cancel()
            await asyncio.gather(*directions, return_exceptions=True)
            if frames is not None:
                frames.end_open_request()
            _report_too_large(recorder, upstream.close_code, passing.code)
            with suppress(Exception):
                code = _valid(passing.code or down.close_code)
                await upstream.close(code=code, message=passing.messages.reason)
            with suppress(Exception):
                await down.close(code=_valid(upstream.close_code or down.close_code), message=answers.reason)
        return down


def _valid(code: int | None) -> int:
    """A close code that may be sent: some codes only mean that none was received."""
    return code if code is not None and code not in (1004, 1005, 1006, 1015) and 1000 <= code < 5000 else 1000


def _report_too_large(recorder: Recorder | None, *codes: int | None) -> None:
    if WSCloseCode.MESSAGE_TOO_BIG in codes and recorder is not None:
        recorder.passed_unread("a websocket's message", "it is too large, and the connection was closed")


class _Messages:
    """The messages of one side until it closes, and then its reason."""

    def __init__(self, socket: web.WebSocketResponse | aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.reason = b""
        """What stood in the side's close frame behind the code."""

    def __aiter__(self) -> _Messages:
        return self

    async def __anext__(self) -> WSMessage:
        message = await self._socket.receive()
        if message.type not in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED):
            return message
        if message.type is WSMsgType.CLOSE:
            self.reason = (message.extra or "").encode()
        raise StopAsyncIteration


async def _from_provider(answers: _Messages, down: Any, frames: SocketFrames | None) -> None:
    """Pass on the provider's messages until it closes."""
    async for message in answers:
        await _pass_on(message, down)
        if frames is not None and message.type is WSMsgType.TEXT:
            frames.from_provider(message.data)


async def _pass_on(message: WSMessage, target: Any) -> None:
    match message.type:
        case WSMsgType.TEXT:
            await target.send_str(message.data)
        case WSMsgType.BINARY:
            await target.send_bytes(message.data)
        case WSMsgType.PING:
            await target.ping(message.data)
        case WSMsgType.PONG if message.data != HELD:
            await target.pong(message.data)


def _weight(message: WSMessage) -> int:
    return len(message.data) + 100 if isinstance(message.data, str | bytes) else 100


class _FromClient:
    """Passes on the client's messages in order. They are read at once, to notice when the client closes."""

    def __init__(
        self,
        down: web.WebSocketResponse,
        upstream: aiohttp.ClientWebSocketResponse,
        frames: SocketFrames | None,
        gate: Gate | None,
        route: Route,
        headers: Mapping[str, str],
    ) -> None:
        self._down = down
        self.messages = _Messages(down)
        self._upstream = upstream
        self._frames = frames
        self._gate = gate
        self._route = route
        self._headers = headers
        self._waiting: asyncio.Queue[WSMessage | None] = asyncio.Queue()
        self._queued = 0
        """Bytes of queued messages."""
        self._has_room = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        self.code: int | None = None
        """The close code for an invalid message of the client; None if all were valid."""

    async def pass_messages(self) -> None:
        """Pass on messages until the client closes."""
        self._reading = asyncio.create_task(self._read())
        try:
            while (message := await self._waiting.get()) is not None:
                self._queued -= _weight(message)
                self._has_room.set()
                if self._frames is not None and message.type is WSMsgType.TEXT and is_request(message.data):
                    await self._ask(message.data, self._frames)
                else:
                    await _pass_on(message, self._upstream)
        finally:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        try:
            async for message in self.messages:
                if message.type in (WSMsgType.PING, WSMsgType.PONG):
                    await _pass_on(message, self._upstream)
                elif message.type is WSMsgType.ERROR:
                    self.code = getattr(message.data, "code", None)
                else:
                    self._queued += _weight(message)
                    self._waiting.put_nowait(message)
                while self._queued > MOST_QUEUED:
                    self._has_room.clear()
                    await self._has_room.wait()
        finally:
            self._waiting.put_nowait(None)

    async def _ask(self, text: str, frames: SocketFrames) -> None:
        """Pass a request on, at once or after a wait. The client's own request is recorded."""
        held, seen = await self._decide_hold(text, frames)
        asked = frames.from_client(text)
        asked.seen = seen
        release = Release("as_it_was") if held is None else await self._wait(held, asked, frames)
        match release.end:
            case "gone":
                return
            case "answered":
                assert held is not None
                own = OwnAnswer(held, release.text, streams=True)
                assert isinstance(own.writer, SocketSpeaker)
                for _, event in own.writer.events(own.played, own.request, own.ident):
                    await self._down.send_str(to_json(event))
                frames.record_own_answer(asked, own.recorded)
            case "changed":
                assert release.body is not None
                await self._upstream.send_str(frame_of(release.body, text))
            case _:
                await self._upstream.send_str(frames.to_provider(text))

    async def _decide_hold(self, text: str, frames: SocketFrames) -> tuple[HeldRequest | None, SeenRequest | None]:
        gate = self._gate
        if gate is None or not gate.watches_route(self._route):
            return None, None
        try:
            request = await in_background(lambda: frames.request_for_provider(request_in(text)))
            held, seen = await gate.decide_hold(
                self._route, self._headers, lambda: frames.earlier.full_request(request)
            )
        except BodyTooLarge:
            return None, None
        except Exception:  # whatever the error, the agent continues
            _log.exception("breakpoints could not be checked")
            return None, None
        if held is not None and request.get(EARLIER):
            held.summary = replace(held.summary, fixed=WHY_FIXED)
        return held, seen

    async def _wait(self, held: HeldRequest, asked: SocketRequest, frames: SocketFrames) -> Release:
        """Wait until the request is released, or its client closes the connection."""
        assert self._gate is not None
        assert self._reading is not None
        held.session = lambda: asked.recorded.session if asked.recorded is not None else ""
        waiting = asyncio.create_task(until_released(self._gate, held, lambda: self._down.ping(HELD)))
        began, release = time.monotonic(), Release("gone")
        try:
            await asyncio.wait([waiting, self._reading], return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                release = waiting.result()
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            took = round((time.monotonic() - began) * 1000)
            mark = HeldRecord(held.summary.rule, held.summary.why, took, release.end)
            frames.continue_after_hold(asked, mark, release.body if release.end == "changed" else None, held.body)
        return release
