"""The rehearsal model over HTTP on loopback, in its providers' dialects, with faults on request."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from workbench.config.errors import WorkbenchError
from workbench.rehearsal.anthropic_dialect import Anthropic
from workbench.rehearsal.dialect import Dialect, to_json
from workbench.rehearsal.faults import HEADER, IN_THE_MIDDLE, Fault, Refusal, UnknownFault
from workbench.rehearsal.openai_dialect import OpenAI
from workbench.rehearsal.rehearsal_model import PlayedAnswer, RehearsalModel
from workbench.rehearsal.request import BadRequest, RehearsalRequest
from workbench.rehearsal.script import Script

DIALECTS: tuple[Dialect, ...] = (OpenAI(), Anthropic())
"""The first is spoken where a request does not tell."""

MAX_BODY = 64 * 1024 * 1024
MAX_FIELD = 64 * 1024
"""Bytes of a request's body, and of its first line or one header."""

JSON = "application/json"
STREAM = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}
PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in to the network.</body></html>"
BROKEN_EVENT = b'data: {"choices": [{"delta": {"content": "bro\n\n'

_log = logging.getLogger(__name__)
# What is not HTTP is the client's mistake: he is told, and nobody else.
_log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))

Outcome = Literal["complete", "broken", "gone"]
"""How a request ended: answered (an error is an answer), broken off by us, or given up by the client."""


@dataclass(frozen=True, slots=True, eq=False)
class ReceivedRequest:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """Found whatever way their names are written."""
    body: dict[str, Any]
    outcome: asyncio.Future[Outcome] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Await it to know how the request ended."""


class RehearsalServer:
    """Serves while its `async with` lasts."""

    def __init__(self, script: Script | None = None, port: int = 0, *, keep: int | None = None) -> None:
        """`port` 0 takes a free one; `keep` bounds how many requests are remembered (None: all)."""
        self.model = RehearsalModel(script)
        self.requests: list[ReceivedRequest] = []
        self.url = ""
        self._port = port
        self._keep = keep
        self._count = 0
        self._arrived = asyncio.Condition()
        self._answering: set[asyncio.Task[Any]] = set()
        app = web.Application(client_max_size=MAX_BODY)
        for dialect in DIALECTS:
            for path in dialect.paths:
                app.router.add_post(path, partial(self._answer, dialect))
        for path in ("/v1/models", "/models"):
            app.router.add_get(path, _models)
        for path in ("/", "/health"):
            app.router.add_get(path, _health)
        app.router.add_route("*", "/{path:.*}", _unknown)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_log,
            handler_cancellation=True,  # a client that goes away ends what is done for him
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
            raise WorkbenchError(f"port {self._port}: cannot be opened: {error}") from error
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._answering:
            task.cancel()
        await asyncio.gather(*self._answering, return_exceptions=True)
        await self._runner.cleanup()

    async def arrival(self, count: int = 1) -> ReceivedRequest:
        """Wait until so many requests have arrived; the last of them."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def _answer(self, dialect: Dialect, incoming: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
        began = asyncio.get_running_loop().time()
        outcome: Outcome = "gone"
        received = response = None
        try:
            body = await _object(incoming)
            received = await self._receive(incoming, body)
            fault = Fault.parse(incoming.headers[HEADER]) if HEADER in incoming.headers else None
            request = dialect.read(body)
            reply = _Reply(incoming, dialect, request, f"rehearsal{self._count}", began)
            response = await reply.send(self.model.play(request, fault))
            outcome = "complete" if response is not None else "broken"
        except (BadRequest, UnknownFault) as error:
            detail = f"{HEADER}: {error}" if isinstance(error, UnknownFault) else str(error)
            response, outcome = _refused(dialect, Refusal(400, "request", detail=detail)), "complete"
        except web.HTTPRequestEntityTooLarge:
            response = _refused(dialect, Refusal(413))
        except ConnectionError:  # the client is gone; aiohttp would log this as a mistake of ours
            pass
        finally:
            if received is not None:
                received.outcome.set_result(outcome)
        if response is None:
            raise asyncio.CancelledError  # aiohttp sends what was written and closes the connection
        return response

    async def _receive(self, incoming: web.Request, body: dict[str, Any]) -> ReceivedRequest:
        received = ReceivedRequest(incoming.path, incoming.headers, body)
        self._count += 1
        async with self._arrived:
            self.requests.append(received)
            if self._keep is not None:
                del self.requests[: -self._keep or None]
            self._arrived.notify_all()
        return received


async def _object(incoming: web.Request) -> dict[str, Any]:
    try:
        found = json.loads(await incoming.read())
    except (ValueError, RecursionError, web.RequestPayloadError) as error:
        raise BadRequest(f"body: expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise BadRequest(f"body: expected a JSON object, got {type(found).__name__}")
    return found


def _refused(dialect: Dialect, refusal: Refusal, model: str = "") -> web.Response:
    headers = {} if refusal.wait is None else {"Retry-After": str(refusal.wait)}
    text = to_json(dialect.error(refusal, model))
    return web.Response(text=text, status=refusal.status, headers=headers, content_type=JSON)


# What is no request for an answer


def _dialect_of(incoming: web.Request) -> Dialect:
    return next((dialect for dialect in DIALECTS if dialect.header in incoming.headers), DIALECTS[0])


async def _models(incoming: web.Request) -> web.Response:
    return web.Response(text=to_json(_dialect_of(incoming).models()), content_type=JSON)


async def _health(_: web.Request) -> web.Response:
    return web.Response(text='{"status":"ok","model":"rehearsal"}', content_type=JSON)


async def _unknown(incoming: web.Request) -> web.Response:
    known = ", ".join([*(path for dialect in DIALECTS for path in dialect.paths), "/v1/models"])
    detail = f"{incoming.method} {incoming.path}: expected one of {known}"
    return _refused(_dialect_of(incoming), Refusal(404, detail=detail))


@dataclass(frozen=True, slots=True)
class _Reply:
    """Writes one answer, or breaks it in the way that was asked for."""

    incoming: web.Request
    dialect: Dialect
    request: RehearsalRequest
    ident: str
    began: float

    async def send(self, played: PlayedAnswer) -> web.StreamResponse | None:
        """What aiohttp is to finish; None where the connection is to break off here."""
        kind = played.fault.kind if played.fault else ""
        await self._until(played.pace.delay)
        if played.refusal:
            return _refused(self.dialect, played.refusal, self.request.model)
        match kind:
            case "drop":
                return None
            case "mute":
                await _until_gone()
            case "html":
                return web.Response(text=PAGE, content_type="text/html")
        return await (self._stream(played, kind) if self.request.stream else self._whole(played, kind))

    async def _whole(self, played: PlayedAnswer, kind: str) -> web.Response | None:
        body = to_json(self.dialect.whole(played, self.request, self.ident)).encode()
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
                return _refused(self.dialect, Refusal(500), self.request.model)
        if played.pace.speed:
            await self._until(played.pace.delay + len(body) / played.pace.speed)
        return web.Response(body=half if kind == "bad_json" else body, content_type=JSON)

    async def _stream(self, played: PlayedAnswer, kind: str) -> web.StreamResponse | None:
        response = web.StreamResponse(headers=STREAM)
        await response.prepare(self.incoming)
        if kind == "silence":
            await _until_gone()
        events = list(self.dialect.stream(played, self.request, self.ident))
        middle = len(events) // 2 if kind in IN_THE_MIDDLE else len(events)
        for event in events[:middle]:
            await self._until(event.at)
            await response.write(event.data)
        match kind:
            case "cut":
                return None
            case "stall":
                await _until_gone()
            case "bad_json":
                await response.write(BROKEN_EVENT)
            case "error":
                await response.write(self.dialect.error_event())
        return response

    async def _until(self, at: float) -> None:
        """Wait until so many seconds after the request."""
        if at and (rest := self.began + at - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(rest)


async def _until_gone() -> None:
    """Wait for the client to go away, which ends whoever waits."""
    await asyncio.Event().wait()
