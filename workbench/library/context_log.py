"""The log of a context in memory."""

from __future__ import annotations

from workbench.library.plans import numbered
from workbench.log.events import Body, Event


class MemoryLog:
    """A log that ends with the program."""

    def __init__(self) -> None:
        self._length = 0

    def append(self, *bodies: Body) -> tuple[Event, ...]:
        """Append events. Ids depend on the position alone."""
        events = tuple(numbered(bodies, self._length + 1))
        self._length += len(events)
        return events

    def close(self) -> None:
        """Nothing is held."""
