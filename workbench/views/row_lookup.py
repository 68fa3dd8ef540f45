"""Where an event stands among the rows of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.context.items import Item

NEAR = 24
"""How far from its place a row is looked for: a late result stands before its number, and moves others by a few."""
FIXED = 200
"""Rows at the beginning that may belong to slots or summaries, which stand before what is older than they are."""


def row_of(rows: Sequence[Item], seq: int) -> int | None:
    """The number of an event's row, or of the one nearest behind it; None without rows.

    Behind the slots, rows follow the log but for a few. So they are searched by halves, then nearby, then among the
    first; a row is made when it is looked at, and there may be a hundred thousand.
    """
    place = _halved(rows, seq)
    nearby = (at for away in range(NEAR) for at in (place + away, place - away) if 0 <= at < len(rows))
    found = next((at for at in nearby if rows[at].seq == seq), None)
    if found is None:
        found = next((at for at in range(min(FIXED, len(rows))) if rows[at].seq == seq), None)
    if found is not None:
        return found
    while place < len(rows) and rows[place].seq is None:
        place += 1
    return min(place, len(rows) - 1) if len(rows) else None


def _halved(rows: Sequence[Item], seq: int) -> int:
    """Where a row of this number would stand, by the rows that are in the order of the log."""
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
