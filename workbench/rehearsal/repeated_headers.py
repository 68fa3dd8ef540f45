"""Requests that have a header twice, such as `User-Agent`: some clients send them, and providers take them.

aiohttp's parser in C refuses them, and nothing of it can be set or overridden from Python. Its parser in Python can be
subclassed: it costs a seventh of a millisecond more for a request's head, and next to nothing for its body.
"""

from __future__ import annotations

from secrets import token_hex
from typing import Any, Final

from aiohttp import web_protocol
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.http_parser import HttpRequestParserPy
from multidict import CIMultiDict, CIMultiDictProxy

_TWICE: Final = (
    *(b"content-location", b"content-range", b"content-type", b"etag"),
    *(b"max-forwards", b"server", b"user-agent"),
)
"""What aiohttp refuses, without those headers by which the end of a request or its server is told."""
_MARK: Final = token_hex(8)
"""Before the name of a header that was there already, while it is parsed."""


class RepeatedHeaderParser(HttpRequestParserPy):
    """Takes repeated headers, in their order."""

    def parse_headers(self, lines: list[bytes]) -> tuple[Any, ...]:
        """The headers of a request, and what they say of the connection."""
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


def take_repeated_headers() -> None:
    """From now on, the servers of this process do."""
    web_protocol.HttpRequestParser = RepeatedHeaderParser  # type: ignore[attr-defined]  # there is no hook for it
