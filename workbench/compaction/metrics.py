"""Counters over the compactions of a session, for the status command and the screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from workbench.compaction.record import CompactionRecord


class FigureSpread(NamedTuple):
    """A summary of several figures."""

    of: int
    """How many figures."""
    least: float
    mean: float
    most: float


class CompactionMetrics(Struct, frozen=True):
    """Counters over all compactions of a session, including undone ones: they were made, and paid for."""

    made: int
    by_trigger: Mapping[str, int]
    by_status: Mapping[str, int]
    digests: int
    """How many were made without a model."""
    failures: Mapping[str, int]
    """By kind."""
    seconds: FigureSpread | None
    """Of those that recorded it; None if none did. Likewise the next two."""
    ratios: FigureSpread | None
    scores: FigureSpread | None
    freed: int | None
    """Tokens, without undone compactions, which free nothing; None if none recorded it."""
    cost: float | None
    """Dollars, as far as known; None if nothing is known."""
    uncosted: int
    """Made by a model at an unknown cost."""


def count_metrics(found: CompactionRecord) -> CompactionMetrics:
    noted = [entry.details for entry in found.entries]
    cost = sum(each.cost or 0.0 for each in noted)
    freed = [0 if each.status == "reverted" else each.details.freed for each in found.entries]
    uncosted = sum(each.cost is None and each.made_by != "digest" for each in noted)
    return CompactionMetrics(
        made=len(noted),
        by_trigger=Counter(each.trigger or "unknown" for each in noted),
        by_status=Counter(entry.status for entry in found.entries),
        digests=sum(each.made_by == "digest" for each in noted),
        failures=Counter(failed.kind for failed in found.failures),
        seconds=_spread(each.seconds for each in noted),
        ratios=_spread(each.ratio for each in noted),
        scores=_spread(each.score for each in noted),
        freed=None if freed and all(each is None for each in freed) else sum(each or 0 for each in freed),
        cost=cost if cost or not uncosted else None,
        uncosted=uncosted,
    )


def _spread(values: Iterable[float | None]) -> FigureSpread | None:
    known = [value for value in values if value is not None]
    return FigureSpread(len(known), min(known), sum(known) / len(known), max(known)) if known else None
