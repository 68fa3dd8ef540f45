"""The page and the socket behind it, with a lock: a screen that runs commands must not be typed at by other pages.

A browser lets any page open a socket to this machine. So the address has a token in it, which becomes a cookie, and
requests for another host or from another page are refused.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable
from importlib.resources import files
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.server import Server

COOKIE = "workbench"
EVERY = ("0.0.0.0", "::")
"""All addresses of the machine: by which name a browser comes is not known."""
SECONDS = 2.0
"""For open pages to close when the server ends."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Page(Server):
    """Serves one command, a process of its own for each visit."""

    def __init__(self, command: str, host: str, listening: socket.socket) -> None:
        """`listening`: where to answer; the host is how people call it."""
        port = int(listening.getsockname()[1])
        self._any = host in EVERY
        name = socket.gethostname() if self._any else f"[{host}]" if ":" in host else host
        page = str(files("workbench") / "cli" / "page")
        super().__init__(command, name, port, "workbench", f"http://{name}:{port}", templates_path=page)
        self._listening = listening
        self._token = secrets.token_urlsafe(24)
        self._hosts = {f"{name}:{port}", name} if port == 80 else {f"{name}:{port}"}

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"{self.public_url}/?token={self._token}"

    def serve(self, debug: bool = False) -> None:
        """Until ctrl+c, or until the process is asked to end."""
        self.debug = debug
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # a screen that ends after the server is no news
        web.run_app(self._make_app(), sock=self._listening, print=None, shutdown_timeout=SECONDS, access_log=None)

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """One line, that a program can read as well."""
        print(f"serving on {self.address} (ctrl+c ends it)", flush=True)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/static/"):
            return await handler(request)
        if not self._is_ours(request):
            raise web.HTTPForbidden(text="Open the address that `workbench serve` printed.")
        response = await handler(request)
        if not response.prepared:
            response.set_cookie(COOKIE, self._token, httponly=True, samesite="Strict")
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    def _is_ours(self, request: web.Request) -> bool:
        """Whether a request is for us, from a page of ours, by somebody who knows the token."""
        origin = request.headers.get("Origin")
        if not self._any and request.host not in self._hosts:
            return False
        if origin is not None and urlsplit(origin).netloc != request.host:
            return False
        given = request.query.get("token") or request.cookies.get(COOKIE, "")
        return hmac.compare_digest(given.encode(), self._token.encode())
