"""What a kill needs to know of a writer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

Say = Callable[[str], None]


class Place(NamedTuple):
    """The folders of one writer, and a session in its store."""

    folder: Path
    store: Path
    session: str
    known: dict[int, str]
    """The ids of events that were acknowledged, by their numbers."""


def _nothing(_: Place, __: list[str]) -> None:
    """All that there is to check is in the store."""


class Killed(NamedTuple):
    """A writer that goes on for ever, and what has to hold when it was killed."""

    write: Callable[[Place, Say], None]
    """Says what it has written, in a line each: that is acknowledged then."""
    check: Callable[[Place, list[str]], None] = _nothing
    least: int = 1
    """So many times the parent hears something before it kills, at least."""
    most: int = 40
    seconds: float = 0.004
    """Between the last thing the parent hears and the kill, at most: a commit takes about one millisecond."""

    @property
    def name(self) -> str:
        return self.write.__name__
