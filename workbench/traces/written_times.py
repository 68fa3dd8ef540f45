"""Times as other programs write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

_START: Final = datetime(1970, 1, 1, tzinfo=UTC)


def epoch_milliseconds(value: Any) -> int:
    """A time from a transcript: RFC 3339, or seconds, milliseconds or more since 1970; 0 for anything else."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            return 0
        since = (found if found.tzinfo else found.replace(tzinfo=UTC)) - _START
        at = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000  # exact, unlike `timestamp()`
        return at if at > 0 else 0
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e20:
        return 0
    while value >= 1e14:  # microseconds and nanoseconds
        value /= 1000
    return int(value) if value >= 1e11 else round(value * 1000)
