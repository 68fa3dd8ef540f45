"""One request on its way to the provider, and the answer on its way back; at a breakpoint it waits."""

from __future__ import annotations

import asyncio
import io
import logging
import re
import time
from functools import cache
from typing import Any, Final
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from workbench.config.background import in_background
from workbench.models.diagnose import connection_words
from workbench.proxy.gate import Gate, HeldRequest, Release, SeenRequest
from workbench.proxy.holding import Holding
from workbench.proxy.policies import PassingPolicies
from workbench.proxy.recorder import Recorded, Recorder, read_answer, read_body, unpacked
from workbench.proxy.routes import Route
from workbench.proxy.sessions import CameBack, HoldMark, SentRequest
from workbench.rehearsal.dialect import to_json

HOP_BY_HOP: Final = frozenset(
    (
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"),
        *("trailer", "transfer-encoding", "upgrade", "host", "content-length", "expect"),
    )
)
"""Headers of one connection; each side has its own."""
LARGE: Final = 1 << 20
"""Bytes above which a body is sent in pieces."""
MOST_RECORDED: Final = 64 * 1024 * 1024
"""Bytes of an answer that are kept for recording."""
SOON: Final = 0.1
"""Seconds after which the recorder waits no longer for an answer to begin."""
_NAMED = re.compile(r"/models/[^/:?]+:")

_log = logging.getLogger(__name__)


@cache
def way_out(scheme: str, host: str) -> str | None:
    """The proxy that this machine uses to get there. aiohttp would look at the environment for each request."""
    return None if proxy_bypass(host) else getproxies().get(scheme)


def forwarded(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The headers that go to the other side, each spelled in one way: aiohttp would send only one of two spellings."""
    spelled: dict[str, str] = {}
    pairs = ((name.lower(), name, value) for name, value in headers.items())
    return CIMultiDict((spelled.setdefault(low, name), value) for low, name, value in pairs if low not in HOP_BY_HOP)


class Forwarding:
    """One request on its way there and back."""

    def __init__(
        self,
        incoming: web.Request,
        client: aiohttp.ClientSession,
        route: Route,
        recorder: Recorder | None,
        gate: Gate | None,
        policies: PassingPolicies | None = None,
    ) -> None:
        """`gate`: where it may have to wait; `policies`: what may change it."""
        self._incoming = incoming
        self._headers = forwarded(incoming.headers)
        self._gate = gate
        self._policies = policies
        self._seen: SeenRequest | None = None
        self._holding: Holding | None = None
        self._release: Release | None = None
        self._client = client
        self._route = route
        self._recorder = recorder if route.dialect is not None else None
        self._recorded: Recorded | None = None
        self._response: web.StreamResponse | None = None
        self._status = 0
        self._came_with: CIMultiDict[str] = CIMultiDict()
        self._body = b""
        self._chunks: list[bytes] = []
        self._size = 0
        self._began = time.monotonic()
        self._at = time.time_ns() // 1_000_000
        self._first: float | None = None

    async def run(self, url: URL) -> web.StreamResponse:
        """Forward it; what cannot be reached is told in a sentence, what breaks off breaks off for the client too."""
        incoming = self._incoming
        if self._recorder is not None:
            await self._recorder.room()
            self._recorder.hold_off(self)
        timer = asyncio.get_running_loop().call_later(SOON, self._nobody_waits)
        problem = finish = ""
        try:
            self._body = await incoming.read() if incoming.body_exists else b""
            if self._gate is None or await self._let_through(self._gate):
                if self._policies is not None:
                    await self._obey(self._policies)
                url = _for_model(url, self._route.model) if self._release is not None else url
                await self._send(url)
        except asyncio.CancelledError:
            problem, finish = "the client went away", "cancelled"
            raise
        except ConnectionError as error:
            # aiohttp raises the same error for either side.
            if _is_gone(incoming) or not isinstance(error, aiohttp.ClientError):
                problem, finish = "the client went away", "cancelled"
            else:
                problem, finish = f"the provider broke off: {connection_words(error)}", "broken"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            problem, finish = connection_words(error), "broken"
        finally:
            timer.cancel()
            self._record(problem, finish)
        if not problem:
            assert self._response is not None
            return self._response
        if self._response is None:
            return _unreachable(url, problem)
        if self._holding is not None and not self._status and finish == "broken":
            await self._holding.tell_error(502, _sentence(url, problem).encode())
        else:
            _break_off(incoming)
        return self._response

    async def _send(self, url: URL) -> None:
        incoming = self._incoming
        data = self._body if len(self._body) < LARGE else io.BytesIO(self._body)
        async with self._client.request(
            incoming.method,
            url,
            headers=self._headers,
            data=data or None,
            allow_redirects=False,
            proxy=way_out(url.scheme, url.host or ""),
        ) as upstream:
            self._status, self._came_with = upstream.status, CIMultiDict(upstream.headers)
            if self._response is not None:
                await self._stream_late(upstream, self._response)
                return
            self._response = web.StreamResponse(
                status=self._status, reason=upstream.reason, headers=forwarded(upstream.headers)
            )
            if "Content-Length" in upstream.headers:
                self._response.headers["Content-Length"] = upstream.headers["Content-Length"]
            await self._response.prepare(incoming)
            await self._stream(upstream, self._response)
            await self._response.write_eof()

    # Waiting at a breakpoint

    async def _let_through(self, gate: Gate) -> bool:
        """Wait where a breakpoint says so; tells whether it goes on to the provider, or was answered by hand."""
        try:
            body, headers = self._body, self._incoming.headers
            held, self._seen = await gate.look(self._route, headers, lambda: read_body(body, headers))
        except Exception:  # whatever it is, the agent goes on
            _log.exception("breakpoints could not be looked at")
            return True
        if held is None:
            return True
        self._nobody_waits()
        held.session = lambda: self._recorded.session if self._recorded is not None else ""
        self._holding, began, release = Holding(self._incoming, held), time.monotonic(), Release("gone")
        try:
            release = await self._holding.wait(gate)
        finally:
            self._response = self._holding.response
            self._went_on(held, release, round((time.monotonic() - began) * 1000))
        if release.end != "answered":
            return True
        self._response, said = await self._holding.answer(release.text)
        self._status, self._came_with = 200, CIMultiDict({"Content-Type": "application/json"})
        self._keep(said)
        return False

    def _went_on(self, held: HeldRequest, release: Release, took: int) -> None:
        """It is on its way again: what was asked is recorded already, and what is sent in its place is now."""
        self._release, self._began = release, time.monotonic()
        sent = None
        if release.body is not None:
            self._route = self._route._replace(model=release.model or self._route.model)
            sent = self._replace(release.body)
        if self._response is not None:  # which says nothing of a compression
            self._headers["Accept-Encoding"] = "identity"
        if self._recorder is not None:
            self._recorder.hold_off(self)
        if self._recorded is not None:
            mark = HoldMark(held.summary.rule, held.summary.why, took, release.end, release.pinned)
            self._recorded.held(mark, sent, len(self._body) if sent else 0)

    def _replace(self, body: dict[str, Any]) -> SentRequest:
        """Something else is sent than was asked."""
        self._body = to_json(body).encode()
        self._headers.popall("Content-Encoding", None)
        return SentRequest(self._route, self._incoming.headers, body, time.time_ns() // 1_000_000)

    async def _obey(self, policies: PassingPolicies) -> None:
        """Have a policy change the request; whatever goes wrong with that, the request goes on as it was."""
        encoding = self._headers.get("Content-Encoding", "")
        body, route, headers = self._body, self._route, self._incoming.headers
        try:
            changed = await in_background(
                lambda: policies.changed(route, headers, read_body(body, {"Content-Encoding": encoding}))
            )
        except Exception:
            _log.exception("the policy could not be applied")
            return
        if changed is not None:
            self._record_request()
            sent = self._replace(changed)
            if self._recorded is not None:
                self._recorded.replaced(sent, len(self._body))

    async def _stream_late(self, upstream: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
        """An answer to a client that was told to wait already: it has a status, and no more headers are taken."""
        assert self._holding is not None
        packed = upstream.headers.get("Content-Encoding", "")
        if upstream.status == 200 and packed in ("", "identity"):
            await self._stream(upstream, response)
        else:
            said = await upstream.read()
            self._keep(said)
            if upstream.status != 200:
                await self._holding.tell_error(upstream.status, unpacked(said, packed))
                return
            await response.write(unpacked(said, packed))
        await response.write_eof()

    async def _stream(self, upstream: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
        recording = self._recorder is not None
        async for chunk in upstream.content.iter_any():
            await response.write(chunk)
            if self._first is None:
                self._first = time.monotonic()
                self._nobody_waits()
            if recording:
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size <= MOST_RECORDED:
            self._chunks.append(chunk)

    # Recording

    def _nobody_waits(self) -> None:
        """The first byte is there, or it takes so long that nothing of ours matters: the time to record."""
        if self._recorder is not None:
            self._recorder.go_on(self)
        self._record_request()

    def _record_request(self) -> None:
        if self._recorder is None or self._recorded is not None or not self._body:  # which may still be on its way
            return
        route, headers, body, at = self._route, self._incoming.headers, self._body, self._at

        def request() -> SentRequest | None:
            found = read_body(body, headers)
            return SentRequest(route, headers, found, at) if found else None

        self._recorded = self._recorder.sent(request, len(body))

    def _record(self, problem: str, finish: str) -> None:
        status, headers = self._status, self._came_with
        if self._seen is not None and status >= 400:
            self._seen.refused = f"the provider answered the last request with HTTP {status}"
        self._nobody_waits()
        if self._recorded is None:
            return
        dialect, chunks, first, began, ended = (
            self._route.dialect,
            self._chunks,
            self._first,
            self._began,
            time.monotonic(),
        )

        def came() -> CameBack:
            body = read_answer(dialect, b"".join(chunks), headers)
            until_first = None if first is None else round((first - began) * 1000)
            return CameBack(status, headers, body, until_first, round((ended - began) * 1000), problem, finish)

        self._recorded.answered(came, self._size)


def _unreachable(url: URL, problem: str) -> web.Response:
    """What a client is told where there is no provider: an error in the form that all dialects share."""
    error = {"type": "api_error", "message": _sentence(url, problem)}
    return web.json_response({"type": "error", "error": error}, status=502)


def _sentence(url: URL, problem: str) -> str:
    return f"workbench proxy: {url.with_query(None)} cannot be reached: {problem}"


def _for_model(url: URL, model: str) -> URL:
    """The address for another model, where it names one."""
    return URL(_NAMED.sub(lambda found: f"/models/{quote(model)}:", str(url)), encoded=True) if model else url


def _is_gone(incoming: web.Request) -> bool:
    return incoming.transport is None or incoming.transport.is_closing()


def _break_off(incoming: web.Request) -> None:
    """End the connection without the end of the answer, as the provider did."""
    transport = incoming.transport
    if transport is not None:
        transport.abort()
