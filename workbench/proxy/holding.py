"""Lets a request wait. Its client sees a slow provider, does not time out, and may get an answer written by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from workbench.models.reply_parts import ReportedUsage
from workbench.models.tokens import counter_for
from workbench.proxy.gate import Gate, HeldRequest, Release
from workbench.wire.answers import PacedAnswer, Refusal, WrittenAnswer
from workbench.wire.checked_requests import CheckedRequest
from workbench.wire.dialects import DIALECTS
from workbench.wire.speaking import stream_headers, to_json
from workbench.wire.streams import parsed_json
from workbench.wire.values import dict_in, text_in

JSON: Final = "application/json"
ALIVE_SECONDS = 10.0
"""The interval in seconds at which a waiting client that streams gets a sign of life."""


async def until_released(gate: Gate, held: HeldRequest, sign: Callable[[], Awaitable[None]]) -> Release:
    """Wait until a request is released or its time is up. `sign` sends the client a sign of life."""
    # The system clock may be changed meanwhile.
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
    """A text written by hand as the answer to a held request, in its dialect."""

    def __init__(self, held: HeldRequest, text: str, *, streams: bool) -> None:
        summary = held.summary
        dialect = DIALECTS[summary.dialect]
        self.writer = dialect.new_speaker()
        used = ReportedUsage(summary.tokens, counter_for(summary.model).count(text).tokens)
        wants_usage = dict_in(held.body, "stream_options").get("include_usage") is True
        reports = self.writer.always_reports or wants_usage
        self.request = CheckedRequest((), (), summary.model, streams, reports, body=held.body)
        self.played = PacedAnswer(WrittenAnswer(text, usage=used))
        self.ident = f"held{summary.id}"
        self.full_answer = self.writer.full_answer(self.played, self.request, self.ident)
        self._reported = dialect.usage_json(used).keys()

    @property
    def recorded(self) -> dict[str, Any]:
        """The answer without usage figures, which no provider reported."""
        return {key: value for key, value in self.full_answer.items() if key not in self._reported}


class HeldConnection:
    """One request while it waits."""

    def __init__(self, incoming: web.BaseRequest, held: HeldRequest) -> None:
        self._incoming = incoming
        self._held = held
        self._dialect = DIALECTS[held.summary.dialect]
        self._speaker = self._dialect.new_speaker()
        self.response: web.StreamResponse | None = None
        """The response that was begun to keep the client waiting. Its status is sent before the provider answers."""

    @property
    def streams(self) -> bool:
        """Whether the client wants a stream."""
        return self._dialect.wants_stream(self._held.body, self._incoming.path)

    async def wait(self, gate: Gate) -> Release:
        return await until_released(gate, self._held, self._sign)

    async def _sign(self) -> None:
        sign = self._dialect.alive_sign
        if sign and self.streams:
            await (await self._begin()).write(sign)

    async def _begin(self) -> web.StreamResponse:
        if self.response is None:
            self.response = web.StreamResponse(headers=stream_headers(self._speaker))
            await self.response.prepare(self._incoming)
        return self.response

    # Answers written here

    async def answer(self, text: str) -> tuple[web.StreamResponse, bytes]:
        """Answer in the client's dialect. Also return the answer in the form to record."""
        own = OwnAnswer(self._held, text, streams=self.streams)
        response: web.StreamResponse
        if not self.streams:
            response = web.Response(text=to_json(own.full_answer), content_type=JSON)
        elif not self._dialect.streams_events(self._incoming.query):
            response = web.Response(text=f"[{to_json(own.full_answer)}]", content_type=JSON)
        else:
            response = await self._begin()
            for each in own.writer.stream(own.played, own.request, own.ident):
                await response.write(each.data)
            await response.write_eof()
        return response, to_json(own.recorded).encode()

    async def send_error(self, status: int, body: bytes) -> None:
        """Send the provider's error inside the stream, because the status was already sent while the client waited."""
        assert self.response is not None
        found = parsed_json(body)
        error = dict_in(found, "error")
        words = text_in(error, "message") or text_in(found, "error")
        refusal = Refusal(status, detail=words or body.decode(errors="replace")[:1000].strip())
        error_body = self._speaker.error(refusal, self._held.summary.model)
        if error:
            error_body["error"] = error
        await self.response.write(self._speaker.late_error_event(error_body, status))
        await self.response.write_eof()
