"""Ids that sort by age and are short enough for a marker."""

from __future__ import annotations

import secrets
import threading
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
_TIME_CHARS = 9  # 45 bits of milliseconds: until the year 3084
_RANDOM_CHARS = 4
_LATEST = 32**_TIME_CHARS - 32**4  # with a clock set later than this, ids would start again at zero


def encode_base32(number: int, width: int) -> str:
    """`number` in base 32 with leading zeros, so that text order is number order."""
    chars = []
    for _ in range(width):
        number, digit = divmod(number, 32)
        chars.append(_ALPHABET[digit])
    return "".join(reversed(chars))


class IdSource:
    """Makes ids that strictly grow within this process, also when the clock stops or goes back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> str:
        """A new id, larger than all before."""
        span = 32**_RANDOM_CHARS
        fresh = min(time.time_ns() // 1_000_000, _LATEST) * span + secrets.randbelow(span)
        with self._lock:
            self._last = max(fresh, self._last + 1)
            return encode_base32(self._last, _TIME_CHARS + _RANDOM_CHARS)


new_id = IdSource().next
