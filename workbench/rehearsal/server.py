"""The rehearsal model over HTTP on loopback, in the providers' dialects, with faults on request."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler
from msgspec import Struct, field
from yarl import URL

from workbench.config.errors import WorkbenchError
from workbench.rehearsal.faults import HEADER, Fault, UnknownFault, refusal_for
from workbench.rehearsal.rehearsal_model import RehearsalModel
from workbench.rehearsal.replies import JSON, HttpReply, SocketReply, refusal_response
from workbench.rehearsal.script import Script
from workbench.rehearsal.usage import request_tokens
from workbench.wire.answers import Refusal
from workbench.wire.checked_requests import BadRequest
from workbench.wire.dialects import DEFAULT, DIALECTS
from workbench.wire.repeated_headers import RepeatedHeadersRunner
from workbench.wire.speaking import DialectSpeaker, SocketSpeaker, to_json

LOCAL = ("127.0.0.1", "localhost", "::1")
MAX_BODY = 64 * 1024 * 1024
"""The limit in bytes of a request's body, or of a frame."""
MAX_FIELD = 64 * 1024
"""The limit in bytes of a request's first line, and of one header."""

_log = logging.getLogger(__name__)
# A message that is not HTTP is the client's mistake: only the client gets the error.
_log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))

Outcome = Literal["complete", "broken", "gone"]
"""How a request ended: answered (an error is an answer), broken off by us, or cancelled by the client."""


class ReceivedRequest(Struct, frozen=True, eq=False):
    path: str
    headers: Mapping[str, str]
    """Looked up without regard to case."""
    body: dict[str, Any]
    outcome: asyncio.Future[Outcome] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Await it to learn how the request ended."""

    def note_outcome(self, outcome: Outcome) -> None:
        """Say how it ended, unless the waiting caller gave up and cancelled the future."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class RehearsalServer:
    """Serves inside its `async with` block."""

    def __init__(self, script: Script | None = None, port: int = 0, *, keep: int | None = None) -> None:
        """`port` 0 takes a free one; `keep` limits how many requests are remembered (None: all)."""
        self.model = RehearsalModel(script)
        self.speakers = {name: dialect.new_speaker() for name, dialect in DIALECTS.items()}
        self.requests: list[ReceivedRequest] = []
        self.url = ""
        self._port = port
        self._keep = keep
        self._count = 0
        self._arrived = asyncio.Condition()
        self._answering: set[asyncio.Task[Any]] = set()
        app = web.Application(client_max_size=MAX_BODY, middlewares=[_from_here])
        app.router.add_route("HEAD", "/{path:.*}", _head)
        for speaker in self.speakers.values():
            for path in (*speaker.paths, *speaker.counting):
                app.router.add_post(path, partial(self._answer, speaker, is_counting=path in speaker.counting))
            if isinstance(speaker, SocketSpeaker):
                for path in speaker.paths:
                    app.router.add_get(path, partial(self._talk, speaker))
        for path in ("/v1/models", "/models", "/v1beta/models"):
            app.router.add_get(path, self._models)
            app.router.add_get(f"{path}/{{name:.+}}", self._models)
        for path in ("/", "/health"):
            app.router.add_get(path, _health)
        app.router.add_route("*", "/{path:.*}", self._unknown)
        self._runner = RepeatedHeadersRunner(
            app,
            access_log=None,
            logger=_log,
            handler_cancellation=True,  # a client that disconnects ends the work for it
            max_line_size=MAX_FIELD,
            max_field_size=MAX_FIELD,
            shutdown_timeout=1,
        )

    async def __aenter__(self) -> RehearsalServer:
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        except (OSError, OverflowError) as error:
            await self._runner.cleanup()
            why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
            raise WorkbenchError(f"port {self._port}: cannot be opened: {why}") from error
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        await self._runner.cleanup()

    async def arrival(self, count: int = 1) -> ReceivedRequest:
        """Wait until `count` requests have arrived; return the last of them. Raises LookupError if it is forgotten."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self._count >= count)
            place = count - 1 - (self._count - len(self.requests))
            if place < 0:
                raise LookupError(f"request {count} is no longer remembered")
            return self.requests[place]

    async def _answer(
        self, speaker: DialectSpeaker, incoming: web.Request, *, is_counting: bool = False
    ) -> web.StreamResponse:
        self._track_current_task()
        began = asyncio.get_running_loop().time()
        outcome: Outcome = "gone"
        received = None
        response: web.StreamResponse | None = None
        try:
            body = await _object(incoming)
            received = await self._receive(incoming, body)
            fault = _fault(incoming)
            request = speaker.read_request(body, incoming.path)
            if is_counting:
                tokens = request_tokens(request)
                response = _counted(speaker, tokens, refusal_for(fault, tokens) if fault else None)
            else:
                reply = HttpReply(incoming, speaker, request, f"rehearsal{self._count}", began)
                response = await reply.send(self.model.play(request, fault))
            outcome = "complete" if response is not None else "broken"
        except (BadRequest, UnknownFault) as error:
            response, outcome = refusal_response(speaker, _complaint(error)), "complete"
        except web.HTTPRequestEntityTooLarge:
            response = refusal_response(speaker, Refusal(413))
        except ConnectionError:  # the client is gone; aiohttp would log this as our error
            pass
        finally:
            if received is not None:
                received.note_outcome(outcome)
        if response is None:
            raise asyncio.CancelledError  # aiohttp sends the data written so far and closes the connection
        return response

    async def _talk(self, speaker: SocketSpeaker, incoming: web.Request) -> web.StreamResponse:
        """Answer requests over a websocket, one after the other."""
        socket = web.WebSocketResponse(max_msg_size=MAX_BODY)
        if not socket.can_prepare(incoming):
            return await self._unknown(incoming)
        self._track_current_task()
        await socket.prepare(incoming)
        with suppress(ConnectionError):  # the client is gone, perhaps while one of its pings was answered
            async for message in socket:
                if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                    continue
                if not await self._frame(speaker, incoming, socket, message.data):
                    raise asyncio.CancelledError  # aiohttp closes the connection without a close frame
        return socket

    async def _frame(
        self, speaker: SocketSpeaker, incoming: web.Request, socket: web.WebSocketResponse, data: str | bytes
    ) -> bool:
        """Answer one frame. Return whether the connection stays open."""
        began = asyncio.get_running_loop().time()
        outcome: Outcome = "gone"
        received = None
        try:
            body = _json(data)
            if body.pop("type", None) != "response.create":
                raise BadRequest("type: expected response.create")
            received = await self._receive(incoming, body)
            fault = _fault(incoming)
            request, ident = speaker.read_request(body), f"rehearsal{self._count}"
            if body.get("generate") is False:
                for event in speaker.prewarmed(request, ident, request_tokens(request)):
                    await socket.send_str(to_json(event))
                outcome = "complete"
                return True
            stays = await SocketReply(socket, speaker, request, ident, began).send(self.model.play(request, fault))
            outcome = "complete" if stays else "broken"
            return stays
        except (BadRequest, UnknownFault) as error:
            await socket.send_str(to_json(speaker.error_frame(_complaint(error), "")))
            outcome = "complete"
            return True
        finally:
            if received is not None:
                received.note_outcome(outcome)

    def _track_current_task(self) -> None:
        """Register this task to be cancelled when the server ends."""
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _receive(self, incoming: web.Request, body: dict[str, Any]) -> ReceivedRequest:
        received = ReceivedRequest(incoming.path, incoming.headers, body)
        async with self._arrived:
            self._count += 1
            self.requests.append(received)
            if self._keep is not None:
                self.requests = self.requests[-self._keep :] if self._keep else []
            self._arrived.notify_all()
        return received

    # Requests that do not ask for an answer

    def _speaker_of(self, incoming: web.Request) -> DialectSpeaker:
        found = (each for each in DIALECTS.values() if each.recognises_client(incoming.path, incoming.headers))
        return self.speakers[next(found, DEFAULT).name]

    async def _models(self, incoming: web.Request) -> web.Response:
        speaker, name = self._speaker_of(incoming), incoming.match_info.get("name")
        return web.Response(text=to_json(speaker.model(name) if name else speaker.models()), content_type=JSON)

    async def _unknown(self, incoming: web.Request) -> web.Response:
        known = [path for speaker in self.speakers.values() for path in speaker.paths]
        detail = f"{incoming.method} {incoming.path}: expected one of {', '.join([*known, '/v1/models'])}"
        return refusal_response(self._speaker_of(incoming), Refusal(404, detail=detail))


@web.middleware
async def _from_here(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse browser pages: a foreign Origin, or a foreign host name that resolves to this machine (DNS rebinding)."""
    origin = request.headers.get("Origin")
    if _host(f"http://{request.host}") in LOCAL and (origin is None or urlsplit(origin).netloc == request.host):
        return await handler(request)
    return web.Response(status=403, text="rehearsal server: requests of other hosts and of web pages are refused\n")


def _host(address: str) -> str:
    try:
        return URL(address).host or ""
    except ValueError:
        return ""


async def _health(_: web.Request) -> web.Response:
    return web.Response(text='{"status":"ok","model":"rehearsal"}', content_type=JSON)


async def _head(_: web.Request) -> web.Response:
    """For clients that only check whether the server runs."""
    return web.Response()


def _counted(speaker: DialectSpeaker, tokens: int, refusal: Refusal | None) -> web.Response:
    if refusal:
        return refusal_response(speaker, refusal)
    return web.Response(text=to_json(speaker.counted(tokens)), content_type=JSON)


def _fault(incoming: web.Request) -> Fault | None:
    return Fault.parse(incoming.headers[HEADER]) if HEADER in incoming.headers else None


def _complaint(error: BadRequest | UnknownFault) -> Refusal:
    detail = f"{HEADER}: {error}" if isinstance(error, UnknownFault) else str(error)
    return Refusal(400, "request", detail=detail)


async def _object(incoming: web.Request) -> dict[str, Any]:
    try:
        return _json(await incoming.read())
    except web.RequestPayloadError as error:
        raise BadRequest(f"body: expected a JSON object: {error}") from error


def _json(data: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"body: expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise BadRequest(f"body: expected a JSON object, got {type(found).__name__}")
    return found
