"""Accepts requests that have a header twice, such as `User-Agent`: some clients send them, and providers accept them.

aiohttp's C parser refuses them, and Python code can neither configure nor override it. aiohttp's Python parser can be
subclassed, but takes several times as long. So a connection begins with the C parser and switches to the Python one
when the C parser refuses a head for this reason. Only the connections of a `RepeatedHeadersServer` do this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from inspect import signature
from secrets import token_hex
from typing import Any, Final, cast

from aiohttp import web, web_protocol
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.http_parser import HttpRequestParserPy
from multidict import CIMultiDict, CIMultiDictProxy

_TWICE: Final = (
    *(b"content-location", b"content-range", b"content-type", b"etag"),
    *(b"max-forwards", b"server", b"user-agent"),
)
"""The headers that aiohttp refuses twice, except those that determine the end of a request or its server."""
_MARK: Final = token_hex(8)
"""A prefix for the name of a repeated header, while the head is parsed."""


class FirstInC:
    """Parses with the C parser until a request has a header twice."""

    def __init__(self, in_c: Any, make_slower: Callable[[], RepeatedHeaderParser]) -> None:
        self._slower = make_slower
        self._parser: Any = in_c
        self._is_slow = False
        self._head = b""
        """The bytes so far of a head that is not complete yet."""
        self._payload: Any = None
        """The body of the last request."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def feed_data(self, data: bytes) -> tuple[Any, bool, bytes]:
        """Parse the bytes. Return the requests, whether the connection is upgraded, and the bytes left in that case."""
        if self._is_slow:
            return self._parser.feed_data(data)  # type: ignore[no-any-return]
        is_head = self._payload is None or self._payload.is_eof()
        if is_head:
            self._head += data
        try:
            found: tuple[Any, bool, bytes] = self._parser.feed_data(data)
        except BadHttpMessage as error:
            if not is_head or not error.message.startswith("Duplicate"):
                raise
            self._parser, self._is_slow = self._slower(), True
            return self._parser.feed_data(self._head)  # type: ignore[no-any-return]
        if found[0]:
            self._head, self._payload = b"", found[0][-1][1]
        return found


class RepeatedHeaderParser(HttpRequestParserPy):
    """Accepts repeated headers and keeps their order."""

    def parse_headers(self, lines: list[bytes]) -> tuple[Any, ...]:
        """Parse the headers of a request, including those that control the connection."""
        try:
            return super().parse_headers(lines)
        except BadHttpMessage:
            found, raw, *rest = super().parse_headers(_marked(lines))
        headers = CIMultiDict((name.removeprefix(_MARK), value) for name, value in found.items())
        plain = tuple((name.removeprefix(_MARK.encode()), value) for name, value in raw)
        return CIMultiDictProxy(headers), plain, *rest


def _marked(lines: list[bytes]) -> list[bytes]:
    seen: set[bytes] = set()
    found = []
    for line in lines:
        name = line.partition(b":")[0].lower()
        found.append(_MARK.encode() + line if name in seen else line)
        if name in _TWICE:
            seen.add(name)
    return found


class _Connection(web_protocol.RequestHandler):
    """aiohttp's connection with another parser. aiohttp has no hook for a parser, so this replaces the first one."""

    def __init__(self, server: web.Server, *, loop: asyncio.AbstractEventLoop, **settings: Any) -> None:
        super().__init__(server, loop=loop, **settings)
        own = {name: settings[name] for name in _OF_PARSER if name in settings}
        slower = partial(
            RepeatedHeaderParser,
            self,
            loop,
            settings.get("read_bufsize", _READ_SIZE),
            payload_exception=web_protocol.RequestPayloadError,
            **_QUEUE,
            **own,
        )
        self._parser = cast(Any, FirstInC(self._parser, slower))


_READ_SIZE: Final = signature(web_protocol.RequestHandler).parameters["read_bufsize"].default
_QUEUE: Final[dict[str, Any]] = (
    {"max_msg_queue_size": web_protocol.MAX_MSG_QUEUE_SIZE} if hasattr(web_protocol, "MAX_MSG_QUEUE_SIZE") else {}
)
"""What aiohttp gives its own parser; before 3.14.1 it had no limit for requests that wait on a connection."""
_OF_PARSER: Final = ("max_line_size", "max_field_size", "max_headers", "auto_decompress")
"""The settings of a connection that its parser needs."""


class RepeatedHeadersServer(web.Server):
    """A server that accepts a header twice."""

    def __call__(self) -> web_protocol.RequestHandler:
        """Return a new connection."""
        return _Connection(self, loop=self._loop, **self._kwargs)


class RepeatedHeadersRunner(web.AppRunner):
    """Runs an application on a `RepeatedHeadersServer`."""

    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        return RepeatedHeadersServer(
            made.request_handler,
            request_factory=made.request_factory,
            handler_cancellation=made.handler_cancellation,
            loop=made._loop,
            **made._kwargs,
        )
