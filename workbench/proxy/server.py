"""The proxy: what a client sends goes to its provider, what comes back goes to the client, byte for byte."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from typing import Final

import aiohttp
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from workbench.config.errors import WorkbenchError
from workbench.proxy.forwarding import Forwarding, forwarded
from workbench.proxy.gate import Gate
from workbench.proxy.orders import take_order
from workbench.proxy.policies import PassingPolicies
from workbench.proxy.recorder import Recorder
from workbench.proxy.routes import Upstreams, route_of
from workbench.proxy.websockets import pump
from workbench.rehearsal.repeated_headers import take_repeated_headers

MAX_FIELD: Final = 64 * 1024
CONNECT_SECONDS: Final = 30

_log = logging.getLogger(__name__)
# What is not HTTP is the client's mistake: he is told, and nobody else.
_log.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError)))


class ProxyServer:
    """Serves while its `async with` lasts."""

    def __init__(
        self,
        upstreams: Upstreams,
        recorder: Recorder | None = None,
        port: int = 0,
        token: str = "",
        gate: Gate | None = None,
        policies: PassingPolicies | None = None,
    ) -> None:
        """`port` 0 takes a free one; `token`: what the path begins with, which keeps others on this machine out."""
        self.token = token or secrets.token_urlsafe(12)
        self.address = ""
        self.control = ""
        """Where orders are taken, if there is a gate: under a token of their own, which agents do not have."""
        self._orders = secrets.token_urlsafe(24)
        self._gate = gate
        self._policies = policies
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
        take_repeated_headers()
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
        await self._runner.cleanup()
        if self._client is not None:
            await self._client.close()

    async def _handle(self, incoming: web.Request) -> web.StreamResponse:
        head, path = f"/{self.token}", incoming.raw_path
        if not (path == head or path.startswith((head + "/", head + "?"))):
            if self._gate is not None and path.startswith(f"/{self._orders}/"):
                return await take_order(incoming, path[len(self._orders) + 1 :], self._gate, self._policies)
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
            return await pump(
                incoming, self._client, url, route, forwarded(incoming.headers), self._recorder, self._gate
            )
        gate = self._gate if self._gate is not None and self._gate.looks_at(route) else None
        policies = self._policies if self._policies is not None and self._policies.is_on else None
        return await Forwarding(incoming, self._client, route, self._recorder, gate, policies).run(url)
