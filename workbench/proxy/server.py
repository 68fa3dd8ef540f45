"""The proxy server: passes requests on to providers and answers back to clients, byte for byte."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict
from yarl import URL

from workbench.config.errors import WorkbenchError
from workbench.proxy.forwarding import Forwarding
from workbench.proxy.gate import Gate
from workbench.proxy.headers import forwarded_headers
from workbench.proxy.orders import follow_order
from workbench.proxy.policies import PassingPolicies
from workbench.proxy.received_spans import PATH, receive_spans
from workbench.proxy.recorder import Recorder
from workbench.proxy.routes import RequestTarget, Route, Upstreams, route_of
from workbench.proxy.token_server import ConnectionsWithoutToken, TokenServer, whole_request
from workbench.proxy.unpacking import LARGEST
from workbench.proxy.websocket_client import websocket_client
from workbench.proxy.websockets import pump_websocket
from workbench.wire.repeated_headers import RepeatedHeadersServer

MAX_FIELD: Final = 64 * 1024
CONNECT_SECONDS: Final = 30

_log = logging.getLogger(__name__)
# Input that is not HTTP is the client's mistake: only the client gets an error, and nothing is logged.
_log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))


_SERVING: Final[dict[str, Any]] = {
    "access_log": None,
    "logger": _log,
    "handler_cancellation": True,  # stops the work for a client that disconnects
    "auto_decompress": False,
    "max_line_size": MAX_FIELD,
    "max_field_size": MAX_FIELD,
}


class PassedRequest(NamedTuple):
    """A finished request."""

    method: str
    path: str
    """Without the query, which may contain a key."""
    provider: str
    status: int
    """0: the client disconnected before there was an answer."""
    seconds: float

    def __str__(self) -> str:
        status = self.status or "the client went away"
        return f"{datetime.now():%H:%M:%S} {self.provider}: {self.method} {self.path}: {status}, {self.seconds:.1f} s"


class ProxyServer:
    """Serves inside `async with`."""

    def __init__(
        self,
        upstreams: Upstreams,
        recorder: Recorder | None = None,
        port: int = 0,
        token: str = "",
        gate: Gate | None = None,
        policies: PassingPolicies | None = None,
        largest: int = LARGEST,
    ) -> None:
        """`port` 0 takes a free one; `token`: the beginning of the path, which keeps other users of this machine out.

        `largest`: the size in bytes up to which a body is read; a larger one is only passed on.
        """
        self.token = token or secrets.token_urlsafe(12)
        self.address = ""
        self.control = ""
        """The control address, if there is a gate. It has its own token, which agents do not know."""
        self._orders = secrets.token_urlsafe(24)
        self._gate = gate
        self._policies = policies
        self._largest = largest
        self._upstreams = upstreams
        self._recorder = recorder
        self._port = port
        self._client: aiohttp.ClientSession | None = None
        self._socket_client: aiohttp.ClientSession | None = None
        self._busy: set[asyncio.Task[object]] = set()
        self.requests = 0
        """The number of requests for a provider so far."""
        self.passed: Callable[[PassedRequest], None] = lambda request: None
        """Called at the end of each request."""
        self._web_server: TokenServer | None = None
        self._runner: web.ServerRunner | None = None

    async def __aenter__(self) -> ProxyServer:
        connector = aiohttp.TCPConnector(limit=0)
        settings: dict[str, Any] = {
            "timeout": aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            "auto_decompress": False,
            "cookie_jar": aiohttp.DummyCookieJar(),
            "skip_auto_headers": ("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            "max_line_size": MAX_FIELD,
            "max_field_size": MAX_FIELD,
        }
        self._client = aiohttp.ClientSession(connector=connector, **settings)
        self._socket_client = websocket_client(connector, **settings)
        self._web_server = TokenServer(self._handle, **_SERVING)
        asyncio.get_running_loop().set_exception_handler(self._web_server.on_loop_error)
        self._runner = web.ServerRunner(self._web_server, shutdown_timeout=1)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        except (OSError, OverflowError) as error:
            await self._end()
            why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
            raise WorkbenchError(f"port {self._port}: cannot be opened: {why}") from error
        here = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.address, self.control = f"{here}/{self.token}", f"{here}/{self._orders}"
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._end()

    async def _end(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        asyncio.get_running_loop().set_exception_handler(None)
        for client in (self._socket_client, self._client):
            if client is not None:
                await client.close()

    @property
    def strangers(self) -> ConnectionsWithoutToken:
        """The connections that have not sent the token."""
        assert self._web_server is not None
        return self._web_server.strangers

    def server_for(self, origin: str) -> RepeatedHeadersServer:
        """A server for clients that sent the token, and whose requests are for `origin`, as in https://example.org."""
        return RepeatedHeadersServer(partial(self._handle_opened, origin), request_factory=whole_request, **_SERVING)

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        head, path = f"/{self.token}", incoming.raw_path
        if not (path == head or path.startswith((head + "/", head + "?"))):
            if self._gate is not None and path.startswith(f"/{self._orders}/"):
                self.strangers.let_in(incoming.transport)
                return await follow_order(incoming, path[len(self._orders) + 1 :], self._gate, self._policies)
            return _needs_token()
        self.strangers.let_in(incoming.transport)
        path = path[len(head) :] or "/"
        if path.partition("?")[0] == PATH:
            return await receive_spans(incoming, self._recorder, self._largest)
        route = route_of(path.partition("?")[0], incoming.headers)
        target = self._upstreams.target_for(route.provider, path)
        return await self._forward(incoming, path, route, route.provider, target)

    async def _handle_opened(self, origin: str, incoming: web.BaseRequest) -> web.StreamResponse:
        path = incoming.raw_path
        if not path.startswith("/"):  # behind the host's name, it could become a part of the name
            return web.Response(status=400, text="workbench proxy: expected a path that begins with /\n")
        route = route_of(path.partition("?")[0], incoming.headers)
        target = self._upstreams.target_for(route.provider, path, origin)
        return await self._forward(incoming, path, route, origin.partition("//")[2], target)

    async def _forward(
        self, incoming: web.BaseRequest, path: str, route: Route, provider: str, target: RequestTarget
    ) -> web.StreamResponse:
        """Pass a request on. `provider`: the name to show for it."""
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)
        headers = forwarded_headers(incoming.headers, self.token, self._orders)
        if target.authorization:
            headers["Authorization"] = target.authorization
        self.requests += 1
        began, response = time.monotonic(), None
        try:
            response = await self._pass_on(incoming, target.url, route, headers)
            return response
        finally:
            status = 0 if response is None else response.status
            where = path.partition("?")[0]
            self.passed(PassedRequest(incoming.method, where, provider, status, time.monotonic() - began))

    async def _pass_on(
        self, incoming: web.BaseRequest, url: URL, route: Route, headers: CIMultiDict[str]
    ) -> web.StreamResponse:
        assert self._client is not None
        assert self._socket_client is not None
        if incoming.headers.get("Upgrade", "").lower() == "websocket":
            return await pump_websocket(
                incoming, self._socket_client, url, route, headers, self._recorder, self._gate, self._largest
            )
        gate = self._gate if self._gate is not None and self._gate.watches_route(route) else None
        policies = self._policies if self._policies is not None and self._policies.is_on else None
        policies = None if route.is_wrapped else policies
        return await Forwarding(
            incoming, self._client, route, headers, self._recorder, gate, policies, self._largest
        ).forward_request(url)


def _needs_token() -> web.Response:
    response = web.Response(status=404, text="workbench proxy: the address needs the token it was started with\n")
    response.force_close()
    return response
