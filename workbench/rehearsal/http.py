"""HTTP/1.1 as far as a model's API needs it, over asyncio's streams: one connection, its requests and responses."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import NoReturn

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024
_IN_BODY = "the request ends in the middle of its body"


class BadHttp(Exception):
    """What came is not HTTP, or too much of it; one line says what was expected."""

    def __init__(self, text: str, status: int = 400) -> None:
        self.status = status
        super().__init__(text)


class Gone(Exception):
    """The client went away."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in small letters."""
    body: bytes
    keep_alive: bool
    chunked: bool
    """Whether the client understands a response in chunks (HTTP/1.1)."""


class Connection:
    """One client's connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()
        """Read and not yet used: while we wait for a client to go away it may send its next request instead."""

    # Reading

    async def read(self) -> Incoming | None:
        """The next request; None when the client has closed."""
        try:
            head = await self._until(b"\r\n\r\n", "the request ends in the middle of its head")
        except EOFError:
            return None
        method, path, version, headers = _head(head)
        body = await self._body(headers)
        close = headers.get("connection", "").lower() == "close" or version == "HTTP/1.0"
        return Incoming(method, path, headers, body, not close, version == "HTTP/1.1")

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("expect", "").lower() == "100-continue":
            await self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunks()
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            raise BadHttp(f"Content-Length: expected a whole number, got {length!r}")
        _check_size(int(length))
        return await self._exactly(int(length))

    async def _chunks(self) -> bytes:
        body = bytearray()
        while True:
            line = await self._until(b"\r\n", _IN_BODY)
            try:
                size = int(line.partition(b";")[0].strip(), 16)
            except ValueError as error:
                raise BadHttp(f"expected the size of a chunk in hexadecimal, got {line[:20]!r}") from error
            _check_size(len(body) + max(size, 0))
            if size <= 0:
                while await self._until(b"\r\n", _IN_BODY) != b"\r\n":  # trailers
                    pass
                return bytes(body)
            body += (await self._exactly(size + 2))[:-2]

    async def _until(self, mark: bytes, broken: str) -> bytes:
        """The bytes up to a mark and with it; `EOFError` where nothing more comes."""
        while (at := self._buffer.find(mark)) < 0:
            if len(self._buffer) > MAX_HEAD:
                raise BadHttp(f"expected a head of at most {MAX_HEAD:,} bytes", 431)
            if not await self._more():
                if self._buffer.strip() or broken == _IN_BODY:
                    raise BadHttp(broken)
                raise EOFError
        return self._taken(at + len(mark))

    async def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            if not await self._more():
                raise BadHttp(_IN_BODY)
        return self._taken(size)

    def _taken(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    async def _more(self) -> bool:
        try:
            data = await self._reader.read(256 * 1024)
        except ConnectionError:
            return False
        self._buffer += data
        return bool(data)

    # Writing

    async def send(self, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        """A whole response."""
        await self._write(_response_head(status, kind, headers, f"Content-Length: {len(body)}") + body)

    async def begin(self, kind: str, incoming: Incoming) -> None:
        """The head of a response that comes piece by piece."""
        ends = "Transfer-Encoding: chunked" if incoming.chunked else "Connection: close"
        await self._write(_response_head(200, kind, {"Cache-Control": "no-cache"}, ends))

    async def piece(self, data: bytes, incoming: Incoming) -> None:
        """One piece of it; a client that has closed its side wants no more."""
        if self._reader.at_eof():
            raise Gone
        await self._write(b"%x\r\n%b\r\n" % (len(data), data) if incoming.chunked else data)

    async def end(self, incoming: Incoming) -> None:
        """Its clean end."""
        if incoming.chunked:
            await self._write(b"0\r\n\r\n")

    async def cut(self, promised: int, body: bytes, kind: str) -> None:
        """A response that is shorter than its head promises."""
        await self._write(_response_head(200, kind, None, f"Content-Length: {promised}") + body)

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except (ConnectionError, TimeoutError) as error:
            raise Gone from error

    # Waiting

    async def rest(self, seconds: float) -> None:
        """Wait, unless the client goes away meanwhile."""
        if seconds <= 0:
            return
        try:
            async with asyncio.timeout(seconds):
                await self.until_gone()
        except TimeoutError:
            return

    async def until_gone(self) -> NoReturn:
        """Wait for the client to go away."""
        while await self._more():
            if len(self._buffer) > MAX_HEAD:
                break
        raise Gone

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except (ConnectionError, TimeoutError):
            return


def _head(head: bytes) -> tuple[str, str, str, dict[str, str]]:
    lines = head.decode("latin-1").lstrip("\r\n").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.0", "HTTP/1.1") or not words[1].startswith("/"):
        raise BadHttp(f"expected a request line such as `POST /v1/messages HTTP/1.1`, got {lines[0][:60]!r}")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not line:
            continue
        if not colon or not name or name != name.strip():
            raise BadHttp(f"expected a header such as `Content-Type: application/json`, got {line[:60]!r}")
        headers[name.lower()] = value.strip()
    return words[0], words[1].partition("?")[0], words[2], headers


def _check_size(size: int) -> None:
    if size > MAX_BODY:
        raise BadHttp(f"expected a body of at most {MAX_BODY:,} bytes", 413)


def _response_head(status: int, kind: str, headers: Mapping[str, str] | None, ends: str) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Overloaded" if status == 529 else "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", f"Content-Type: {kind}", ends]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
