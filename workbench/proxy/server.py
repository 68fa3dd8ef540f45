"""The proxy: what a client sends goes to its provider, what comes back goes to the client, byte for byte."""

from __future__ import annotations

import asyncio
import io
import logging
import secrets
import time
from collections.abc import Mapping
from functools import cache
from typing import Final
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from workbench.config.errors import WorkbenchError
from workbench.proxy.recorder import Recorded, Recorder, read_answer, read_body
from workbench.proxy.routes import Route, Upstreams, route_of
from workbench.proxy.sessions import CameBack, SentRequest
from workbench.proxy.websockets import pump

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
MAX_FIELD: Final = 64 * 1024
SOON: Final = 0.1
"""Seconds after which a request is recorded, though nothing came back yet."""
CONNECT_SECONDS: Final = 30

_log = logging.getLogger(__name__)
# What is not HTTP is the client's mistake: he is told, and nobody else.
_log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))


class ProxyServer:
    """Serves while its `async with` lasts."""

    def __init__(self, upstreams: Upstreams, recorder: Recorder | None = None, port: int = 0, token: str = "") -> None:
        """`port` 0 takes a free one; `token`: what the path begins with, which keeps others on this machine out."""
        self.token = token or secrets.token_urlsafe(12)
        self.address = ""
        self._upstreams = upstreams
        self._recorder = recorder
        self._port = port
        self._client: aiohttp.ClientSession | None = None
        self._busy: set[asyncio.Task[object]] = set()
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=_log,
            handler_cancellation=True,  # a client that goes away ends what is done for him
            auto_decompress=False,
            max_line_size=MAX_FIELD,
            max_field_size=MAX_FIELD,
            shutdown_timeout=1,
        )

    async def __aenter__(self) -> ProxyServer:
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            max_line_size=MAX_FIELD,
            max_field_size=MAX_FIELD,
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        except (OSError, OverflowError) as error:
            await self._end()
            raise WorkbenchError(f"port {self._port}: cannot be opened: {error}") from error
        self.address = f"http://127.0.0.1:{self._runner.addresses[0][1]}/{self.token}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._end()

    async def _end(self) -> None:
        await self._runner.cleanup()
        if self._client is not None:
            await self._client.close()

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        head, path = f"/{self.token}", incoming.raw_path
        if not (path == head or path.startswith((head + "/", head + "?"))):
            return web.Response(status=404, text="workbench proxy: the address needs the token it was started with\n")
        path = path[len(head) :] or "/"
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)
        assert self._client is not None
        route = route_of(path.partition("?")[0], incoming.headers)
        url = self._upstreams.address(route.provider, path)
        if incoming.headers.get("Upgrade", "").lower() == "websocket":
            return await pump(incoming, self._client, url, route, forwarded(incoming.headers), self._recorder)
        return await _Forwarding(incoming, self._client, route, self._recorder).run(url)


@cache
def way_out(scheme: str, host: str) -> str | None:
    """The proxy that this machine uses to get there. aiohttp would look at the environment for each request."""
    return None if proxy_bypass(host) else getproxies().get(scheme)


def forwarded(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The headers that go to the other side."""
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in HOP_BY_HOP)


class _Forwarding:
    """One request on its way there and back."""

    def __init__(
        self, incoming: web.Request, client: aiohttp.ClientSession, route: Route, recorder: Recorder | None
    ) -> None:
        self._incoming = incoming
        self._client = client
        self._route = route
        self._recorder = recorder if route.dialect is not None else None
        self._recorded: Recorded | None = None
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
            self._recorder.hold_off()
        timer = asyncio.get_running_loop().call_later(SOON, self._record_request)
        status, headers, problem, finish = 0, CIMultiDict[str](), "", ""
        response: web.StreamResponse | None = None
        try:
            self._body = await incoming.read() if incoming.body_exists else b""
            data = self._body if len(self._body) < LARGE else io.BytesIO(self._body)
            async with self._client.request(
                incoming.method,
                url,
                headers=forwarded(incoming.headers),
                data=data or None,
                allow_redirects=False,
                proxy=way_out(url.scheme, url.host or ""),
            ) as upstream:
                status, headers = upstream.status, CIMultiDict(upstream.headers)
                response = web.StreamResponse(
                    status=status, reason=upstream.reason, headers=forwarded(upstream.headers)
                )
                if "Content-Length" in upstream.headers:
                    response.headers["Content-Length"] = upstream.headers["Content-Length"]
                await response.prepare(incoming)
                await self._stream(upstream, response)
                await response.write_eof()
        except asyncio.CancelledError:
            problem, finish = "the client went away", "cancelled"
            raise
        except ConnectionError as error:
            if isinstance(error, aiohttp.ClientError):
                problem, finish = f"the provider broke off: {_words(error)}", "broken"
            else:
                problem, finish = "the client went away", "cancelled"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            problem, finish = _words(error), "broken"
        finally:
            timer.cancel()
            self._record(status, headers, problem, finish)
        if not problem:
            assert response is not None
            return response
        if response is None:
            return _unreachable(url, problem)
        _break_off(incoming)
        return response

    async def _stream(self, upstream: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
        recording = self._recorder is not None
        async for chunk in upstream.content.iter_any():
            await response.write(chunk)
            if self._first is None:
                self._came()
                self._record_request()
            if recording:
                self._size += len(chunk)
                if self._size <= MOST_RECORDED:
                    self._chunks.append(chunk)

    # Recording

    def _came(self) -> None:
        """The first byte is there: from now on nobody waits for us."""
        self._first = time.monotonic()
        if self._recorder is not None:
            self._recorder.go_on()

    def _record_request(self) -> None:
        if self._recorder is None or self._recorded is not None:
            return
        route, headers, body, at = self._route, self._incoming.headers, self._body, self._at

        def request() -> SentRequest | None:
            found = read_body(body, headers)
            return SentRequest(route, headers, found, at) if found else None

        self._recorded = self._recorder.sent(request, len(body))

    def _record(self, status: int, headers: Mapping[str, str], problem: str, finish: str) -> None:
        if self._first is None and self._recorder is not None:
            self._recorder.go_on()
        self._record_request()
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


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _unreachable(url: URL, problem: str) -> web.Response:
    """What a client is told where there is no provider: an error in the form that all dialects share."""
    message = f"workbench proxy: {url.with_query(None)} cannot be reached: {problem}"
    return web.json_response({"type": "error", "error": {"type": "api_error", "message": message}}, status=502)


def _break_off(incoming: web.Request) -> None:
    """End the connection without the end of the answer, as the provider did."""
    transport = incoming.transport
    if transport is not None:
        transport.abort()
