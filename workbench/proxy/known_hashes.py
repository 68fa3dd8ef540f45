"""The hashes of messages that passed lately: a conversation repeats all of them with each request."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from workbench.traces.building import content_hash

REMEMBERED: Final = 32 * 1024 * 1024
"""Bytes of messages that are remembered."""


class KnownHashes:
    """To find a message again takes a fifth of the time that its hash takes."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._known: dict[bytes, str] = {}
        """By what is written as JSON would tell it apart, unlike Python's `==`; the one used last at the end."""
        self._size = 0

    def of(self, message: Any) -> str:
        """The same as `content_hash`."""
        try:
            written = msgspec.msgpack.encode(message)
        except (ValueError, OverflowError, RecursionError):  # half a surrogate pair, a number too long
            return content_hash(message)
        found = self._known.pop(written, "")
        if not found:
            found = content_hash(message)
            self._size += len(written)
        self._known[written] = found
        while self._size > self._most:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._size -= len(oldest)
        return found
