"""A client that opens websockets to providers. It follows no redirect; of a refusal it has the provider's answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

import aiohttp
from multidict import CIMultiDict

from workbench.proxy.headers import forwarded_headers

MOST_OF_REFUSAL: Final = 64 * 1024
"""Bytes to read of a provider's answer if it refuses a websocket."""
REFUSAL_SECONDS: Final = 5


class WebsocketRefused(Exception):
    """Raised if a provider refuses a websocket. It has the provider's answer."""

    def __init__(self, status: int, reason: str, headers: CIMultiDict[str], body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body


async def _refuse(_: object, __: object, event: Any) -> None:
    """Raise an error if a handshake does not open a websocket. aiohttp would follow a redirect with all keys."""
    response: aiohttp.ClientResponse = event.response
    if response.status == 101:
        return
    body = b""
    with suppress(aiohttp.ClientError, TimeoutError, OSError):
        async with asyncio.timeout(REFUSAL_SECONDS):
            while len(body) < MOST_OF_REFUSAL and (chunk := await response.content.readany()):
                body += chunk
    response.close()
    raise WebsocketRefused(
        response.status, response.reason or "", forwarded_headers(response.headers), body[:MOST_OF_REFUSAL]
    )


def websocket_client(connector: aiohttp.BaseConnector, **more: Any) -> aiohttp.ClientSession:
    """A client for `pump_websocket` that never follows redirects."""
    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(_refuse)
    trace.on_request_end.append(_refuse)
    return aiohttp.ClientSession(connector=connector, connector_owner=False, trace_configs=[trace], **more)
