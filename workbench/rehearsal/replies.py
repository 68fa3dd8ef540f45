"""Sends an answer to a client, over HTTP or a websocket; or breaks it as a fault requires."""

from __future__ import annotations

import asyncio

from aiohttp import web
from msgspec import Struct

from workbench.rehearsal.faults import IN_THE_MIDDLE
from workbench.rehearsal.rehearsal_model import PlayedAnswer
from workbench.wire.answers import Refusal
from workbench.wire.checked_requests import CheckedRequest
from workbench.wire.speaking import DialectSpeaker, SocketSpeaker, stream_headers, to_json

JSON = "application/json"
PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in to the network.</body></html>"
BROKEN = '{"choices": [{"delta": {"content": "bro'


def refusal_response(speaker: DialectSpeaker, refusal: Refusal, model: str = "") -> web.Response:
    """An error in the provider's own format."""
    headers = {} if refusal.wait is None else {"Retry-After": str(refusal.wait)}
    text = to_json(speaker.error(refusal, model))
    return web.Response(text=text, status=refusal.status, headers=headers, content_type=JSON)


class HttpReply(Struct, frozen=True):
    incoming: web.Request
    speaker: DialectSpeaker
    request: CheckedRequest
    ident: str
    began: float

    async def send(self, played: PlayedAnswer) -> web.StreamResponse | None:
        """Send the answer. Return the response for aiohttp to finish; None if the connection must break off here."""
        kind = played.fault.kind if played.fault else ""
        await _until(self.began + played.pace.delay)
        if played.refusal:
            return refusal_response(self.speaker, played.refusal, self.request.model)
        match kind:
            case "drop":
                return None
            case "mute":
                await _until_gone()
            case "html":
                return web.Response(text=PAGE, content_type="text/html")
        return await (self._stream(played, kind) if self.request.stream else self._whole(played, kind))

    async def _whole(self, played: PlayedAnswer, kind: str) -> web.Response | None:
        body = to_json(self.speaker.full_answer(played, self.request, self.ident)).encode()
        half = body[: len(body) // 2]
        match kind:
            case "silence" | "stall" | "cut":
                started = web.StreamResponse(headers={"Content-Type": JSON, "Content-Length": str(len(body))})
                await started.prepare(self.incoming)
                if kind != "silence":
                    await started.write(half)
                if kind != "cut":
                    await _until_gone()
                return None
            case "error":
                return refusal_response(self.speaker, Refusal(500), self.request.model)
        if played.pace.speed:
            await _until(self.began + played.pace.delay + len(body) / played.pace.speed)
        return web.Response(body=half if kind == "bad_json" else body, content_type=JSON)

    async def _stream(self, played: PlayedAnswer, kind: str) -> web.StreamResponse | None:
        response = web.StreamResponse(headers=stream_headers(self.speaker))
        await response.prepare(self.incoming)
        if kind == "silence":
            await _until_gone()
        events = list(self.speaker.stream(played, self.request, self.ident))
        for event in events[: _middle(len(events), kind)]:
            await _until(self.began + event.at)
            await response.write(event.data)
        match kind:
            case "cut":
                return None
            case "stall":
                await _until_gone()
            case "bad_json":
                await response.write(self.speaker.broken_event(BROKEN))
            case "error":
                await response.write(self.speaker.error_event())
        return response


class SocketReply(Struct, frozen=True):
    """Writes one answer as frames; a websocket has no status, so errors are events."""

    socket: web.WebSocketResponse
    speaker: SocketSpeaker
    request: CheckedRequest
    ident: str
    began: float

    async def send(self, played: PlayedAnswer) -> bool:
        """Send the answer. Return whether the connection stays open."""
        kind = played.fault.kind if played.fault else ""
        await _until(self.began + played.pace.delay)
        if played.refusal:
            await self._frame(self.speaker.error_frame(played.refusal, self.request.model))
            return True
        match kind:
            case "drop":
                return False
            case "mute" | "silence":
                await self._until_closed()
            case "html":
                await self.socket.send_str(PAGE)
                return True
        events = list(self.speaker.events(played, self.request, self.ident))
        for at, body in events[: _middle(len(events), kind)]:
            await _until(self.began + at)
            await self._frame(body)
        match kind:
            case "stall":
                await self._until_closed()
            case "bad_json":
                await self.socket.send_str(BROKEN)
            case "error":
                await self._frame(self.speaker.error_frame(Refusal(500), self.request.model))
        return kind != "cut"

    async def _until_closed(self) -> None:
        """Wait for the client to close the connection; frames until then are ignored."""
        while not self.socket.closed:
            await self.socket.receive()
        raise ConnectionResetError("the client closed the websocket")

    async def _frame(self, body: dict[str, object]) -> None:
        await self.socket.send_str(to_json(body))


def _middle(count: int, kind: str) -> int:
    """How many of the events are sent."""
    return count // 2 if kind in IN_THE_MIDDLE else count


async def _until(moment: float) -> None:
    await asyncio.sleep(moment - asyncio.get_running_loop().time())


async def _until_gone() -> None:
    """Wait until the client disconnects, which cancels this task."""
    await asyncio.Event().wait()
