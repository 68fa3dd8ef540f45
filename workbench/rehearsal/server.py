"""The stand-in over HTTP on loopback, in OpenAI's and Anthropic's dialects, with faults on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from workbench.config.errors import WorkbenchError
from workbench.rehearsal.anthropic_wire import Anthropic
from workbench.rehearsal.faults import HEADER, Fault, Refusal, UnknownFault
from workbench.rehearsal.http import BadHttp, Connection, Gone, Incoming
from workbench.rehearsal.openai_wire import OpenAI
from workbench.rehearsal.request import BadRequest, Request
from workbench.rehearsal.script import Script
from workbench.rehearsal.stand_in import Played, StandIn
from workbench.rehearsal.wire import Dialect, to_json

JSON = "application/json"
STREAM = "text/event-stream; charset=utf-8"
PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in to the network.</body></html>"

_DIALECTS: dict[str, Dialect] = {
    "/v1/chat/completions": OpenAI(),
    "/chat/completions": OpenAI(),
    "/v1/messages": Anthropic(),
}

Outcome = Literal["complete", "broken", "gone"]
"""How a request ended: answered (an error is an answer), broken off by us, or given up by the client."""


@dataclass(frozen=True, slots=True, eq=False)
class Recorded:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """Names in small letters."""
    body: dict[str, Any]
    outcome: asyncio.Future[Outcome] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Await it to know how the request ended."""


class RehearsalServer:
    """Serves while its `async with` lasts."""

    def __init__(self, script: Script | None = None, port: int = 0, *, keep: int | None = None) -> None:
        """`port` 0 takes a free one; `keep` bounds how many requests are remembered (None: all)."""
        self.stand_in = StandIn(script)
        self.requests: list[Recorded] = []
        self.url = ""
        self._port = port
        self._keep = keep
        self._count = 0
        self._arrived = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> RehearsalServer:
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        except (OSError, OverflowError) as error:
            raise WorkbenchError(f"port {self._port}: cannot be opened: {error}") from error
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        await self._server.wait_closed()

    async def arrival(self, count: int = 1) -> Recorded:
        """Wait until so many requests have arrived; the last of them."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    # One connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        connection = Connection(reader, writer)
        try:
            while await self._one(connection):
                pass
        except (Gone, asyncio.CancelledError):
            # Our own end cancels; asyncio would log a cancelled connection as an error.
            pass
        finally:
            self._clients.discard(task)
            await connection.close()

    async def _one(self, connection: Connection) -> bool:
        """One request; whether the connection stays open for another."""
        try:
            incoming = await connection.read()
        except BadHttp as error:
            await connection.send(
                error.status, f"{error}\n".encode(), "text/plain; charset=utf-8", {"Connection": "close"}
            )
            return False
        if incoming is None:
            return False
        dialect = _DIALECTS.get(incoming.path)
        if dialect is None or incoming.method != "POST":
            await self._other(connection, incoming)
            return incoming.keep_alive
        return await self._answer(connection, incoming, dialect) and incoming.keep_alive

    async def _other(self, connection: Connection, incoming: Incoming) -> None:
        dialect: Dialect = Anthropic() if "anthropic-version" in incoming.headers else OpenAI()
        if incoming.method == "GET" and incoming.path in ("/v1/models", "/models"):
            await connection.send(200, to_json(dialect.models()).encode(), JSON)
        elif incoming.method == "GET" and incoming.path in ("/", "/health"):
            await connection.send(200, b'{"status":"ok","model":"rehearsal"}', JSON)
        else:
            known = ", ".join((*_DIALECTS, "/v1/models"))
            refused = Refusal(404, detail=f"{incoming.method} {incoming.path}: expected one of {known}")
            await connection.send(404, to_json(dialect.error(refused, "")).encode(), JSON)

    # One request for an answer

    async def _answer(self, connection: Connection, incoming: Incoming, dialect: Dialect) -> bool:
        began = asyncio.get_running_loop().time()
        outcome: Outcome = "gone"
        recorded = None
        try:
            body = _object(incoming.body)
            recorded = await self._record(incoming, body)
            fault = Fault.parse(incoming.headers[HEADER]) if HEADER in incoming.headers else None
            request = dialect.read(body)
            played = self.stand_in.play(request, fault)
            outcome = await _Reply(connection, incoming, dialect, request, f"rehearsal{self._count}", began).send(
                played
            )
        except (BadRequest, UnknownFault) as error:
            detail = f"{HEADER}: {error}" if isinstance(error, UnknownFault) else str(error)
            await _refuse(connection, dialect, Refusal(400, "request", detail=detail), "")
            outcome = "complete"
        finally:
            if recorded is not None:
                recorded.outcome.set_result(outcome)
        return outcome == "complete"

    async def _record(self, incoming: Incoming, body: dict[str, Any]) -> Recorded:
        recorded = Recorded(incoming.path, incoming.headers, body)
        self._count += 1
        async with self._arrived:
            self.requests.append(recorded)
            if self._keep is not None:
                del self.requests[: -self._keep or None]
            self._arrived.notify_all()
        return recorded


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"body: expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise BadRequest(f"body: expected a JSON object, got {type(found).__name__}")
    return found


async def _refuse(connection: Connection, dialect: Dialect, refusal: Refusal, model: str) -> None:
    headers = {} if refusal.wait is None else {"Retry-After": str(refusal.wait)}
    await connection.send(refusal.status, to_json(dialect.error(refusal, model)).encode(), JSON, headers)


@dataclass(frozen=True, slots=True)
class _Reply:
    """Writes one answer, or breaks it in the way that was asked for."""

    connection: Connection
    incoming: Incoming
    dialect: Dialect
    request: Request
    ident: str
    began: float

    async def send(self, played: Played) -> Outcome:
        kind = played.fault.kind if played.fault else ""
        await self._until(played.pace.delay)
        if played.refusal:
            await _refuse(self.connection, self.dialect, played.refusal, self.request.model)
            return "complete"
        match kind:
            case "drop":
                return "broken"
            case "mute":
                await self.connection.until_gone()
            case "html":
                await self.connection.send(200, PAGE, "text/html; charset=utf-8")
                return "complete"
        return await (self._stream(played, kind) if self.request.stream else self._whole(played, kind))

    async def _whole(self, played: Played, kind: str) -> Outcome:
        found = self.dialect.whole(played.answer, self.request, self.ident, finish=kind != "no_finish")
        body = to_json(found).encode()
        match kind:
            case "silence" | "stall" | "cut":
                await self.connection.cut(len(body), b"" if kind == "silence" else body[: len(body) // 2], JSON)
                if kind != "cut":
                    await self.connection.until_gone()
                return "broken"
            case "bad_json":
                body = body[: len(body) // 2]
            case "error":
                await _refuse(self.connection, self.dialect, Refusal(500), self.request.model)
                return "complete"
        if played.pace.speed:
            await self._until(played.pace.delay + len(body) / played.pace.speed)
        await self.connection.send(200, body, JSON)
        return "complete"

    async def _stream(self, played: Played, kind: str) -> Outcome:
        connection, incoming = self.connection, self.incoming
        await connection.begin(STREAM, incoming)
        if kind == "silence":
            await connection.until_gone()
        frames = list(self.dialect.frames(played.answer, played.pace, self.request, self.ident, kind != "no_finish"))
        middle = len(frames) // 2 if kind in ("cut", "stall", "bad_json", "error") else len(frames)
        for frame in frames[:middle]:
            await self._until(frame.at)
            await connection.piece(frame.data, incoming)
        match kind:
            case "cut":
                return "broken"
            case "stall":
                await connection.until_gone()
            case "bad_json":
                await connection.piece(b'data: {"choices": [{"delta": {"content": "bro\n\n', incoming)
            case "error":
                await connection.piece(self.dialect.error_frame(), incoming)
        await connection.end(incoming)
        return "complete" if incoming.chunked else "broken"

    async def _until(self, at: float) -> None:
        """Wait until so many seconds after the request."""
        if at:
            await self.connection.rest(self.began + at - asyncio.get_running_loop().time())
