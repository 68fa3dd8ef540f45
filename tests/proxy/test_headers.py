"""Headers of one connection and our own secrets stay here; what a provider refuses or redirects comes back as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDict

from proxy.test_server import ASK, WHOLE, proxy
from proxy.test_websockets import serving
from support.provider import Answer, Provider
from workbench.proxy.headers import sendable_headers

JSON = "application/json"


def _raw(head: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        await writer.drain()
        writer.close()

    return answer


async def test_headers_that_connection_names_and_those_with_the_token_are_not_sent_on(tmp_path: Path) -> None:
    answer = Answer(
        body=WHOLE, content_type=JSON, headers={"Connection": "keep-alive, X-Hop", "X-Hop": "1", "X-End": "2"}
    )
    async with Provider(answer) as provider, proxy(tmp_path, provider.url) as running:
        token = running.address.rpartition("/")[2]
        headers = {
            "Connection": "keep-alive, x-secret , X-Other",
            "X-Secret": "a",
            "x-other": "b",
            "X-Kept": "c",
            "Referer": f"{running.address}/v1",
            "X-Page": f"from {token}",
        }
        async with running.client.post(running.url, json=ASK, headers=headers) as came:
            assert await came.read() == WHOLE
            assert ("X-Hop" in came.headers, came.headers["X-End"]) == (False, "2")
        got = provider.requests[0].headers
        assert got["x-kept"] == "c"
        assert not {"x-secret", "x-other", "referer", "x-page"} & {*got}
        assert token not in str(got)


def test_headers_are_sent_without_control_characters_whichever_has_them() -> None:
    headers = CIMultiDict({"X-One": "a\x1bb", "X-Two": "c"})
    assert sendable_headers(headers) == CIMultiDict({"X-One": "a b", "X-Two": "c"})


@pytest.mark.parametrize("reason", [b"O\x1b[31mK", b"", b"a\x07\x08b", b"\xc3\xa9\xff"])
async def test_a_reason_with_control_characters_is_sent_without_them(reason: bytes, tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 " + reason + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    server = await asyncio.start_server(_raw(head), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server, proxy(tmp_path, url) as running, running.client.post(running.url, json=ASK) as came:
        assert (came.status, await came.read()) == (200, b"{}")
        assert "\x1b" not in (came.reason or "")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("socket", [False, True], ids=["http", "websocket"])
async def test_a_redirect_reaches_the_client_and_no_key_follows_it(status: int, socket: bool, tmp_path: Path) -> None:
    asked: list[str] = []

    async def elsewhere(incoming: web.Request) -> web.Response:
        asked.append(incoming.headers.get("x-api-key", ""))
        return web.Response()

    async with serving(elsewhere) as other:

        async def redirect(_: web.Request) -> web.Response:
            return web.Response(status=status, headers={"Location": other}, text="moved")

        async with serving(redirect) as url, proxy(tmp_path, url) as running:
            headers = {"x-api-key": "secret", "Authorization": "Bearer secret"}
            if socket:
                headers |= {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
                headers["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
                asking = running.client.get(running.address + "/v1/responses", headers=headers, allow_redirects=False)
            else:
                asking = running.client.post(running.url, json=ASK, headers=headers, allow_redirects=False)
            async with asking as came:
                assert (came.status, came.headers["Location"], await came.text()) == (status, other, "moved")
    assert asked == []


async def test_a_refused_websocket_keeps_its_status_its_headers_and_what_it_says(tmp_path: Path) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=429, headers={"Retry-After": "7"}, text="later")

    async with serving(refuse) as url, proxy(tmp_path, url) as running:
        with pytest.raises(aiohttp.WSServerHandshakeError) as error:
            await running.client.ws_connect(running.address + "/v1/responses")
        assert error.value.status == 429
        assert error.value.headers is not None
        assert error.value.headers["Retry-After"] == "7"


async def test_date_server_and_a_type_that_the_provider_does_not_send_are_not_added(tmp_path: Path) -> None:
    bare = await asyncio.start_server(_raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), "127.0.0.1", 0)
    port = bare.sockets[0].getsockname()[1]
    async with (
        bare,
        proxy(tmp_path, f"http://127.0.0.1:{port}") as running,
        running.client.get(f"{running.address}/v1/models") as came,
    ):
        assert await came.read() == b"{}"
        assert {*came.headers} <= {"Content-Length", "Connection"}
