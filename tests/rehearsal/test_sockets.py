"""Websockets of the rehearsal server whose client is gone."""

from __future__ import annotations

import logging

import aiohttp
import pytest
from aiohttp import web

from workbench.rehearsal.server import RehearsalServer


async def test_a_client_that_leaves_while_its_ping_is_answered_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def pong(*_: object) -> None:
        raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")

    monkeypatch.setattr(web.WebSocketResponse, "pong", pong)
    with caplog.at_level(logging.ERROR):
        async with (
            RehearsalServer() as server,
            aiohttp.ClientSession() as client,
            client.ws_connect(f"{server.url}/v1/responses") as socket,
        ):
            await socket.ping()
            async for _ in socket:
                pass
    assert caplog.records == []
