"""Turns the user's wish for rows into overrides, or says why not. Independent of widgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from workbench.config.errors import WrongCall
from workbench.context.compare import Effect, plan_effect
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.log.events import Override, OverrideAction
from workbench.views.context_view import SessionQueries, merge_overrides
from workbench.views.row_lookup import row_of

Verb = Literal["pin", "mask", "exclude", "restore"]
BACK: dict[str, OverrideAction] = {"pin": "unpin", "mask": "unmask", "exclude": "include"}
MOST_RUNS = 50
"""The most overrides of one choice, because each is an event in the log."""


class ProposedOverrides(NamedTuple):
    """Overrides that the user has not agreed to yet."""

    decisions: tuple[Override, ...]
    rows: int
    verb: str
    """In a word or two: `pin`, `unmask`, `restore`."""


class OverridePreview(NamedTuple):
    """The effect of proposed overrides."""

    choice: ProposedOverrides
    effect: Effect
    fits: bool
    """Whether the request could still be sent."""
    nothing: bool
    """Whether it would change nothing."""
    size: int = 0
    """Tokens of the current request."""


def propose_overrides(verb: Verb, items: Sequence[Item], queries: SessionQueries) -> ProposedOverrides:
    """The overrides for a wish; raises WrongCall if there are none.

    If all rows are already as wished, the wish is to undo that.
    """
    if not items:
        raise WrongCall("there is no row here")
    able: list[Item] = []
    why = ""
    for item in items:
        refusal = why_not(verb, item)
        why = why or refusal
        if not refusal:
            able.append(item)
    if not able:
        raise WrongCall(why)
    actions = _actions(verb, able)
    decided = [(item.seq, action) for item, action in actions if item.seq is not None]
    found = merge_overrides(queries, decided)
    if len(found) > MOST_RUNS:
        raise WrongCall(f"{len(found)} separate pieces are chosen; expected at most {MOST_RUNS} at once")
    kinds = {decision.action for decision in found}
    verb_shown = found[0].action if len(kinds) == 1 and verb != "restore" else verb
    return ProposedOverrides(tuple(found), len(decided), verb_shown)


def why_not(verb: Verb, item: Item) -> str:
    """Why an override would have no effect on a row; empty if it may have one."""
    if item.seq is None:
        what = "a summary cannot be changed here: undo its compaction" if item.kind == "summary" else ""
        return what or "the policy added this row: there is no event behind it that could be changed"
    if item.state == "aside":
        return "this is never sent, whatever is done to it"
    if item.state == "summarised":
        return "it is summarised; undo the compaction to send it again"
    if item.edits and item.edits[0].stage == "normalise" and item.state == "dropped":
        return "it can never be sent: it has no partner, or occurs twice"
    if verb == "mask" and item.kind == "tool_call":
        return "a call is never masked: mask its result, or exclude both"
    if verb == "mask" and item.turn == 0:
        return f"{item.slot} is never masked: exclude it instead"
    if verb == "restore" and item.state == "sent" and not item.pinned:
        return "it is sent whole: there is nothing to restore"
    return ""


def _actions(verb: Verb, items: Sequence[Item]) -> list[tuple[Item, OverrideAction]]:
    if verb == "restore":
        return [(item, _restoring(item)) for item in items]
    done = [_is_done(verb, item) for item in items]
    if all(done):
        return [(item, BACK[verb]) for item in items]
    return [(item, verb) for item, already in zip(items, done, strict=True) if not already]


def _is_done(verb: Verb, item: Item) -> bool:
    if verb == "pin":
        return item.pinned
    return item.state == ("masked" if verb == "mask" else "excluded")


def _restoring(item: Item) -> OverrideAction:
    """The action that makes a row whole again; for a whole row, the one that removes the user's override."""
    if item.state == "excluded":
        return "include"
    if item.state == "masked":
        return "unmask"
    return "unpin" if item.state == "sent" else "pin"


def preview_overrides(before: ContextPlan, choice: ProposedOverrides, queries: SessionQueries) -> OverridePreview:
    """The effect of a choice. Plans the log again, so call it in a thread."""
    after = queries.what_if(choice.decisions)
    found = plan_effect(before, after)
    nothing = found.first_changed is None and not _any_row_changes(before, after, choice)
    return OverridePreview(choice, found, after.verdict.fits or not before.verdict.fits, nothing, before.size)


def _any_row_changes(before: ContextPlan, after: ContextPlan, choice: ProposedOverrides) -> bool:
    """Whether a row's state or pin changes, although the request is the same."""
    for decision in choice.decisions:
        for seq in range(decision.first, decision.last + 1):
            old, new = row_of(before.items, seq), row_of(after.items, seq)
            if old is not None and new is not None:
                was, row = before.items[old], after.items[new]
                if was.seq == row.seq == seq and (was.state, was.pinned) != (row.state, row.pinned):
                    return True
    return False
