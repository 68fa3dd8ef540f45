"""Override: what the user decided by hand about single items.

Excluded items leave with their pair. Masked ones become a marker. Pinned ones pass every stage untouched. None of it
holds for the latest user message, which stays whole while its turn is open.
"""

from __future__ import annotations

from workbench.context.control import UserDecision
from workbench.context.items import Edit


def exclude(own: UserDecision, tokens: int) -> Edit:
    """Leave out an item; `own` is the decision on the item itself, without its pair."""
    why = "excluded by hand" if own.excluded else "excluded with the other half of its pair"
    return Edit("override", "excluded", tokens, 0, why)


def mask(before: int, original: int, marker: int) -> Edit:
    """Put a marker in place of an item."""
    why = f"masked by hand; {original:,} tokens replaced by a marker of {marker:,}"
    return Edit("override", "masked", before, marker, why)
