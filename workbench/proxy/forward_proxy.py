"""The forward proxy: clients that set `HTTPS_PROXY` ask it to connect them to a host.

The hosts of providers are opened: the client gets a certificate of our own authority, and its requests pass and are
recorded like those that come by an address. Connections to all other hosts pass untouched.
"""

from __future__ import annotations

import asyncio
import logging
import os
from base64 import b64decode
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from ipaddress import IPv6Address
from secrets import compare_digest
from typing import Any, Final, NamedTuple

from aiohttp import web

from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.models.diagnose import connection_words
from workbench.proxy.certificates import HostCertificates
from workbench.proxy.opened_hosts import HostPort
from workbench.proxy.server import ProxyServer
from workbench.proxy.tunnels import MAX_HEAD, Streams, TunnelRefused, connect_tunnel, relay_both_ways

USER: Final = "workbench"
"""The user in the address of the proxy; the token is the password."""
HANDSHAKE_SECONDS: Final = 10
MOST_NAMES: Final = 100
"""How many hosts are remembered whose connections passed untouched."""
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"

_log = logging.getLogger(__name__)


class ConnectRefusal(NamedTuple):
    """An answer to a client that is not connected."""

    status: HTTPStatus
    message: str

    def __bytes__(self) -> bytes:
        text = f"workbench proxy: {printable(self.message)}\n".encode()
        lines = [f"HTTP/1.1 {self.status.value} {self.status.phrase}", "Connection: close"]
        if self.status is HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            lines.append('Proxy-Authenticate: Basic realm="workbench proxy"')
        lines += ["Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(text)}", "", ""]
        return "\r\n".join(lines).encode() + text


class ForwardProxy:
    """Serves inside `async with`, in front of a server that runs."""

    def __init__(
        self, server: ProxyServer, certificates: HostCertificates, hosts: Iterable[HostPort], port: int = 0
    ) -> None:
        """`hosts`: those that are opened; `port` 0 takes a free one."""
        self.address = ""
        """With a user and the token, as clients expect it in `HTTPS_PROXY`."""
        self.untouched: dict[str, None] = {}
        """The first hosts whose connections passed untouched."""
        self.tunnelled: Callable[[HostPort], None] = lambda target: None
        """Called when a connection begins that passes untouched."""
        self._server = server
        self._certificates = certificates
        self._hosts = frozenset(hosts)
        self._port = port
        self._listening: asyncio.Server | None = None
        self._busy: set[asyncio.Task[None]] = set()
        self._opened: dict[HostPort, web.Server] = {}

    async def __aenter__(self) -> ForwardProxy:
        try:
            self._listening = await asyncio.start_server(self._accept, "127.0.0.1", self._port, limit=MAX_HEAD)
        except (OSError, OverflowError) as error:
            why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
            raise WorkbenchError(f"port {self._port}: cannot be opened: {why}") from error
        port = self._listening.sockets[0].getsockname()[1]
        self.address = f"http://{USER}:{self._server.token}@127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._listening is not None
        self._listening.close()
        await asyncio.gather(*(server.shutdown(1) for server in self._opened.values()))
        for task in self._busy:
            task.cancel()
        await asyncio.gather(*self._busy, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection to its end."""
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)
        self._server.strangers.add_connection(writer.transport)
        try:
            await self._serve((reader, writer))
        except (OSError, EOFError, asyncio.LimitOverrunError):
            pass  # the client went away, or does not speak HTTP
        except asyncio.CancelledError:
            pass  # the proxy ends
        except Exception:
            _log.exception("a connection failed")
        finally:
            self._server.strangers.let_in(writer.transport)
            writer.transport.abort()

    async def _serve(self, client: Streams) -> None:
        reader, writer = client
        asked = self._read_head(await reader.readuntil(b"\r\n\r\n"))
        if isinstance(asked, ConnectRefusal):
            await _refuse(writer, asked)
            return
        self._server.strangers.let_in(writer.transport)
        if asked in self._hosts:
            await self._open(writer, asked)
        else:
            await self._tunnel(client, asked)

    def _read_head(self, head: bytes) -> HostPort | ConnectRefusal:
        """The host that a client wants to be connected to, if it has the token."""
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if not compare_digest(_password(headers.get("proxy-authorization", "")), self._server.token.encode()):
            return ConnectRefusal(
                HTTPStatus.PROXY_AUTHENTICATION_REQUIRED, "the address needs the token it was started with"
            )
        method, _, target = first.rpartition(" ")[0].partition(" ")
        if method != "CONNECT":
            return ConnectRefusal(HTTPStatus.METHOD_NOT_ALLOWED, "only https passes here: expected CONNECT HOST:PORT")
        found = _parsed_target(target)
        return found or ConnectRefusal(HTTPStatus.BAD_REQUEST, f"{target}: expected HOST:PORT")

    async def _open(self, writer: asyncio.StreamWriter, asked: HostPort) -> None:
        """Speak TLS with the client as the host would, and pass its requests on."""
        if asked not in self._opened:
            self._opened[asked] = self._server.server_for(asked.origin)
        context = self._certificates.context_for(asked.host)
        passing = _Passing()
        writer.write(_ESTABLISHED)
        try:
            transport = await asyncio.get_running_loop().start_tls(
                writer.transport, passing, context, server_side=True, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except OSError as error:  # some clients say why they end it, others only go away
            why = connection_words(error)
            _log.warning(f"{asked.host}: no connection, because the client may not trust our certificate: {why}")
            return
        if transport is None or transport.is_closing():
            return
        try:
            passing.begin(self._opened[asked](), transport)
            await passing.ended
        finally:
            transport.abort()

    async def _tunnel(self, client: Streams, asked: HostPort) -> None:
        try:
            provider = await connect_tunnel(asked)
        except TunnelRefused as error:
            await _refuse(client[1], ConnectRefusal(HTTPStatus.FORBIDDEN, str(error)))
            return
        except (OSError, ValueError) as error:
            message = f"{asked.host} cannot be reached: {connection_words(error)}"
            await _refuse(client[1], ConnectRefusal(HTTPStatus.BAD_GATEWAY, message))
            return
        if len(self.untouched) < MOST_NAMES:
            self.untouched[asked.host] = None
        self.tunnelled(asked)
        client[1].write(_ESTABLISHED)
        await relay_both_ways(client, provider)


class _Passing(asyncio.Protocol):
    """Passes the bytes of a client on to aiohttp's connection. What comes before that exists is kept."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inner: Any = None
        self._early: list[bytes] = []

    def begin(self, inner: asyncio.Protocol, transport: asyncio.Transport) -> None:
        """Connect the two."""
        self._inner = inner
        inner.connection_made(transport)
        for data in self._early:
            inner.data_received(data)
        self._early.clear()

    def data_received(self, data: bytes) -> None:
        if self._inner is None:
            self._early.append(data)
        else:
            self._inner.data_received(data)

    def eof_received(self) -> None:
        if self._inner is not None:
            self._inner.eof_received()

    def pause_writing(self) -> None:
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._inner is not None:
            self._inner.connection_lost(exc)
        if not self.ended.done():
            self.ended.set_result(None)


async def _refuse(writer: asyncio.StreamWriter, refusal: ConnectRefusal) -> None:
    writer.write(bytes(refusal))
    await writer.drain()
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def _password(authorization: str) -> bytes:
    """The password of a Basic authorization; empty if there is none."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() != "basic":
        return b""
    with suppress(ValueError):
        return b64decode(value, validate=True).partition(b":")[2]
    return b""


def _parsed_target(target: str) -> HostPort | None:
    host, _, port = target.rpartition(":")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        return None
    if host.startswith("["):
        with suppress(ValueError):
            found = IPv6Address(host[1:-1])
            # The name of an interface behind the address may be any text.
            return HostPort(str(found), int(port)) if host.endswith("]") and found.scope_id is None else None
        return None
    name = host.lower().removesuffix(".")
    allowed = name.isascii() and len(name) <= 253 and all(each.isalnum() or each in ".-_" for each in name)
    return HostPort(name, int(port)) if name and allowed else None
