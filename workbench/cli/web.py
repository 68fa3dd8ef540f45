"""The page and its socket, protected by a token: no other page may type into a screen that runs commands.

A browser lets any page open a socket to this machine. So the address has a token in it, which becomes a cookie, and
requests for another host or from another page are refused.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import aiohttp_jinja2
from aiohttp import WSCloseCode, web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from workbench.cli.web_session import GRACE, BrowserVisit

EVERY = ("0.0.0.0", "::")
"""All addresses of the machine: we do not know which host name a browser uses."""
GUARDS = {
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""No other page can put this one in a frame (and redirect clicks) or read it."""
SOURCES = (
    "default-src 'none'; connect-src 'self'; font-src 'self'; img-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self' 'nonce-{nonce}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page may load from this server only. The terminal sets inline styles."""

SIZE = (("width", 80), ("height", 24))
"""The terminal size if the page sends none."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebPage(Server):
    """Serves one command, with a process for each visit."""

    def __init__(self, command: Sequence[str], host: str, listening: socket.socket) -> None:
        """`listening`: the open socket; `host`: its name in the address."""
        bound, port = listening.getsockname()[:2]
        self._any = bound in EVERY
        name = _name_in_address(socket.gethostname() if self._any else host, bound)
        page = str(files("workbench") / "cli" / "page")
        super().__init__("", name, port, "workbench", f"http://{name}:{port}", templates_path=page)
        self._words = command
        self._listening = listening
        self._token = secrets.token_urlsafe(24)
        self._cookie = f"workbench-{port}"  # a browser sends a host's cookies to all its ports
        self._hosts = {f"{name}:{port}", name} if port == 80 else {f"{name}:{port}"}
        self._open: set[web.WebSocketResponse] = set()
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """The URL to open in a browser."""
        return f"{self.public_url}/?token={self._token}"

    def serve(self, debug: bool = False) -> None:
        """Serve until Ctrl+C or a signal, then wait for the screens to end."""
        web.run_app(self._make_app(), sock=self._listening, print=None, shutdown_timeout=GRACE + 1, access_log=None)

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Print the address in a line that a program can read, too."""
        print(f"serving on {self.address} (ctrl+c ends it)", flush=True)

    async def on_shutdown(self, app: web.Application) -> None:
        """Close the sockets, which ends the screens."""
        await asyncio.gather(*(each.close(code=WSCloseCode.GOING_AWAY) for each in self._open))

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        nonce = secrets.token_urlsafe(16)
        context: dict[str, Any] = {"font_size": to_int(request.query.get("fontsize", "16"), 16), "nonce": nonce}
        response = aiohttp_jinja2.render_template("app_index.html", request, context)
        response.headers["Content-Security-Policy"] = SOURCES.format(nonce=nonce)
        return response

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run a screen for one visit; it ends when the tab is closed."""
        opened = web.WebSocketResponse(heartbeat=15)
        await opened.prepare(request)
        self._open.add(opened)
        visit = BrowserVisit(self._words, opened, self.download_manager)
        try:
            # A reloaded page must find its session free, not locked by the screen before.
            await asyncio.gather(*self._ending)
            await visit.start(*(to_int(request.query.get(key, ""), least) for key, least in SIZE))
            await self._process_messages(opened, visit)
        finally:
            self._open.discard(opened)
            ending = asyncio.create_task(visit.stop())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            await ending
        return opened

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        """Pass on what a page sends; close the socket if it sends something invalid."""
        try:
            with suppress(ConnectionError):  # the tab is gone, perhaps while we answered a ping
                await super()._process_messages(websocket, app_service)
        except (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError):
            await websocket.close(code=WSCloseCode.POLICY_VIOLATION, message=b"no page of ours sends such a frame")

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/static/"):
            return await handler(request)
        if not self._is_ours(request):
            raise web.HTTPForbidden(text="Open the address that `workbench serve` printed.")
        response = await handler(request)
        if not response.prepared:
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="Strict")
            response.headers.update(GUARDS)
        return response

    def _is_ours(self, request: web.Request) -> bool:
        """Whether a request is for our host, from our page, and has the token."""
        origin, host = request.headers.get("Origin"), request.host.lower()
        if not self._any and host not in self._hosts:
            return False
        if origin is not None and _server_of(origin) != host:
            return False
        given = request.query.get("token") or request.cookies.get(self._cookie, "")
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._token.encode())


def _name_in_address(host: str, bound: str) -> str:
    """A host as browsers write it in an address; `bound` is the IP that it stands for."""
    try:
        socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except OSError:  # it is a name
        return host.lower()
    return f"[{bound}]" if ":" in bound else bound


def _server_of(origin: str) -> str | None:
    """The host and port of a page's origin; None if it is no URL."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None
