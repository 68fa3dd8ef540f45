"""HTTP itself: what comes over the socket, byte by byte, and what goes back."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehearsal.conftest import client_of
from workbench.config.errors import WorkbenchError
from workbench.rehearsal import server as serving
from workbench.rehearsal.server import ReceivedRequest, RehearsalServer

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
PATHS = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/m:generateContent"]
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"


async def exchange(server: RehearsalServer, data: bytes, *, end: bool = False) -> bytes:
    """Send bytes, read all that comes until the server closes; `end`: nothing more will be sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    writer.write(data)
    if end:
        writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


def sized(body: bytes, *more: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n" % len(body) + b"".join(line + b"\r\n" for line in more) + b"\r\n" + body


async def test_one_connection_serves_many_requests(server: RehearsalServer) -> None:
    found = await exchange(server, sized(BODY) + sized(BODY) + sized(BODY, b"Connection: close"))
    assert found.count(b"HTTP/1.1 200 OK") == 3
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "127.0.0.1:1"}, 200),
        ({"Host": "[::1]:1"}, 200),
        ({"Host": "localhost", "Origin": "http://localhost"}, 200),
        ({"Host": "rebound.example:1"}, 403),
        ({"Host": "127.0.0.1.example"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:3000"}, 403),
        ({"Host": "localhost:1", "Origin": "https://page.example"}, 403),
        ({"Host": "localhost:1", "Origin": "null"}, 403),
    ],
)
async def test_other_hosts_and_web_pages_are_refused(
    server: RehearsalServer, client: httpx.AsyncClient, headers: dict[str, str], status: int
) -> None:
    for path in PATHS:
        found = await client.post(path, content=b"{}", headers=headers)
        assert (found.status_code == 403) == (status == 403)
    found = await client.get("/v1/responses", headers={**headers, "Upgrade": "websocket", "Connection": "Upgrade"})
    assert (found.status_code == 403) == (status == 403)
    assert (await client.get("/health", headers=headers)).status_code == status


async def test_many_connections_are_served_at_once(server: RehearsalServer, client: httpx.AsyncClient) -> None:
    waiting = asyncio.create_task(
        client.post("/v1/chat/completions", content=BODY, headers={"x-rehearse-fault": "mute"})
    )
    await server.arrival()
    found = await asyncio.gather(*(client.post("/v1/chat/completions", content=BODY) for _ in range(20)))
    assert [each.status_code for each in found] == [200] * 20
    assert not waiting.done()
    waiting.cancel()
    assert await server.requests[0].outcome == "gone"


async def test_a_body_in_chunks_with_trailers(server: RehearsalServer) -> None:
    chunked = b"%x;note=1\r\n%b\r\n%x\r\n%b\r\n0\r\nX-Trailer: 1\r\n\r\n" % (5, BODY[:5], len(BODY) - 5, BODY[5:])
    found = await exchange(server, HEAD + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunked)
    assert found.startswith(b"HTTP/1.1 200 OK")
    assert server.requests[0].body == json.loads(BODY)


async def test_a_header_may_come_twice(server: RehearsalServer) -> None:
    twice = (b"User-Agent: one", b"Content-Type: application/json", b"user-agent: two", b"content-type: text/plain")
    found = await exchange(server, sized(BODY, *twice, b"X-Odd: a", b"Connection: close"))
    assert found.startswith(b"HTTP/1.1 200 OK")
    headers = [(name, value) for name, value in server.requests[0].headers.items() if name.lower() != "host"]
    assert headers[1:-1] == [
        ("User-Agent", "one"),
        ("Content-Type", "application/json"),
        ("user-agent", "two"),
        ("content-type", "text/plain"),
        ("X-Odd", "a"),
    ]


@pytest.mark.parametrize("piece", [1, 7, 100_000])
async def test_a_header_may_come_twice_in_a_later_request_and_in_pieces(server: RehearsalServer, piece: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    for headers in ((), (b"User-Agent: one", b"User-Agent: two"), (), (b"Server: one", b"Server: two")):
        data = sized(BODY, *headers)
        for at in range(0, len(data), piece):
            writer.write(data[at : at + piece])
            await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b":")[2]))
    writer.close()
    assert [request.body for request in server.requests] == [json.loads(BODY)] * 4
    found = [value for name, value in server.requests[1].headers.items() if name == "User-Agent"]
    assert found == ["one", "two"]


async def test_a_client_that_waits_for_leave_to_send_gets_it(server: RehearsalServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    writer.write(HEAD + b"Content-Length: %d\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n" % len(BODY))
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(BODY)
    assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
    writer.close()


async def test_an_old_client_gets_no_chunks(server: RehearsalServer) -> None:
    body = json.dumps({**json.loads(BODY), "stream": True}).encode()
    found = await exchange(server, sized(body).replace(b"HTTP/1.1", b"HTTP/1.0"))
    head, _, rest = found.partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert rest.startswith(b"data: {")
    assert rest.endswith(b"data: [DONE]\n\n")


async def test_requests_of_some_megabytes_pass(server: RehearsalServer, client: httpx.AsyncClient) -> None:
    text = "a line of text\n" * 200_000
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    found = await client.post("/v1/chat/completions", json=body)
    assert found.status_code == 200
    assert server.requests[0].body == body
    assert found.json()["usage"]["prompt_tokens"] > 500_000


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\n\r\n",
        b"GET x HTTP/1.1\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        HEAD + b"Content-Length: many\r\n\r\n",
        HEAD + b"Content-Length: 4\r\nContent-Length: 2\r\n\r\nGET ",
        HEAD + b"host: y\r\n\r\n",
        HEAD + b"User-Agent: a\r\nUser-Agent: b\r\nno colon\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"x" * (serving.MAX_FIELD + 1),
    ],
)
async def test_what_is_not_http_is_refused_and_not_logged(
    server: RehearsalServer, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    assert (await exchange(server, data)).split()[1] == b"400"
    assert not server.requests
    assert not caplog.records


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\nHost: x", HEAD + b"Content-Length: 9\r\n\r\nshort"])
async def test_a_client_that_goes_in_the_middle_of_its_request_is_let_go(
    server: RehearsalServer, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    assert await exchange(server, data, end=True) == b""
    assert not server.requests
    assert not caplog.records


@pytest.mark.parametrize("path", PATHS)
async def test_a_body_that_is_too_large_is_refused_in_the_dialect(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(serving, "MAX_BODY", len(BODY) - 1)
    async with RehearsalServer() as server, client_of(server) as client:
        found = await client.post(path, content=BODY)
    assert found.status_code == 413
    assert "large" in found.json()["error"]["message"] or "size" in found.json()["error"]["message"]


@given(st.binary(max_size=300))
async def test_no_bytes_bring_the_server_down(data: bytes) -> None:
    async with RehearsalServer() as server:
        await exchange(server, data, end=True)
        assert (
            await exchange(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        ).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"[" * 100_000, b"{}", b'{"messages": 3, "input": 3, "contents": 3, "max_tokens": 1}', b"\xff"],
)
async def test_a_body_that_is_no_request_gets_an_error_in_the_dialect(
    client: httpx.AsyncClient, path: str, body: bytes
) -> None:
    found = await client.post(path, content=body)
    assert found.status_code == 400
    kind = found.json()["error"].get("type") or found.json()["error"]["status"]
    assert kind in ("invalid_request_error", "INVALID_ARGUMENT")
    assert "\n" not in found.json()["error"]["message"]


@pytest.mark.parametrize("path", [b"/api/hello", b"/", b"/v1/models", b"/v1/messages", b"/anything/else"])
async def test_head_has_no_body_anywhere_and_the_connection_goes_on(server: RehearsalServer, path: bytes) -> None:
    asked = b"HEAD %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % path
    found = await exchange(server, asked + asked + sized(BODY, b"Connection: close"))
    assert found.count(b"HTTP/1.1 200 OK") == 3
    rest = found.partition(b"\r\n\r\n")[2]
    assert rest.startswith(b"HTTP/1.1 200 OK"), "nothing stands between the answers"


async def test_an_unknown_fault_is_refused_by_name(client: httpx.AsyncClient) -> None:
    found = await client.post("/v1/chat/completions", content=BODY, headers={"x-rehearse-fault": "explode"})
    assert found.status_code == 400
    assert found.json()["error"]["message"].startswith("x-rehearse-fault: expected")


async def test_other_paths(client: httpx.AsyncClient) -> None:
    assert [each["id"] for each in (await client.get("/v1/models")).json()["data"]] == ["rehearsal"]
    theirs = (await client.get("/v1/models?limit=5", headers={"anthropic-version": "2023-06-01"})).json()
    assert theirs["data"][0]["type"] == "model"
    assert (await client.get("/health")).json()["status"] == "ok"
    assert (await client.head("/v1/models")).status_code == 200
    lost = await client.get("/v1/embeddings")
    assert lost.status_code == 404
    assert "/v1/chat/completions" in lost.json()["error"]["message"]


async def test_a_port_that_is_taken_is_named(server: RehearsalServer) -> None:
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(WorkbenchError, match=f"port {port}: cannot be opened: Address already in use"):
        async with RehearsalServer(port=port):
            pass


async def test_only_so_many_requests_are_kept() -> None:
    async with RehearsalServer(keep=2) as server, client_of(server) as client:
        for number in range(5):
            body = {"model": str(number), "messages": [{"role": "user", "content": "x"}]}
            await client.post("/chat/completions", json=body)
        assert [each.body["model"] for each in server.requests] == ["3", "4"]


async def test_leaving_ends_what_is_under_way() -> None:
    async with RehearsalServer() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
        writer.write(sized(BODY, b"x-rehearse-fault: mute"))
        await server.arrival()
    assert await reader.read() == b""
    assert server.requests[0].outcome.result() == "gone"
    writer.close()


async def test_the_last_request_can_be_waited_for_where_few_are_remembered() -> None:
    async with RehearsalServer(keep=1) as server, client_of(server) as client:
        for _ in range(2):
            await client.post(PATHS[0], content=BODY)
        assert await asyncio.wait_for(server.arrival(2), 10) is server.requests[0]
        with pytest.raises(LookupError, match="request 1 is no longer remembered"):
            await server.arrival(1)


async def test_an_outcome_that_nobody_waits_for_any_more_is_no_error() -> None:
    received = ReceivedRequest(PATHS[0], {}, {})
    received.outcome.cancel()
    received.note_outcome("complete")
    assert received.outcome.cancelled()
