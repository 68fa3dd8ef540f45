"""Forwards one request to the provider and its answer back to the client. At a breakpoint the request waits."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from workbench.config.background import in_background
from workbench.models.diagnose import connection_words
from workbench.proxy.exchange_log import ExchangeLog
from workbench.proxy.gate import Gate, HeldRequest, Release, SeenRequest
from workbench.proxy.headers import PlainResponse, forwarded_headers, outgoing_proxy, safe_reason, sendable_headers
from workbench.proxy.holding import HeldConnection
from workbench.proxy.policies import PassingPolicies
from workbench.proxy.recorder import Recorder
from workbench.proxy.records import HeldRecord
from workbench.proxy.routes import Route
from workbench.proxy.unpacking import LARGEST, BodyTooLarge, read_body, too_large
from workbench.wire.speaking import to_json

STREAMED: Final = 128 * 1024
"""The size in bytes from which a body is passed on while it arrives; a smaller one is sent in one piece."""
PIECE: Final = 256 * 1024
POLICY_SECONDS: Final = 20
"""How long a policy may take to change a request. After that the request continues unchanged."""
SOON: Final = 0.1
"""Seconds after which a request is recorded even if its answer has not arrived."""
_NAMED = re.compile(r"/models/[^/:?]+:")

_log = logging.getLogger(__name__)


class Forwarding:
    """One request and its answer."""

    def __init__(
        self,
        incoming: web.BaseRequest,
        client: aiohttp.ClientSession,
        route: Route,
        headers: CIMultiDict[str],
        recorder: Recorder | None,
        gate: Gate | None,
        policies: PassingPolicies | None = None,
        largest: int = LARGEST,
    ) -> None:
        """`headers`: the headers to send; `gate`: where it may have to wait; `policies`: those that may change it.

        `largest`: the size in bytes up to which a body is read; a larger one is only passed on.
        """
        self._incoming = incoming
        self._headers = headers
        self._gate = gate
        self._policies = policies
        self._seen: SeenRequest | None = None
        self._holding: HeldConnection | None = None
        self._release: Release | None = None
        self._client = client
        self._route = route
        self._recorder = recorder if route.dialect is not None else None
        self._log = ExchangeLog(self._recorder, route, incoming.headers, largest, waits=gate is not None)
        self._response: web.StreamResponse | None = None
        self._status = 0
        self._came_with: CIMultiDict[str] = CIMultiDict()
        self._body = b""
        self._is_read = False
        """Whether the complete body has arrived."""
        self._largest = largest

    async def forward_request(self, url: URL) -> web.StreamResponse:
        """Forward the request. An unreachable provider gives an error with one sentence.

        If the provider breaks off its answer, the answer to the client breaks off, too.
        """
        incoming = self._incoming
        if self._recorder is not None and self._recorder.is_behind:
            await self._recorder.wait_for_room()
        timer = asyncio.get_running_loop().call_later(SOON, self._log.record_request)
        problem = finish = ""
        try:
            if await self._prepared():
                url = _for_model(url, self._route.model) if self._release is not None else url
                await self._send(url)
        except asyncio.CancelledError:
            problem, finish = "the client went away", "cancelled"
            raise
        except ConnectionError as error:
            # aiohttp raises the same error for both sides.
            if _is_gone(incoming) or not isinstance(error, aiohttp.ClientError):
                problem, finish = "the client went away", "cancelled"
            else:
                problem, finish = f"the provider broke off: {connection_words(error)}", "broken"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            problem, finish = connection_words(error), "broken"
        finally:
            timer.cancel()
            if self._seen is not None and self._status >= 400:
                self._seen.refused = f"the provider answered the last request with HTTP {self._status}"
            self._log.end(self._status, self._came_with, problem, finish)
        if not problem:
            assert self._response is not None
            return self._response
        if self._response is None:
            return _unreachable(url, problem)
        if self._holding is not None and not self._status and finish == "broken":
            await self._holding.send_error(502, _sentence(url, problem).encode())
        else:
            _break_off(incoming)
        return self._response

    async def _prepared(self) -> bool:
        """Read and perhaps change the request. Return False if it was answered by hand."""
        if self._gate is None and self._policies is None and (self._incoming.content_length or 0) >= STREAMED:
            return True  # it is passed on while it arrives
        await self._read()
        if self._log.unread:
            return True
        if self._gate is not None and not await self._let_through(self._gate):
            return False
        if self._policies is not None and not self._log.unread:
            await self._obey(self._policies)
        return True

    async def _read(self) -> None:
        """Read the request. If it is too large, only its beginning; the rest is passed on while it arrives."""
        if (self._incoming.content_length or 0) > self._largest:
            self._log.unread = too_large(self._largest)
            return
        parts, size = [], 0
        while chunk := await self._incoming.content.readany():
            parts.append(chunk)
            size += len(chunk)
            if size > self._largest:
                self._log.unread = too_large(self._largest)
                break
        self._body = parts[0] if len(parts) == 1 else b"".join(parts)
        if not self._log.unread:
            self._is_read = True
            self._log.set_request([self._body] if self._body else ())

    async def _passing_body(self) -> AsyncIterator[bytes]:
        """The body in pieces while it arrives. Up to a limit it is kept for the recorder."""
        body, self._body = self._body, b""
        for at in range(0, len(body), PIECE):
            yield body[at : at + PIECE]
        parts, size = ([body] if body else []), len(body)
        del body
        while chunk := await self._incoming.content.readany():
            if not self._log.unread:
                parts.append(chunk)
                size += len(chunk)
                if size > self._largest:
                    self._log.unread = too_large(self._largest)
                    parts.clear()
            yield chunk
        if not self._log.unread:
            self._log.set_request(parts)

    async def _send(self, url: URL) -> None:
        incoming = self._incoming
        data: Any = self._body or None
        if not self._is_read:
            data = self._passing_body()
            if "Content-Length" in incoming.headers:
                self._headers["Content-Length"] = incoming.headers["Content-Length"]
        elif len(self._body) >= STREAMED:
            data = _in_pieces(self._body)
            self._headers["Content-Length"] = str(len(self._body))
        async with self._client.request(
            incoming.method,
            url,
            headers=self._headers,
            data=data,
            allow_redirects=False,
            proxy=outgoing_proxy(url.scheme, url.host or ""),
        ) as upstream:
            self._status, self._came_with = upstream.status, CIMultiDict(upstream.headers)
            if self._response is not None:
                await self._stream_late(upstream, self._response)
                return
            headers = sendable_headers(forwarded_headers(upstream.headers))
            first = _already_there(upstream)
            self._response = PlainResponse(
                status=self._status, reason=safe_reason(upstream.reason), headers=headers, with_first_chunk=bool(first)
            )
            if "Content-Length" in upstream.headers:
                self._response.headers["Content-Length"] = upstream.headers["Content-Length"]
            await self._response.prepare(incoming)
            await self._stream(upstream, self._response, first)
            await self._response.write_eof()

    # Waiting at a breakpoint

    async def _let_through(self, gate: Gate) -> bool:
        """Wait if a breakpoint matches. Return whether the request goes to the provider; False: answered by hand."""
        try:
            body, headers, largest = self._body, self._incoming.headers, self._largest
            held, self._seen = await gate.decide_hold(self._route, headers, lambda: read_body(body, headers, largest))
        except BodyTooLarge as error:
            self._log.unread = str(error)
            return True
        except Exception:  # whatever the error, the request continues
            _log.exception("breakpoints could not be checked")
            return True
        if held is None:
            return True
        self._log.record_request()
        held.session = lambda: self._log.session
        self._holding, began, release = HeldConnection(self._incoming, held), time.monotonic(), Release("gone")
        try:
            release = await self._holding.wait(gate)
        finally:
            self._response = self._holding.response
            self._went_on(held, release, round((time.monotonic() - began) * 1000))
        if release.end != "answered":
            return True
        self._response, answer = await self._holding.answer(release.text)
        self._status, self._came_with = 200, CIMultiDict({"Content-Type": "application/json"})
        self._log.keep_chunk(answer)
        return False

    def _went_on(self, held: HeldRequest, release: Release, took: int) -> None:
        """Continue after a wait. The client's request is already recorded; record the one that is sent instead."""
        self._release = release
        self._log.record_hold(HeldRecord(held.summary.rule, held.summary.why, took, release.end, tuple(release.pinned)))
        if release.body is not None:
            self._route = self._route._replace(model=release.model or self._route.model)
            self._replace(release.body)
        if self._response is not None:  # its headers announce no compression
            self._headers["Accept-Encoding"] = "identity"

    def _replace(self, body: dict[str, Any]) -> None:
        """Send another body instead, and record it."""
        self._body = to_json(body).encode()
        self._headers.popall("Content-Encoding", None)
        self._log.record_replacement(self._body, self._route.model)

    async def _obey(self, policies: PassingPolicies) -> None:
        """Let a policy change the request. On any error the request continues unchanged."""
        encoding = self._headers.get("Content-Encoding", "")
        body, route, headers, largest = self._body, self._route, self._incoming.headers, self._largest
        try:
            async with asyncio.timeout(POLICY_SECONDS):
                changed = await in_background(
                    lambda: policies.changed_body(
                        route, headers, read_body(body, {"Content-Encoding": encoding}, largest)
                    )
                )
        except BodyTooLarge as error:
            self._log.unread = str(error)
            return
        except TimeoutError:
            _log.warning("a request passed as it was: the policy took more than %d seconds", POLICY_SECONDS)
            return
        except Exception:
            _log.exception("the policy could not be applied")
            return
        if changed is not None:
            self._replace(changed)

    async def _stream_late(self, upstream: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
        """Stream to a client that already got a status and headers while it waited; no headers can be sent any more."""
        assert self._holding is not None
        packed = upstream.headers.get("Content-Encoding", "")
        if upstream.status == 200 and packed in ("", "identity"):
            await self._stream(upstream, response)
        else:
            async for chunk in upstream.content.iter_any():
                self._log.keep_chunk(chunk)
            unpacked = self._unpacked(packed)
            if upstream.status != 200:
                await self._holding.send_error(upstream.status, unpacked)
                return
            await response.write(unpacked)
        await response.write_eof()

    def _unpacked(self, packed: str) -> bytes:
        """The answer, decompressed, for a client that can no longer get a header for its compression."""
        try:
            return self._log.unpacked(packed)
        except BodyTooLarge as error:
            raise aiohttp.ClientPayloadError(f"the answer is not readable: {error}") from error

    async def _stream(self, upstream: aiohttp.ClientResponse, response: web.StreamResponse, first: bytes = b"") -> None:
        keep, write, read = self._log.keep_chunk, response.write, upstream.content.readany
        chunk = first or await read()
        while chunk:
            await write(chunk)
            keep(chunk)
            chunk = await read()


def _already_there(upstream: aiohttp.ClientResponse) -> bytes:
    """The bytes of an answer that arrived together with its headers; empty if there are none yet."""
    with suppress(Exception):  # an error appears again when the answer is read
        return upstream.content.read_nowait()
    return b""


async def _in_pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), PIECE):
        yield body[at : at + PIECE]


def _unreachable(url: URL, problem: str) -> web.Response:
    """The answer if the provider cannot be reached: an error in the form that all dialects share."""
    error = {"type": "api_error", "message": _sentence(url, problem)}
    return web.json_response({"type": "error", "error": error}, status=502)


def _sentence(url: URL, problem: str) -> str:
    return f"workbench proxy: {url.with_query(None)} cannot be reached: {problem}"


def _for_model(url: URL, model: str) -> URL:
    """The address for another model, if the address names the model."""
    return URL(_NAMED.sub(lambda found: f"/models/{quote(model)}:", str(url)), encoded=True) if model else url


def _is_gone(incoming: web.BaseRequest) -> bool:
    return incoming.transport is None or incoming.transport.is_closing()


def _break_off(incoming: web.BaseRequest) -> None:
    """Close the connection before the end of the answer, as the provider did."""
    transport = incoming.transport
    if transport is not None:
        transport.abort()
