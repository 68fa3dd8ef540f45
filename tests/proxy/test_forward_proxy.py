"""The forward proxy opens connections to the hosts that it is given, and leaves all others alone."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.test_server import ASK, CHUNKS, WHOLE, Running, proxy
from support.provider import Answer, Pause, Provider
from support.recorder_thread import in_thread
from support.tls_provider import TlsProvider
from support.waiting import GIVE_UP
from workbench.log.events import AssistantMessage, Request, Usage, UserMessage
from workbench.log.store import Store
from workbench.proxy import forward_proxy, token_server, tunnels
from workbench.proxy.certificates import HostCertificates, new_authority
from workbench.proxy.control import ReleaseOrder
from workbench.proxy.forward_proxy import ForwardProxy, _parsed_target, _Passing, _password
from workbench.proxy.gate import Gate
from workbench.proxy.opened_hosts import HostPort
from workbench.proxy.routes import Upstreams
from workbench.proxy.server import ProxyServer
from workbench.proxy.sessions import ProxySessions
from workbench.rehearsal.server import RehearsalServer

HOST = "api.openai.com"
FINE = Answer(body=WHOLE, content_type="application/json")


@dataclass
class Forward(Running):
    """A forward proxy before a provider, and the sessions that it records."""

    door: ForwardProxy
    server: ProxyServer
    trust: ssl.SSLContext
    client: aiohttp.ClientSession
    store: Store
    recorder: Any
    url: str = f"https://{HOST}/v1/chat/completions"

    @property
    def port(self) -> int:
        return int(self.door.address.rpartition(":")[2])

    def post(self, url: str = "", **more: Any) -> Any:
        return self.client.post(url or self.url, proxy=self.door.address, ssl=self.trust, **more)

    async def connect(self, target: str, authorization: str | None = None) -> bytes:
        """What the proxy answers to CONNECT."""
        own = b64encode(f"any:{self.server.token}".encode()).decode()
        sent = f"Basic {own}" if authorization is None else authorization
        return await said(self.port, f"CONNECT {target} HTTP/1.1\r\nProxy-Authorization: {sent}\r\n\r\n".encode())


async def said(port: int, text: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text)
    try:
        return await asyncio.wait_for(reader.read(), GIVE_UP)
    finally:
        writer.close()


@asynccontextmanager
async def forward(folder: Path, to: str, *hosts: HostPort, **more: Any) -> AsyncIterator[Forward]:
    opened = hosts or (HostPort(HOST),)
    authority = new_authority(each.host for each in opened)
    (folder / "ca.pem").write_bytes(authority.pem)
    trust = ssl.create_default_context(cafile=folder / "ca.pem")
    with Store.open(folder / "forward.db") as store:
        recorder = in_thread(ProxySessions(lambda: store), [].append)
        async with (
            ProxyServer(Upstreams(to), recorder, **more) as server,
            ForwardProxy(server, HostCertificates(authority, folder), opened) as made,
            aiohttp.ClientSession(auto_decompress=False) as client,
        ):
            yield Forward(made, server, trust, client, store, recorder)
        recorder.close(120)


async def test_what_is_recorded_is_the_same_as_by_an_address(tmp_path: Path) -> None:
    found = []
    for kind in (forward, proxy):
        async with Provider(FINE) as provider, kind(tmp_path, provider.url) as running:
            post = running.post if isinstance(running, Forward) else running.client.post
            async with post(running.url, json=ASK, headers={"X-Odd": "a b", "User-Agent": "agent/1"}) as came:
                assert (came.status, await came.read()) == (200, WHOLE)
            [got] = provider.requests
            headers = {name: value for name, value in got.headers.items() if name != "host"}
            requests = [each for each in await running.bodies() if isinstance(each, Request | AssistantMessage)]
            found.append((got.path, got.raw, headers, [(type(each), getattr(each, "parts", "")) for each in requests]))
    assert found[0] == found[1]
    assert found[0][3]


async def test_the_client_gets_a_certificate_for_the_host_and_no_newer_http(tmp_path: Path) -> None:
    async with Provider(FINE) as provider, forward(tmp_path, provider.url) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        token = b64encode(f"x:{running.server.token}".encode()).decode()
        writer.write(f"CONNECT {HOST}:443 HTTP/1.1\r\nproxy-authorization: basic {token}\r\n\r\n".encode())
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        running.trust.set_alpn_protocols(["h2", "http/1.1"])
        await writer.start_tls(running.trust, server_hostname=HOST)
        spoken = writer.get_extra_info("ssl_object")
        assert spoken.selected_alpn_protocol() == "http/1.1"
        assert spoken.getpeercert()["subjectAltName"] == (("DNS", HOST),)
        for _ in range(2):  # one connection has many requests
            writer.write(b"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(len(WHOLE))
        assert [each.path for each in provider.requests] == ["/v1/models"] * 2
        writer.close()


async def test_a_stream_comes_as_it_goes(tmp_path: Path) -> None:
    gate = asyncio.Event()
    async with (
        Provider(Answer(steps=[CHUNKS[0], Pause(gate), *CHUNKS[1:]])) as provider,
        forward(tmp_path, provider.url) as running,
        running.post(json={**ASK, "stream": True}) as came,
    ):
        assert b"one " in await came.content.readuntil(b"\n\n")
        gate.set()
        assert b"[DONE]" in await came.read()


async def test_a_websocket_passes(tmp_path: Path) -> None:
    ask = {"type": "response.create", "model": "m", "input": [{"role": "user", "content": "hello there"}]}
    async with RehearsalServer() as provider, forward(tmp_path, provider.url) as running:
        url = f"wss://{HOST}/v1/responses"
        async with running.client.ws_connect(url, proxy=running.door.address, ssl=running.trust) as socket:
            await socket.send_json(ask)
            events: list[Any] = []
            while not events or events[-1]["type"] != "response.completed":
                events.append(await socket.receive_json(timeout=GIVE_UP))
        assert any(isinstance(each, AssistantMessage) for each in await running.bodies())


INNER = {
    "contents": [{"role": "user", "parts": [{"text": "hello there"}]}],
    "systemInstruction": {"role": "user", "parts": [{"text": "You are an agent."}]},
}
SAID = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "done"}]}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1},
    "modelVersion": "gemini-2.5-pro",
}


@pytest.mark.parametrize("streams", [True, False])
async def test_requests_with_a_google_login_are_recorded_like_those_with_a_key(streams: bool, tmp_path: Path) -> None:
    host, method = "cloudcode-pa.googleapis.com", "streamGenerateContent?alt=sse" if streams else "generateContent"
    outer = {"model": "gemini-2.5-pro", "project": "p", "user_prompt_id": "u", "request": INNER | {"session_id": "s"}}
    found: list[Any] = []
    for path, asked, answer in (
        (f"/v1internal:{method}", outer, {"response": SAID, "traceId": "t"}),
        (f"/v1beta/models/gemini-2.5-pro:{method}", INNER, SAID),
    ):
        came_with = Answer(body=json.dumps(answer).encode(), content_type="application/json")
        provider = Provider(Answer(steps=[answer], done=False) if streams else came_with)
        folder = tmp_path / str(len(found))
        folder.mkdir()
        gate = Gate(["every"]) if asked is outer else None  # such a request is not held
        async with provider, forward(folder, provider.url.removesuffix("/v1"), HostPort(host), gate=gate) as running:
            async with running.post(f"https://{host}{path}", json=asked) as came:
                assert came.status == 200
                await came.read()
            assert provider.requests[0].body == asked
            events = await running.bodies()
            found.append([_shown(each) for each in events if isinstance(each, Usage | AssistantMessage | UserMessage)])
            assert [each.model for each in events if isinstance(each, Request)] == ["gemini-2.5-pro"]
    assert found[0] == found[1]
    assert len(found[0]) == 3


def _shown(event: Any) -> Any:
    if isinstance(event, Usage):
        return event.model, event.prompt, event.completion
    return type(event), event.content


async def test_a_breakpoint_holds_what_passes(tmp_path: Path) -> None:
    gate = Gate(["every"])
    async with Provider(FINE) as provider, forward(tmp_path, provider.url, gate=gate) as running:
        asking = asyncio.create_task(_whole(running))
        while not gate.held:
            await asyncio.sleep(0)
        [held] = gate.held
        gate.release(held, ReleaseOrder("answered", text="by hand"))
        assert b"by hand" in await asking
        assert not provider.requests


async def _whole(running: Forward) -> bytes:
    async with running.post(json=ASK) as came:
        return bytes(await came.read())


async def test_other_hosts_pass_untouched_and_unrecorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnels, "is_of_this_machine", lambda address: False)
    async with TlsProvider(tmp_path, FINE) as provider, forward(tmp_path, "http://127.0.0.1:9") as running:
        url = f"https://localhost:{provider.port}/v1/chat/completions"
        body = ASK | {"filler": "x" * 300_000}
        trust = provider.trust()  # the provider's own certificate, and nobody else's
        async with running.client.post(url, json=body, proxy=running.door.address, ssl=trust) as came:
            assert await came.read() == WHOLE
        assert provider.requests[0].body == body
        assert list(running.door.untouched) == ["localhost"]
        assert running.server.requests == 0
        assert await running.bodies() == []


@pytest.mark.parametrize("status", [200, 403])
async def test_a_tunnel_takes_the_proxy_of_the_environment(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = []

    async def parent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(f"HTTP/1.1 {status} Said\r\n\r\n".encode())
        if status == 200:
            writer.write(await reader.read(100))
        writer.close()

    async with await asyncio.start_server(parent, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        monkeypatch.setattr(tunnels, "outgoing_proxy", lambda scheme, host: f"http://me:pass@127.0.0.1:{port}")
        async with forward(tmp_path, "http://127.0.0.1:9") as running:
            token = b64encode(f"x:{running.server.token}".encode()).decode()
            head = f"CONNECT git.example:443 HTTP/1.1\r\nProxy-Authorization: Basic {token}\r\n\r\n"
            came = await said(running.port, f"{head}bytes".encode())
    authorization = b64encode(b"me:pass").decode()
    assert f"Proxy-Authorization: Basic {authorization}".encode() in heads[0]
    assert heads[0].startswith(b"CONNECT git.example:443 ")
    assert token.encode() not in heads[0]
    if status == 200:
        assert came.endswith(b"established\r\n\r\nbytes")
    else:
        assert came.startswith(b"HTTP/1.1 502 ")
        assert b"git.example cannot be reached: 127.0.0.1: HTTP/1.1 403 Said" in came


WRONG = ["", "Basic", "Basic !!!", "Basic " + b64encode(b"workbench:wrong").decode(), "Bearer TOKEN", "Basic TOKEN"]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("target", [f"{HOST}:443", "example.org:443"])
async def test_nobody_passes_without_the_token(target: str, wrong: str, tmp_path: Path) -> None:
    async with Provider(FINE) as provider, forward(tmp_path, provider.url) as running:
        came = await running.connect(target, wrong.replace("TOKEN", running.server.token))
        assert came.startswith(b"HTTP/1.1 407 ")
        assert b"\r\nProxy-Authenticate: Basic " in came
        page = await said(running.port, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert page.startswith(b"HTTP/1.1 407 ")
        assert not provider.requests


@given(st.text(st.characters(max_codepoint=255)) | st.binary().map(lambda each: f"Basic {b64encode(each).decode()}"))
def test_only_the_right_token_is_ever_read_from_a_header(header: str) -> None:
    assert _password(header) != b"a-token-of-ours"
    assert _password("Basic " + b64encode(b"u:a-token-of-ours").decode()) == b"a-token-of-ours"


@pytest.mark.parametrize(
    "target",
    [
        *("127.0.0.1:8443", "localhost:8443", "[::1]:443", "[::ffff:127.0.0.1]:443", "0.0.0.0:443", "2130706433:443"),
        *("169.254.169.254:443", "example.org:22", "example.org:25"),
    ],
)
async def test_no_tunnel_leads_to_this_machine_or_to_other_services(target: str, tmp_path: Path) -> None:
    async with forward(tmp_path, "http://127.0.0.1:9") as running:
        assert (await running.connect(target)).startswith(b"HTTP/1.1 403 ")


@given(st.ip_addresses(v=4))
def test_an_address_in_the_form_of_version_6_is_never_another(address: Any) -> None:
    assert tunnels.is_of_this_machine(str(address)) == tunnels.is_of_this_machine(f"::ffff:{address}")


@pytest.mark.parametrize(
    "target", ["", "example.org", "example.org:0", "example.org:99999", "a b:443", "[::1:443", "é:443", "[::1%a b]:443"]
)
async def test_a_target_that_is_none_is_refused(target: str, tmp_path: Path) -> None:
    async with forward(tmp_path, "http://127.0.0.1:9") as running:
        assert (await running.connect(target)).startswith(b"HTTP/1.1 400 ")


@given(
    st.text(max_size=30)
    | st.from_regex(r"[a-z.\[\]:@/-]{1,20}:[0-9]{1,6}", fullmatch=True)
    | st.text(min_size=1).map(lambda scope: f"[fe80::1%{scope}]:443")
)
def test_a_target_is_always_a_plain_host_and_a_port(target: str) -> None:
    found = _parsed_target(target)
    if found is not None:
        assert 0 < found.port < 65536
        assert not set(found.host) & set("/@?#\r\n \\%[]")


async def test_only_connect_is_served(tmp_path: Path) -> None:
    async with Provider(FINE) as provider, forward(tmp_path, provider.url) as running:
        token = b64encode(f"x:{running.server.token}".encode()).decode()
        head = f"GET http://{HOST}/v1/models HTTP/1.1\r\nProxy-Authorization: Basic {token}\r\n\r\n"
        assert (await said(running.port, head.encode())).startswith(b"HTTP/1.1 405 ")
        assert (await running.connect(f"{HOST}:8443")).startswith((b"HTTP/1.1 502 ", b"HTTP/1.1 403 "))
        assert not provider.requests


async def test_a_request_for_another_host_inside_is_refused(tmp_path: Path) -> None:
    async with forward(tmp_path, "") as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        token = b64encode(f"x:{running.server.token}".encode()).decode()
        writer.write(f"CONNECT {HOST}:443 HTTP/1.1\r\nProxy-Authorization: Basic {token}\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        await writer.start_tls(running.trust, server_hostname=HOST)
        writer.write(b"GET https://evil.example/v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert b" 400 " in await asyncio.wait_for(reader.readline(), GIVE_UP)
        writer.close()
        assert running.server.requests == 0


async def test_idle_connections_make_room_for_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_server, "MOST_STRANGERS", 10)
    async with Provider(FINE) as provider, forward(tmp_path, provider.url) as running:
        kept = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(30)]
        assert await _whole(running) == WHOLE
        ended = [asyncio.wait_for(reader.read(), GIVE_UP) for reader, _ in kept[:20]]
        came = await asyncio.gather(*ended, return_exceptions=True)
        assert all(each == b"" or isinstance(each, ConnectionError) for each in came)
        for _, writer in kept:
            writer.close()


@pytest.mark.parametrize("start", [b"", b"CONNECT api", b"x" * 100_000])
async def test_a_connection_that_asks_nothing_is_ended_in_time(
    start: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_server, "STRANGER_SECONDS", 0.2)
    async with forward(tmp_path, "http://127.0.0.1:9") as running:
        with suppress(ConnectionError):
            assert await said(running.port, start) == b""


async def test_a_client_that_does_not_trust_us_is_reported_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Provider(FINE) as provider, forward(tmp_path, provider.url) as running:
        strict = ssl.create_default_context()
        with caplog.at_level(logging.WARNING), pytest.raises(aiohttp.ClientError):
            await running.client.post(running.url, json=ASK, proxy=running.door.address, ssl=strict)
        while not caplog.records:
            await asyncio.sleep(0)
    [record] = caplog.records
    assert record.name == forward_proxy.__name__
    assert record.getMessage().startswith(f"{HOST}: no connection, because the client may not trust our certificate: ")


async def test_what_a_client_says_before_its_connection_is_ready_comes_first() -> None:
    class Inner(asyncio.Protocol):
        said = b""

        def data_received(self, data: bytes) -> None:
            self.said += data

    passing, inner = _Passing(), Inner()
    passing.data_received(b"one ")
    passing.data_received(b"two ")
    passing.begin(inner, asyncio.Transport())
    passing.data_received(b"three")
    assert inner.said == b"one two three"


async def test_at_its_end_nobody_listens(tmp_path: Path) -> None:
    async with Provider(FINE) as provider, forward(tmp_path, provider.url) as running:
        port = running.port
    with pytest.raises(OSError, match=str(port)):
        await asyncio.open_connection("127.0.0.1", port)
