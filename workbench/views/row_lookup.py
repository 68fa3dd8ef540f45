"""Finds the row of an event in a plan."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.context.items import Item

NEAR = 24
"""How far from its expected index a row is searched: a late result moves to its call, and shifts others by a few."""
FIXED = 200
"""Rows at the beginning that may be slots or summaries, which come before older events."""


def row_of(rows: Sequence[Item], seq: int) -> int | None:
    """The index of an event's row, or of the nearest one after it; None without rows.

    After the slots, nearly all rows are in the order of the log. So this is a binary search, then a search nearby, then
    among the first rows. Rows are made lazily, and there may be a hundred thousand.
    """
    place = _bisect(rows, seq)
    nearby = (at for away in range(NEAR) for at in (place + away, place - away) if 0 <= at < len(rows))
    found = next((at for at in nearby if rows[at].seq == seq), None)
    if found is None:
        found = next((at for at in range(min(FIXED, len(rows))) if rows[at].seq == seq), None)
    if found is not None:
        return found
    while place < len(rows) and rows[place].seq is None:
        place += 1
    return min(place, len(rows) - 1) if len(rows) else None


def _bisect(rows: Sequence[Item], seq: int) -> int:
    """Binary search over the rows that are in the order of the log."""
    low, high = 0, len(rows)
    while low < high:
        middle = at = (low + high) // 2
        while at < high and not _in_order(rows[at]):
            at += 1
        if at == high:
            high = middle
        elif (rows[at].seq or 0) < seq:
            low = at + 1
        else:
            high = middle
    return low


def _in_order(row: Item) -> bool:
    return row.seq is not None and row.slot in ("history", "turn")
