"""Prepares headers that pass between a client and a provider."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.request import getproxies, proxy_bypass

from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy, istr

HOP_BY_HOP: Final = (
    *(istr("connection"), istr("keep-alive"), istr("proxy-authenticate"), istr("proxy-authorization")),
    *(istr("proxy-connection"), istr("te"), istr("trailer"), istr("transfer-encoding"), istr("upgrade")),
    *(istr("host"), istr("content-length"), istr("expect")),
)
"""Headers that belong to one connection; each side has its own."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@lru_cache(1_000)
def outgoing_proxy(scheme: str, host: str) -> str | None:
    """The HTTP proxy that this machine uses for a host. aiohttp would read the environment for each request."""
    return None if proxy_bypass(host) else getproxies().get(scheme)


def forwarded_headers(headers: CIMultiDictProxy[str], *secrets: str) -> CIMultiDict[str]:
    """The headers to pass on, with one spelling for each: of two spellings aiohttp would send only one.

    Left out are the headers of one connection, including those that `Connection` names, and any header that contains
    one of our `secrets`, as a `Referer` may.
    """
    found = CIMultiDict(headers)
    if "Connection" in headers:
        for name in ",".join(headers.getall("Connection")).split(","):
            found.popall(name.strip(), None)
    for name in HOP_BY_HOP:
        found.popall(name, None)
    text = "\n".join(found.values())
    has_secret = any(secret in text for secret in secrets)
    if not has_secret and len({name.lower() for name in found}) == len(found):
        return found
    spelled: dict[str, str] = {}
    return CIMultiDict(
        (spelled.setdefault(name.lower(), name), value)
        for name, value in found.items()
        if not any(secret in value for secret in secrets)
    )


def sendable_headers(headers: CIMultiDict[str]) -> CIMultiDict[str]:
    """The same headers without control characters in their values, which aiohttp refuses to send."""
    if any(map(_CONTROL.search, headers.values())):
        return CIMultiDict((name, _CONTROL.sub(" ", value)) for name, value in headers.items())
    return headers


def safe_reason(reason: str | None) -> str:
    """A reason phrase without control characters, which aiohttp refuses to send."""
    return _CONTROL.sub("", reason or "")


class PlainResponse(web.StreamResponse):
    """An answer with exactly the given headers: aiohttp's `Date`, `Server` and content type are not added."""

    def __init__(self, *, status: int, reason: str, headers: CIMultiDict[str], with_first_chunk: bool = False) -> None:
        """`with_first_chunk`: the first chunk is available, and is sent in one piece with the headers."""
        super().__init__(status=status, reason=reason, headers=headers)
        self._send_headers_immediately = not with_first_chunk

    async def _prepare_headers(self) -> None:
        missing = [name for name in ("Date", "Server", "Content-Type") if name not in self.headers]
        await super()._prepare_headers()
        for name in missing:
            self.headers.popall(name, None)
