"""The page of `workbench serve` in the process of a test."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from workbench.cli.web import WebPage


@asynccontextmanager
async def open_page(*command: str) -> AsyncIterator[WebPage]:
    """A page whose visits start a command, served as `serve` does until ctrl+c."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = WebPage(command, "127.0.0.1", listening)
        runner = web.AppRunner(await made._make_app())
        await runner.setup()
        await web.SockSite(runner, listening).start()
        yield made
        await runner.cleanup()
