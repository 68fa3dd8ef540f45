"""A request that waits: its client sees a slow provider, is kept from giving up, and is answered by hand if need be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from aiohttp import web

from workbench.log.events import DialectName
from workbench.models.reply_parts import Reported
from workbench.models.tokens import counter_for
from workbench.proxy.gate import Gate, HeldRequest, Release
from workbench.rehearsal import dialect as dialects
from workbench.rehearsal.answers import Pace, RehearsedAnswer
from workbench.rehearsal.anthropic_dialect import Anthropic
from workbench.rehearsal.faults import Refusal
from workbench.rehearsal.gemini_dialect import Gemini
from workbench.rehearsal.openai_dialect import OpenAI
from workbench.rehearsal.rehearsal_model import PlayedAnswer
from workbench.rehearsal.replies import JSON, STREAM
from workbench.rehearsal.request import RehearsalRequest
from workbench.rehearsal.responses_dialect import Responses
from workbench.wire.streams import loaded
from workbench.wire.values import dict_in, text_in

ALIVE_SECONDS = 10.0
"""After so long, and again and again, a client that streams is told that somebody is there."""
_SIGNS: Final[Mapping[DialectName, bytes]] = {
    "anthropic": dialects.event({"type": "ping"}, "ping"),
    "chat": b": held by workbench proxy\n\n",
    "responses": b": held by workbench proxy\n\n",
}
"""What keeps a stream alive without saying anything; Gemini's has nothing of the kind."""
_WRITERS: Final[Mapping[DialectName, Callable[[], dialects.Dialect]]] = {
    "chat": OpenAI,
    "responses": Responses,
    "anthropic": Anthropic,
    "gemini": Gemini,
}
_USAGE: Final = ("usage", "usageMetadata")


async def until_released(gate: Gate, held: HeldRequest, sign: Callable[[], Awaitable[None]]) -> Release:
    """Wait until somebody lets a request go, or the time is over; `sign` tells its client that somebody is there."""
    # The clock of the day may be set meanwhile.
    end = time.monotonic() + held.summary.until - held.summary.since
    with gate.holding(held):
        while True:
            rest = end - time.monotonic()
            done, _ = await asyncio.wait([held.released], timeout=max(0, min(rest, ALIVE_SECONDS)))
            if done:
                return held.released.result()
            if rest <= ALIVE_SECONDS:
                return Release("expired")
            await sign()


class OwnAnswer:
    """A text of one's own as the answer to a held request, in its dialect."""

    def __init__(self, held: HeldRequest, text: str, *, streams: bool) -> None:
        summary = held.summary
        self.writer = _WRITERS[summary.dialect]()
        used = Reported(summary.tokens, counter_for(summary.model).count(text).tokens)
        wants_usage = dict_in(held.body, "stream_options").get("include_usage") is True
        self.request = RehearsalRequest(
            (), (), summary.model, streams, summary.dialect != "chat" or wants_usage, body=held.body
        )
        self.played = PlayedAnswer(RehearsedAnswer(text, usage=used), Pace())
        self.ident = f"held{summary.id}"
        self.whole = self.writer.whole(self.played, self.request, self.ident)

    @property
    def recorded(self) -> dict[str, Any]:
        """Without figures that nobody reported."""
        return {key: value for key, value in self.whole.items() if key not in _USAGE}


class Holding:
    """The wait of one request."""

    def __init__(self, incoming: web.BaseRequest, held: HeldRequest) -> None:
        self._incoming = incoming
        self._held = held
        self._dialect = held.summary.dialect
        self.response: web.StreamResponse | None = None
        """What was begun to keep the client waiting: its status is told, whatever the provider says."""

    @property
    def streams(self) -> bool:
        """Whether the client waits for a stream."""
        if self._dialect == "gemini":
            return "streamGenerateContent" in self._incoming.path
        return self._held.body.get("stream") is True

    async def wait(self, gate: Gate) -> Release:
        """Until somebody lets it go, or the time is over."""
        return await until_released(gate, self._held, self._sign)

    async def _sign(self) -> None:
        sign = _SIGNS.get(self._dialect)
        if sign is not None and self.streams:
            await (await self._begin()).write(sign)

    async def _begin(self) -> web.StreamResponse:
        if self.response is None:
            self.response = web.StreamResponse(headers=STREAM)
            await self.response.prepare(self._incoming)
        return self.response

    # Answers of our own

    async def answer(self, text: str) -> tuple[web.StreamResponse, bytes]:
        """Answer in the client's dialect; also the answer as it is recorded."""
        own = OwnAnswer(self._held, text, streams=self.streams)
        response: web.StreamResponse
        if not self.streams:
            response = web.Response(text=dialects.to_json(own.whole), content_type=JSON)
        elif self._dialect == "gemini" and self._incoming.query.get("alt") != "sse":
            response = web.Response(text=f"[{dialects.to_json(own.whole)}]", content_type=JSON)
        else:
            response = await self._begin()
            for each in own.writer.stream(own.played, own.request, own.ident):
                await response.write(each.data)
            await response.write_eof()
        return response, dialects.to_json(own.recorded).encode()

    async def tell_error(self, status: int, body: bytes) -> None:
        """What the provider refuses, after its client was told to wait: an error inside the stream."""
        assert self.response is not None
        error = dict_in(loaded(body), "error")
        refusal = Refusal(status, detail=text_in(error, "message") or body.decode(errors="replace")[:1000].strip())
        writer = _WRITERS[self._dialect]()
        said: dict[str, Any] = writer.error(refusal, self._held.summary.model)
        if error:
            said["error"] = error
        match self._dialect:
            case "anthropic":
                event = dialects.event(said, "error")
            case "responses":
                flat = {key: error.get(key) for key in ("code", "message", "param")}
                event = dialects.event({"type": "error", "status": status, **said, **flat}, "error")
            case _:
                event = dialects.event(said)
        await self.response.write(event)
        await self.response.write_eof()
