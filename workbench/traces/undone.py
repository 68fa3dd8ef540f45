"""What the user of an agent undid: the decisions that take it out of what is sent."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.log.events import Body, Compaction, Override, Revert


def undo_from(bodies: Sequence[Body], first: int, why: str) -> list[Body]:
    """Leave out all events from `first` on, and take back the compactions among them."""
    reverted = {body.target for body in bodies if isinstance(body, Revert)}
    made = [
        seq
        for seq, body in enumerate(bodies, 1)
        if seq >= first and isinstance(body, Compaction) and seq not in reverted
    ]
    return [*map(Revert, made), Override("exclude", first, len(bodies), why)] if first <= len(bodies) else []
