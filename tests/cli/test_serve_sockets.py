"""Sockets of the served page whose tab is gone."""

from __future__ import annotations

import logging
import sys

import aiohttp
import pytest

pytest.importorskip("textual_serve")

from aiohttp import web

from support.pages import open_page

SCREEN = "import os, sys; os.write(1, b'__GANGLION__\\n'); sys.stdin.buffer.read()"
"""A screen that starts, draws nothing, and ends with its input."""


async def test_a_tab_that_closes_while_its_ping_is_answered_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def pong(*_: object) -> None:
        raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")

    monkeypatch.setattr(web.WebSocketResponse, "pong", pong)
    with caplog.at_level(logging.ERROR):
        async with open_page(sys.executable, "-c", SCREEN) as page, aiohttp.ClientSession() as client:
            root, _, query = page.address.partition("?")
            async with client.ws_connect(f"{root}ws?{query}") as socket:
                await socket.ping()
                async for _ in socket:
                    pass
    assert caplog.records == []
