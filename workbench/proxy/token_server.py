"""Limits connections that have not sent the token: they get little time, and only a fixed number may be open."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from workbench.config.system import file_limit
from workbench.wire.repeated_headers import RepeatedHeadersServer

MOST_STRANGERS: Final = 256
"""The limit of connections that have not sent the token; one more closes the oldest."""
STRANGER_SECONDS: Final = 10
"""Seconds within which a connection has to send the token."""
QUIET_SECONDS: Final = 60
"""Seconds for which the same error is not reported again."""
REMEMBERED: Final = 1_000
"""How many errors are remembered for that; the oldest are forgotten first."""

RequestHandler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_log = logging.getLogger(__name__)


class OncePerMinute(logging.Filter):
    """Lets the same message through once per minute, whatever its arguments are: of retries, each has other seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = record.exc_info[0] if record.exc_info else None
        key, now = (record.msg if isinstance(record.msg, str) else "", kind.__name__ if kind else ""), time.monotonic()
        if now - self._last.get(key, -QUIET_SECONDS) < QUIET_SECONDS:
            return False
        self._last.pop(key, None)  # moves it to the end
        self._last[key] = now
        for old in list(self._last)[:-REMEMBERED]:
            self._last.pop(old, None)
        return True


class ConnectionsWithoutToken:
    """The connections that have not sent the token: they get little time, and only so many may be open."""

    def __init__(self) -> None:
        self.most = min(MOST_STRANGERS, max(8, file_limit() // 4))
        self._timers: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}
        """The oldest connection first."""

    def add_connection(self, transport: asyncio.BaseTransport) -> None:
        """Start the time of a new connection. If there are too many, the oldest is closed."""
        while len(self._timers) >= self.most:
            self._turn_away(next(iter(self._timers)))
        timer = asyncio.get_running_loop().call_later(STRANGER_SECONDS, self._turn_away, transport)
        self._timers[transport] = timer

    def let_in(self, transport: asyncio.BaseTransport | None) -> None:
        """Keep a connection that has sent the token."""
        timer = self._timers.pop(transport, None) if transport is not None else None
        if timer is not None:
            timer.cancel()

    def turn_all_away(self) -> None:
        """Close all connections without the token."""
        for transport in list(self._timers):
            self._turn_away(transport)

    def _turn_away(self, transport: Any) -> None:
        self.let_in(transport)
        transport.abort()


class TokenServer(RepeatedHeadersServer):
    """aiohttp's server with a limit in number and time for connections without the token."""

    def __init__(self, handler: RequestHandler, **more: Any) -> None:
        super().__init__(handler, request_factory=whole_request, **more)
        self.strangers = ConnectionsWithoutToken()

    def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        self.strangers.add_connection(transport)

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        if handler.transport is not None:
            self.strangers.let_in(handler.transport)
        super().connection_lost(handler, exc)

    def on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop in one line. If no files are left, close connections without the token."""
        error = context.get("exception")
        if isinstance(error, OSError) and "accept" in str(context.get("message")):
            self.strangers.turn_all_away()
        message = f"{type(error).__name__}: {error}" if error is not None else ""
        # As a message without arguments, so that different errors are different messages.
        _log.error(": ".join(filter(None, (str(context.get("message") or ""), message))))


def whole_request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    """Make a request without a limit for its body: how much is kept of it is decided later."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=0)
