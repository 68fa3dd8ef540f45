"""Stages of plug-ins: what they get, what they may decide, and the rules that their decisions are held to.

They run in the policy's order (`stages.use`) after masking and before history is cut. A stage sees what would be sent
of the conversation and names what to leave out or to replace. It cannot reach anything else: slots, summaries, pinned
items and the latest user message stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from workbench.config.plugins import PluginRegistry
from workbench.config.tables import shown_value
from workbench.config.text import printable
from workbench.context.items import OWN_STAGES, Kind, State

LONGEST_WHY = 300
"""Characters of a reason that are kept."""


class StageItem(NamedTuple):
    """An item of the conversation that would be sent."""

    id: str
    kind: Kind
    role: str
    tool: str
    """The tool of a call or a result; empty for anything else."""
    turn: int
    """Its turn, from 1."""
    text: str
    """Its text as it would be sent."""
    tokens: int
    state: State
    """sent, truncated or masked, by the stages before."""
    pair: str
    """The id of the other half of a call and its result; empty if there is none."""
    is_fixed: bool
    """Whether it has to stay as it is: the latest user message, a call that still runs, what the user decided about."""


class StageInput(NamedTuple):
    """What a stage decides about. It is the same for the same log, so a stage can be a pure function of it."""

    items: tuple[StageItem, ...]
    window: int
    model: str
    count: Callable[[str], int]
    """The tokens of a text."""


class LeaveOut(NamedTuple):
    """Do not send an item. Both halves of a call and its result have to be left out together."""

    why: str
    """A short sentence for people, which the plan shows."""


class Replace(NamedTuple):
    """Send another text in place of a message or a result."""

    text: str
    why: str
    """A short sentence for people, which the plan shows."""


StageDecision = LeaveOut | Replace
PluginStage = Callable[[StageInput], Mapping[str, StageDecision]]
"""Gets the conversation and returns decisions by the ids of items; what it does not name stays as it is."""


def _checked_stage(name: str, value: Any) -> PluginStage:
    if name in OWN_STAGES:
        raise ValueError(f"{name}: one of Workbench's own stages has this name; expected another one")
    if not callable(value) or isinstance(value, type):
        raise TypeError(f"expected a function from StageInput to decisions, got {shown_value(value)}")
    made: PluginStage = value
    return made


STAGES: PluginRegistry[PluginStage] = PluginRegistry("stages", _checked_stage)
"""The stages of plug-ins. Ours are not among them: they work on running sums, not on lists of items."""


def broken_rule(decisions: Any, items: Iterable[StageItem]) -> str:
    """The first rule that the decisions of a stage break, in words; empty if they break none."""
    if not isinstance(decisions, Mapping):
        return f"expected decisions by the ids of items, got {shown_value(decisions)}"
    known = {item.id: item for item in items}
    for item_id, decision in decisions.items():
        problem = _problem(known.get(item_id), decision, decisions)
        if problem:
            return f"{shown_value(item_id)}: {problem}"
    if known and all(isinstance(decisions.get(item_id), LeaveOut) for item_id in known):
        return "it leaves out the whole conversation"
    return ""


def _problem(item: StageItem | None, decision: Any, decisions: Mapping[Any, Any]) -> str:
    if item is None:
        return "there is no item with this id"
    if not isinstance(decision, LeaveOut | Replace):
        return f"expected LeaveOut or Replace, got {shown_value(decision)}"
    if not isinstance(decision.why, str) or not decision.why.strip():
        return "expected a reason"
    if item.is_fixed:
        return "the latest user message, running calls and what the user decided about have to stay as they are"
    if isinstance(decision, LeaveOut):
        apart = bool(item.pair) and not isinstance(decisions.get(item.pair), LeaveOut)
        return "a call and its result have to be left out together" if apart else ""
    if item.kind not in ("message", "tool_result"):
        return f"only messages and results can be replaced, and this is a {item.kind}"
    if not isinstance(decision.text, str) or not decision.text.strip():
        return "expected a text in its place; an empty one is refused by providers"
    return ""


def shown_why(decision: StageDecision) -> str:
    """The reason of a decision, on one line that is safe to show."""
    return printable(decision.why, LONGEST_WHY)
