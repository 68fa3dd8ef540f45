"""Regular expressions that are compiled at their first use.

Compiling takes longer than reading the code around it, and most runs use only a few of the patterns they load.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LatePattern:
    """Compiles its pattern when a method is first asked for, and keeps the method."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what Python asks of any object, as to copy it
            raise AttributeError(name)
        found = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, found)
        return found


def late_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, but nothing is compiled before the first use."""
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))
