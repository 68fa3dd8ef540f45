"""Connections that pass the forward proxy untouched: which may be made, how, and the bytes of both sides."""

from __future__ import annotations

import asyncio
import re
import socket
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from yarl import URL

from workbench.proxy.headers import outgoing_proxy
from workbench.proxy.opened_hosts import HTTPS, HostPort
from workbench.proxy.routes import basic_authorization

CONNECT_SECONDS: Final = 30
MAX_HEAD: Final = 16 * 1024
"""Bytes of a `CONNECT` request with its headers, or of the answer to one."""
_LAST_SECONDS: Final = 10
"""How long the last bytes may take once both sides have ended."""
_CHUNK: Final = 64 * 1024
_FIRST_FREE_PORT: Final = 1024
_NOWHERE: Final = ip_network("0.0.0.0/8")
_ACCEPTED: Final = re.compile(rb"HTTP/1\.[01] 2\d\d[ \r]")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class TunnelRefused(Exception):
    """A tunnel that is not made; its text says why."""


def is_of_this_machine(address: str) -> bool:
    """Whether an address is this machine's own, or link-local.

    Private networks do not count: company servers use them.
    """
    found = ip_address(address)
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    is_near = found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified
    return is_near or found in _NOWHERE


async def connect_tunnel(target: HostPort) -> Streams:
    """Connect to a host, by way of the proxy that the environment names for it.

    Raises TunnelRefused if it may not be reached, and OSError or TimeoutError if it cannot be.
    """
    if target.port != HTTPS and target.port < _FIRST_FREE_PORT:
        raise TunnelRefused(f"port {target.port}: expected 443, or one from {_FIRST_FREE_PORT} on")
    async with asyncio.timeout(CONNECT_SECONDS):
        parent = outgoing_proxy("https", target.host)
        if parent is not None:
            return await _connect_through(URL(parent), target)
        found = await asyncio.get_running_loop().getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
        if not addresses or any(map(is_of_this_machine, addresses)):
            raise TunnelRefused(f"{target.host}: an address of this machine is reached without a proxy")
        return await _connect_first(addresses, target.port)


async def _connect_first(addresses: list[str], port: int) -> Streams:
    """Connect to the first address that answers. The name is not looked up again: it could lead elsewhere."""
    last: OSError | None = None
    for address in addresses:
        try:
            return await asyncio.open_connection(address, port)
        except OSError as error:
            last = error
    assert last is not None
    raise last


async def _connect_through(parent: URL, target: HostPort) -> Streams:
    if parent.scheme not in ("http", "https") or not parent.host:
        raise TunnelRefused(f"HTTPS_PROXY: expected an address with http or https, got {parent.scheme or 'none'}")
    ssl = True if parent.scheme == "https" else None
    reader, writer = await asyncio.open_connection(parent.host, parent.port, ssl=ssl, limit=MAX_HEAD)
    host = f"[{target.host}]" if ":" in target.host else target.host
    lines = [f"CONNECT {host}:{target.port} HTTP/1.1", f"Host: {host}:{target.port}"]
    if authorization := basic_authorization(parent):
        lines.append(f"Proxy-Authorization: {authorization}")
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode())
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        writer.transport.abort()
        raise OSError(f"{parent.host}: not the answer of a proxy") from error
    except BaseException:
        writer.transport.abort()
        raise
    if not _ACCEPTED.match(head):
        writer.transport.abort()
        status = head.partition(b"\r\n")[0].decode("latin-1")
        raise OSError(f"{parent.host}: {status}")
    return reader, writer


async def relay_both_ways(one: Streams, other: Streams) -> None:
    """Pass bytes on in both directions until both sides have ended, or one of them breaks off."""
    ways = [asyncio.create_task(_relay(one[0], other[1])), asyncio.create_task(_relay(other[0], one[1]))]
    try:
        await asyncio.gather(*ways)
        async with asyncio.timeout(_LAST_SECONDS):
            for _, writer in (one, other):
                writer.close()
                await writer.wait_closed()
    finally:
        for way in ways:
            way.cancel()
        for _, writer in (one, other):
            writer.transport.abort()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        with suppress(OSError):
            writer.write_eof()
