"""How far a compaction is: told by a plain callback, from whichever thread the work is done in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, TypeVar

EVERY = 2_000
"""Items between two words: a long log has a hundred thousand."""

Stage = Literal["selecting", "planning", "summarising", "merging", "collecting", "auditing"]
"""In this order: what there is is read, the requests are laid out, a model writes, what must not be lost is looked for,
and the summary is held against it. A digest is written by nobody."""
T = TypeVar("T")


class Progress(NamedTuple):
    """How far a running compaction is."""

    stage: Stage
    part: int = 0
    """Of `parts`: the request that is being answered, or how many items were read."""
    parts: int = 0
    characters: int = 0
    """Of the summary so far."""
    model: str = ""
    """Who is asked."""


Tell = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Tell nobody."""


def told(values: Iterable[T], total: int, stage: Stage, tell: Tell) -> Iterator[T]:
    """The same values one by one, and every now and then a word on how many of them there were."""
    for at, value in enumerate(values):
        if at % EVERY == 0:
            tell(Progress(stage, at, total))
        yield value
    tell(Progress(stage, total, total))
