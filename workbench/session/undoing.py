"""Undo and redo in the open session: the events to append, their description, and the effect of an undo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

from workbench.compaction.undo import (
    UndoChange,
    changes_in_words,
    peel_compaction,
    redo_change,
    undo_all_compactions,
    undo_change,
    undo_override,
)
from workbench.context.control import compaction_range, span_words
from workbench.context.items import State
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import Compaction, Event
from workbench.session.open_session import OpenSession

Which = Literal["undo", "override", "redo", "peel", "all"]
"""`undo` and `redo`: the last compaction or override, or the one of an event; `override`: the last override, even if
compactions came after it; `peel`: the newest compaction, even if overrides came after it; `all`: every compaction."""


def _changes(events: Sequence[Event], which: Which, seq: int | None) -> list[UndoChange]:
    match which:
        case "undo":
            return undo_change(events, seq)
        case "override":
            return undo_override(events)
        case "redo":
            return redo_change(events, seq)
        case "peel":
            return [peel_compaction(events)]
        case "all":
            return undo_all_compactions(events)


def revert_change(opened: OpenSession, which: Which, seq: int | None = None) -> str:
    """Undo or redo, and return the effect in words. Raises Refused if nothing can be undone or redone."""
    changes = _changes(opened.events, which, seq)
    before = opened.plan.size
    opened.append(*(change.revert for change in changes))
    return f"{changes_in_words(changes)} · {_sizes(before, opened.plan)}"


def _sizes(before: int, plan: ContextPlan) -> str:
    return f"{before:,} → {plan.size:,} of {plan.limits.window:,} tokens"


class UndoQuestion(NamedTuple):
    """The question before a compaction is undone."""

    seq: int
    about: str
    effect: Callable[[], str]
    """Return what would be sent again. It plans the log from scratch, so call it in the background."""


def question_before(opened: OpenSession, which: Which, seq: int | None = None) -> UndoQuestion | None:
    """The question before an undo; None if it undoes only overrides. Raises Refused if nothing can be undone."""
    [change, *_] = changes = _changes(opened.events, which, seq)
    if not isinstance(change.target.body, Compaction):
        return None
    setup = opened.agent.setup if opened.agent is not None else opened.setup
    about = f"Compaction #{change.target.seq} summarised the {span_words(change.target)}."
    work = partial(_effect, list(opened.events), setup, opened.plan, changes, live=opened.calls_may_return)
    return UndoQuestion(change.target.seq, about, work)


_AS: dict[State, str] = {
    "sent": "sent whole",
    "truncated": "truncated",
    "masked": "masked",
    "summarised": "still in an earlier summary",
    "dropped": "left out",
    "excluded": "excluded",
}


def _effect(events: list[Event], setup: Setup, now: ContextPlan, changes: Sequence[UndoChange], *, live: bool) -> str:
    reverts = [Event(seq, f"undo-{seq}", 0, each.revert) for seq, each in enumerate(changes, len(events) + 1)]
    after = setup.planner([*events, *reverts], live=live).plan()
    first, last = compaction_range(changes[0].target)
    states = Counter(row.state for row in after.items if row.unit >= 0 and row.seq and first <= row.seq <= last)
    items = ", ".join(f"{states[state]:,} {words}" for state, words in _AS.items() if states[state])
    return f"Undone: {_sizes(now.size, after)}" + (f"; what it summarised: {items}." if items else ".")
