"""The progress of a compaction: reported by a plain callback, from the thread that does the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, TypeVar

EVERY = 2_000
"""Items between two reports: a long log has a hundred thousand."""

Stage = Literal["selecting", "planning", "summarising", "merging", "collecting", "auditing"]
"""In this order: the items are read, the requests are planned, a model writes, facts are collected, and the summary is
compared with them. A digest skips the model."""
T = TypeVar("T")


class CompactionProgress(NamedTuple):
    """How far a running compaction is."""

    stage: Stage
    part: int = 0
    """Out of `parts`: the request that is being answered, or how many items were read."""
    parts: int = 0
    characters: int = 0
    """Length of the summary so far."""
    model: str = ""
    """The model that is asked."""


ReportProgress = Callable[[CompactionProgress], None]


def ignore_progress(progress: CompactionProgress) -> None:
    """Ignore all reports."""


def with_progress(values: Iterable[T], total: int, stage: Stage, report: ReportProgress) -> Iterator[T]:
    """The same values one by one, with a progress report every now and then."""
    for at, value in enumerate(values):
        if at % EVERY == 0:
            report(CompactionProgress(stage, at, total))
        yield value
    report(CompactionProgress(stage, total, total))
