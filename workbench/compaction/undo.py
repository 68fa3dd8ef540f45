"""The way back: undo, redo, and peeling nested compactions layer by layer.

Pure functions on a log. What they give is an event to append: nothing is taken out of a log, a revert only says that
an event no longer holds. Each comes with a sentence that says what it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.compaction.record import CompactionEntry, Record, details
from workbench.config.errors import Refused, WrongCall
from workbench.context.control import in_effect, reverted, span_words
from workbench.log.events import Compaction, Event, Override, Revert

_CONTROLS = (Compaction, Override, Revert)


class Change(NamedTuple):
    """A revert to append."""

    revert: Revert
    target: Event
    """The compaction or override that it takes back, or brings back."""
    what: str
    """What it does, in a sentence."""


def last_undoable(events: Sequence[Event]) -> Event | None:
    """The newest compaction or override that was not taken back."""
    return next(reversed(_alive(events, (Compaction, Override))), None)


def undo(events: Sequence[Event], target: int | None = None) -> Change:
    """Take back the last compaction or override, or the one with this sequence number."""
    if target is None:
        event = last_undoable(events)
        if event is None:
            raise Refused("nothing to undo: no compaction and no override stands")
        return _undone(events, event)
    event = _named(events, target)
    if event.seq not in {one.seq for one in _alive(events, (Compaction, Override))}:
        raise Refused(f"event {target}: {_name(event)} was undone already")
    return _undone(events, event)


def peel(events: Sequence[Event]) -> Change:
    """Take back the newest compaction, whatever overrides came after it. Those that it had replaced stand again."""
    event = next(reversed(_alive(events, (Compaction,))), None)
    if event is None:
        raise Refused("nothing to undo: no compaction stands")
    return _undone(events, event)


def undo_all_compactions(events: Sequence[Event]) -> list[Change]:
    """Take back every compaction, the newest first."""
    log = list(events)
    found: list[Change] = []
    while _alive(log, (Compaction,)):
        found.append(peel(log))
        log.append(_next(log, found[-1].revert))
    if not found:
        raise Refused("nothing to undo: no compaction stands")
    return found


def redo(events: Sequence[Event], target: int | None = None) -> Change:
    """Bring back what was undone last, or the event with this sequence number.

    As in an editor, a compaction or override that was made after the undo ends what can be brought back without
    being named.
    """
    undone = [event for event in _alive(events, (Revert,)) if _is_undo(events, event)]
    if target is not None:
        event = _named(events, target)
        undone = [revert for revert in undone if _target(revert) == target]
        if not undone:
            raise Refused(f"event {target}: {_name(event)} was not undone")
    if not undone:
        raise Refused("nothing to redo: no undone compaction or override")
    newest = undone[-1]
    event = events[_target(newest) - 1]
    later = [one for one in _alive(events, (Compaction, Override)) if one.seq > newest.seq]
    if later and target is None:
        made = _name(later[0])
        raise Refused(f"nothing to redo: {made} of event {later[0].seq} came later; name the event to bring back")
    revert = Revert(newest.seq)
    return Change(revert, event, _sentence("redid", events, event, revert))


def _undone(events: Sequence[Event], event: Event) -> Change:
    revert = Revert(event.seq)
    return Change(revert, event, _sentence("undid", events, event, revert))


def _alive(events: Sequence[Event], kinds: tuple[type, ...]) -> list[Event]:
    """The events of these kinds that hold, in order."""
    controls = [event for event in events if isinstance(event.body, _CONTROLS)]
    gone = reverted(controls)
    return [event for event in controls if isinstance(event.body, kinds) and event.seq not in gone]


def _is_undo(events: Sequence[Event], event: Event) -> bool:
    """Whether a revert takes back a compaction or an override, and not another revert."""
    target = _target(event)
    return 0 < target < event.seq and isinstance(events[target - 1].body, (Compaction, Override))


def _target(event: Event) -> int:
    assert isinstance(event.body, Revert)
    return event.body.target


def _named(events: Sequence[Event], seq: int) -> Event:
    if not 0 < seq <= len(events):
        raise WrongCall(f"event {seq}: expected a sequence number from 1 to {len(events)}")
    event = events[seq - 1]
    if not isinstance(event.body, (Compaction, Override)):
        raise WrongCall(f"event {seq}: expected a compaction or an override, got a {type(event.body).__name__}")
    return event


def _next(events: Sequence[Event], revert: Revert) -> Event:
    """A revert as it will stand in the log."""
    return Event(len(events) + 1, "", 0, revert)


# In words


def _name(event: Event) -> str:
    return "the compaction" if isinstance(event.body, Compaction) else "the override"


def _sentence(verb: str, events: Sequence[Event], event: Event, revert: Revert) -> str:
    body = event.body
    if isinstance(body, Override):
        ends = f"{body.first}" if body.first == body.last else f"{body.first}-{body.last}"
        return f"{verb} the override of event {event.seq}: {body.action} {ends}"
    assert isinstance(body, Compaction)
    freed = details(body.meta).freed
    size = "" if freed is None else f", {freed:,} tokens"
    return f"{verb} the compaction of event {event.seq} ({span_words(event)}{size}): {_effect(events, revert)}"


def _effect(events: Sequence[Event], revert: Revert) -> str:
    """What becomes of the standing compactions."""
    controls = [event for event in events if isinstance(event.body, _CONTROLS)]
    before = {event.seq for event in in_effect(controls).compactions}
    after = {event.seq for event in in_effect([*controls, _next(events, revert)]).compactions}
    said = [f"event {seq} no longer stands" for seq in sorted(before - after)]
    said += [f"event {seq} stands again" for seq in sorted(after - before)]
    return ", ".join(said) or "the request stays as it is, because a later compaction replaces it"


# The tree of nested compactions


class Node(NamedTuple):
    """A compaction and those that it replaced."""

    entry: CompactionEntry
    inside: tuple[Node, ...]


def tree(record: Record) -> tuple[Node, ...]:
    """The compactions of a log as layers: a replaced one lies inside the one that replaced it."""

    def node(entry: CompactionEntry) -> Node:
        inside = [other for other in record.entries if other.status == "replaced" and other.by == entry.event.seq]
        return Node(entry, tuple(node(other) for other in inside))

    return tuple(node(entry) for entry in record.entries if entry.status != "replaced")
