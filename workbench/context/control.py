"""Events that decide about other events (reverts, overrides, compactions, slot contents), resolved to what applies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from workbench.log.events import (
    Compaction,
    Event,
    Hold,
    Override,
    OverrideAction,
    Request,
    RequestAnswer,
    RequestPart,
    Revert,
    Setting,
    SlotContent,
)

CONTROL = frozenset({Compaction, Revert, Override, SlotContent, Setting, Request, RequestPart, RequestAnswer, Hold})
"""Bodies without an item: their effect on others is shown, or they have a view of their own."""


class UserDecision(NamedTuple):
    """The user's own decision on one event. The last one wins: excluding or masking unpins, pinning restores."""

    pinned: bool = False
    masked: bool | None = None
    """True: masked by hand. False: kept from masking. None: the stage decides."""
    excluded: bool = False
    by: int = 0
    """The override that last included or excluded it; between a call and its result the later one wins."""
    why: str = ""
    """Why it is excluded or masked, if not by hand."""
    text: str = ""
    """What replaces it, if another agent or a plug-in's stage has its own words for it."""
    stage: str = ""
    """The plug-in's stage that decided; empty: the user, or another agent."""


NO_DECISION = UserDecision()


def decision_after(own: UserDecision, action: OverrideAction, seq: int, why: str = "", text: str = "") -> UserDecision:
    """The decision on an event after one more override."""
    match action:
        case "pin":
            return UserDecision(pinned=True, by=seq)
        case "unpin":
            return own._replace(pinned=False)
        case "mask":
            return UserDecision(masked=True, by=seq, why=why, text=text)
        case "unmask":
            return own._replace(masked=False)
        case "exclude":
            return UserDecision(excluded=True, by=seq, why=why)
        case "include":
            return own._replace(excluded=False, by=seq)


def with_pair(decision: UserDecision, other: UserDecision) -> UserDecision:
    """The decision on one half of a call and its result, given that on the other half.

    A pair is excluded as a whole, and the later decision on either half holds.
    """
    return decision._replace(excluded=other.excluded, by=other.by) if other.by > decision.by else decision


class InEffect(Struct, frozen=True):
    """The decisions in force at the end of a log."""

    compactions: tuple[Event, ...] = ()
    """Neither reverted nor inside the range of a later one, ordered by range."""
    overrides: Mapping[int, UserDecision] = field(default_factory=dict)
    """By sequence number."""
    slots: tuple[Event, ...] = ()
    """The latest content of each slot and name, in the order of first appearance."""


def in_effect(controls: Sequence[Event]) -> InEffect:
    """Resolve the control events of a log, given in order."""
    gone = reverted_events(controls)
    alive = [event for event in controls if event.seq not in gone]
    return InEffect(_compactions(alive), _overrides(alive), slots_of(alive))


def reverted_events(controls: Iterable[Event]) -> frozenset[int]:
    """The events that are undone. Reverting a revert restores its target, so the last revert is read first."""
    gone: set[int] = set()
    for event in reversed(list(controls)):
        if isinstance(event.body, Revert) and event.seq not in gone and event.body.target < event.seq:
            gone.add(event.body.target)
    return frozenset(gone)


def _compactions(alive: Sequence[Event]) -> tuple[Event, ...]:
    found = [event for event in alive if isinstance(event.body, Compaction)]
    kept = [event for event in found if not any(_inside(event, later) for later in found if later.seq > event.seq)]
    return tuple(sorted(kept, key=lambda event: (compaction_range(event), event.seq)))


def compaction_range(event: Event) -> tuple[int, int]:
    """The range of a compaction; it never reaches beyond the compaction itself."""
    assert isinstance(event.body, Compaction)
    return event.body.first, min(event.body.last, event.seq - 1)


def span_words(event: Event) -> str:
    """The range of a compaction, in words."""
    first, last = compaction_range(event)
    return f"events {first:,} to {last:,}" if first <= last else "events that are not in the log"


def _inside(event: Event, later: Event) -> bool:
    (first, last), (from_, upto) = compaction_range(event), compaction_range(later)
    return from_ <= first and last <= upto


def _overrides(alive: Sequence[Event]) -> dict[int, UserDecision]:
    found: dict[int, UserDecision] = {}
    for event in alive:
        if isinstance(event.body, Override):
            apply_override(found, event)
    return found


def apply_override(overrides: dict[int, UserDecision], event: Event) -> range:
    """Apply one override to `overrides`; returns the sequence numbers that it covers, all older than itself."""
    body = event.body
    assert isinstance(body, Override)
    touched = range(max(body.first, 1), min(body.last, event.seq - 1) + 1)
    for seq in touched:
        overrides[seq] = decision_after(overrides.get(seq, NO_DECISION), body.action, event.seq, body.why, body.text)
    return touched


def slots_of(alive: Iterable[Event]) -> tuple[Event, ...]:
    """The current contents of the slots."""
    found: dict[tuple[str, str], Event] = {}
    for event in alive:
        if isinstance(event.body, SlotContent):
            found[event.body.slot, event.body.name] = event
    return tuple(event for event in found.values() if isinstance(event.body, SlotContent) and event.body.text.strip())
