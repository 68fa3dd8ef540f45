"""What the user of an agent undid: the decisions that exclude it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from workbench.log.events import Body, Compaction, Override, Revert, SlotContent


def went_back(agent: str) -> str:
    """The reason for excluding what the user of an agent went back from."""
    return f"undone in {agent}: its user went back to an earlier message"


def undo_from(bodies: Sequence[Body], first: int, why: str) -> list[Body]:
    """Exclude everything from the event `first` on, and undo the compactions in it.

    The contents of slots stay: an agent that no longer sends one records that by itself.
    """
    reverted = {body.target for body in bodies if isinstance(body, Revert)}
    since = [(seq, body) for seq, body in enumerate(bodies, 1) if seq >= first]
    compactions = [seq for seq, body in since if isinstance(body, Compaction) and seq not in reverted]
    others = (seq for seq, body in since if not isinstance(body, SlotContent))
    return [*map(Revert, compactions), *exclude_events(others, why)]


def exclude_events(seqs: Iterable[int], why: str) -> list[Body]:
    """The overrides that exclude these events, which are in order; together they are one decision."""
    return [Override("exclude", one, other, why, joined=at > 0) for at, (one, other) in enumerate(_runs(seqs))]


def _runs(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers in order as ranges."""
    grouped = groupby(enumerate(seqs), lambda each: each[1] - each[0])
    ranges = [[seq for _, seq in run] for _, run in grouped]
    return [(run[0], run[-1]) for run in ranges]
