"""Times as other programs write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def epoch_milliseconds(value: Any) -> int:
    """A time from a transcript: RFC 3339, or seconds, milliseconds or more since 1970; 0 for anything else."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            return 0
        at = int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
        return at if at > 0 else 0
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e20:
        return 0
    while value >= 1e14:  # microseconds and nanoseconds
        value /= 1000
    return int(value if value >= 1e11 else value * 1000)
