"""Undo and redo on what is open. Lives in the session's thread."""

from __future__ import annotations

from typing import Literal

from workbench.compaction.undo import peel, redo, undo, undo_all_compactions
from workbench.session.open_session import OpenSession

Which = Literal["undo", "redo", "peel", "all"]
"""undo and redo: the last compaction or override, or the one of an event; peel: the newest compaction, whatever
overrides came after it; all: every compaction."""


def revert(opened: OpenSession, which: Which, seq: int | None = None) -> str:
    """Append what it takes; the result says what became of the request. Raises Refused where there is nothing to do."""
    match which:
        case "undo":
            changes = [undo(opened.events, seq)]
        case "redo":
            changes = [redo(opened.events, seq)]
        case "peel":
            changes = [peel(opened.events)]
        case "all":
            changes = undo_all_compactions(opened.events)
    before = opened.plan.totals.tokens
    opened.append(*(change.revert for change in changes))
    what = "; ".join(change.what for change in changes)
    after, window = opened.plan.totals.tokens, opened.plan.limits.window
    return f"{what}. The request has {after:,} of {window:,} tokens now; it had {before:,}."
