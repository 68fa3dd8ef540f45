"""Undo, redo, and undoing nested compactions layer by layer.

Pure functions on a log. They return an event to append: nothing is removed from a log, a revert only says that an event
no longer applies. Each comes with a sentence that says what it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.compaction.record import CompactionEntry, CompactionRecord, read_details
from workbench.config.errors import Refused, WrongCall
from workbench.context.control import in_effect, reverted_events, span_words
from workbench.log.events import Compaction, Event, Override, Revert

_CONTROLS = (Compaction, Override, Revert)
MOST_NAMED = 8
"""Ranges of one decision that are named in a sentence."""


class UndoChange(NamedTuple):
    """A revert to append."""

    revert: Revert
    target: Event
    """The compaction or override that it undoes or restores."""
    what: str
    """What it does, in a sentence."""


def last_undoable(events: Sequence[Event]) -> Event | None:
    """The newest compaction or override that was not undone."""
    return next(reversed(_alive(events, (Compaction, Override))), None)


def last_override(events: Sequence[Event]) -> Event | None:
    """The newest override that was not undone."""
    return next(reversed(_alive(events, (Override,))), None)


def undo_change(events: Sequence[Event], target: int | None = None) -> list[UndoChange]:
    """Undo the last compaction or decision, or the one event with this sequence number."""
    if target is None:
        event = last_undoable(events)
        if event is None:
            raise Refused("nothing to undo: there is no active compaction or override")
        return _step_undone(events, event)
    event = _named(events, target)
    if event.seq not in {one.seq for one in _alive(events, (Compaction, Override))}:
        raise Refused(f"event {target}: {_name(event)} was undone already")
    return [_undone(events, event)]


def undo_override(events: Sequence[Event]) -> list[UndoChange]:
    """Undo the user's last decision, whatever compactions came after it."""
    event = last_override(events)
    if event is None:
        raise Refused("nothing to undo: there is no active override")
    return _step_undone(events, event)


def _step_undone(events: Sequence[Event], event: Event) -> list[UndoChange]:
    """The changes for an override and those decided together with it, newest first."""
    alive = {one.seq for one in _alive(events, (Compaction, Override))}
    return [_undone(events, one) for one in reversed(_step(events, event)) if one.seq in alive]


def _step(events: Sequence[Event], event: Event) -> list[Event]:
    """The overrides that were one decision with this one, in order."""
    if not isinstance(event.body, Override):
        return [event]
    steps: list[list[Event]] = []
    for one in events:
        if isinstance(one.body, Override):
            if one.body.joined and steps:
                steps[-1].append(one)
            else:
                steps.append([one])
    return next(step for step in steps if event in step)


def peel_compaction(events: Sequence[Event]) -> UndoChange:
    """Undo the newest compaction, whatever overrides came after it. Those that it replaced are active again."""
    event = next(reversed(_alive(events, (Compaction,))), None)
    if event is None:
        raise Refused("nothing to undo: there is no active compaction")
    return _undone(events, event)


def undo_all_compactions(events: Sequence[Event]) -> list[UndoChange]:
    log = list(events)
    found: list[UndoChange] = []
    while _alive(log, (Compaction,)):
        found.append(peel_compaction(log))
        log.append(_next(log, found[-1].revert))
    if not found:
        raise Refused("nothing to undo: there is no active compaction")
    return found


def redo_change(events: Sequence[Event], target: int | None = None) -> list[UndoChange]:
    """Restore what was undone last, or the event with this sequence number.

    As in an editor, nothing can be redone after a new compaction or override, except by its number.
    """
    undone = {_target(event): event for event in _alive(events, (Revert,)) if _is_undo(events, event)}
    if target is not None:
        event = _named(events, target)
        if target not in undone:
            raise Refused(f"event {target}: {_name(event)} was not undone")
        return [_redone(events, undone[target])]
    if not undone:
        raise Refused("nothing to redo: no undone compaction or override")
    newest = max(undone.values(), key=lambda revert: revert.seq)
    later = [one for one in _alive(events, (Compaction, Override)) if one.seq > newest.seq]
    if later:
        made = _name(later[0])
        raise Refused(f"nothing to redo: {made} of event {later[0].seq} came later; name the event to bring back")
    step = _step(events, events[_target(newest) - 1])
    return [_redone(events, undone[one.seq]) for one in step if one.seq in undone]


def _redone(events: Sequence[Event], undone: Event) -> UndoChange:
    revert = Revert(undone.seq)
    event = events[_target(undone) - 1]
    return UndoChange(revert, event, _sentence("redid", events, event, revert))


def _undone(events: Sequence[Event], event: Event) -> UndoChange:
    revert = Revert(event.seq)
    return UndoChange(revert, event, _sentence("undid", events, event, revert))


def _alive(events: Sequence[Event], kinds: tuple[type, ...]) -> list[Event]:
    """The active events of these kinds, in order."""
    controls = [event for event in events if isinstance(event.body, _CONTROLS)]
    gone = reverted_events(controls)
    return [event for event in controls if isinstance(event.body, kinds) and event.seq not in gone]


def _is_undo(events: Sequence[Event], event: Event) -> bool:
    """Whether a revert undoes a compaction or an override, and not another revert."""
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
    """A revert as it will be in the log."""
    return Event(len(events) + 1, "", 0, revert)


# In words


def _name(event: Event) -> str:
    return "the compaction" if isinstance(event.body, Compaction) else "the override"


_DONE = {"mask": "masked", "exclude": "excluded", "include": "included"}


def changes_in_words(changes: Sequence[UndoChange]) -> str:
    """What the changes do together, in a sentence."""
    first = changes[0]
    bodies = [change.target.body for change in changes]
    overrides = sorted((body for body in bodies if isinstance(body, Override)), key=lambda body: body.first)
    if len(overrides) == len(changes) > 1 and len({body.action for body in overrides}) == 1:
        return f"{first.what.partition(':')[0]}: {describe_overrides(overrides)}"
    return "; ".join(change.what for change in changes)


def what_was_done(event: Event) -> str:
    """The text after `undid`: `: masked #41` or ` compaction #90`."""
    return f": {describe_overrides([event.body])}" if isinstance(event.body, Override) else f" compaction #{event.seq}"


def describe_overrides(overrides: Sequence[Override]) -> str:
    """`masked 3 items (#41, #44, #50)`; of many, the first ones."""
    action = overrides[0].action
    done = _DONE.get(action.removeprefix("un"), f"{action.removeprefix('un')}ned")
    done = f"un{done}" if action.startswith("un") else done
    count = sum(body.last - body.first + 1 for body in overrides)
    each = [f"#{body.first}" if body.first == body.last else f"#{body.first} to #{body.last}" for body in overrides]
    listed = [*each[: MOST_NAMED - 1], "…"] if len(each) > MOST_NAMED else each
    return f"{done} {each[0]}" if count == 1 else f"{done} {count:,} items ({', '.join(listed)})"


def _sentence(verb: str, events: Sequence[Event], event: Event, revert: Revert) -> str:
    body = event.body
    if isinstance(body, Override):
        return f"{verb}{what_was_done(event)}"
    assert isinstance(body, Compaction)
    freed = read_details(body.meta).freed
    size = "" if freed is None else f", {freed:,} tokens"
    return f"{verb}{what_was_done(event)} ({span_words(event)}{size}){_effect(events, event, revert)}"


def _effect(events: Sequence[Event], event: Event, revert: Revert) -> str:
    """The effect on other compactions; empty if there is none."""
    controls = [event for event in events if isinstance(event.body, _CONTROLS)]
    before = {event.seq for event in in_effect(controls).compactions}
    after = {event.seq for event in in_effect([*controls, _next(events, revert)]).compactions}
    if before == after:
        return ": the request does not change, because a later compaction replaces it"
    effects = [f"compaction #{seq} is no longer active" for seq in sorted(before - after - {event.seq})]
    effects += [f"compaction #{seq} is active again" for seq in sorted(after - before - {event.seq})]
    return f": {', '.join(effects)}" if effects else ""


# The tree of nested compactions


class NestedCompaction(NamedTuple):
    """A compaction and those that it replaced."""

    entry: CompactionEntry
    inside: tuple[NestedCompaction, ...]


def compaction_tree(record: CompactionRecord) -> tuple[NestedCompaction, ...]:
    """The compactions of a log as layers: a replaced one is inside the one that replaced it."""

    def node(entry: CompactionEntry) -> NestedCompaction:
        inside = [other for other in record.entries if other.status == "replaced" and other.by == entry.event.seq]
        return NestedCompaction(entry, tuple(node(other) for other in inside))

    return tuple(node(entry) for entry in record.entries if entry.status != "replaced")
