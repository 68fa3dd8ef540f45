"""Runs the stages of plug-ins over a conversation: what they decide becomes part of the decisions on single cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from workbench.config.plugins import FAULTS, PROBLEMS, fault_words
from workbench.config.text import printable
from workbench.config.values import replace
from workbench.context.cells import Cell
from workbench.context.control import UserDecision
from workbench.context.conversation import Conversation
from workbench.context.measure import Meter
from workbench.context.stages.plugin import (
    STAGES,
    LeaveOut,
    PluginStage,
    StageDecision,
    StageInput,
    StageItem,
    broken_rule,
    shown_why,
)
from workbench.context.view import View, fate_of, partner_of
from workbench.log.events import text_of


class StagedConversation(NamedTuple):
    """A conversation after the stages of plug-ins."""

    conversation: Conversation
    notes: tuple[str, ...]
    """The stages that were skipped, each with the reason."""


class _Skipped(Exception):
    """A stage is not used; the text says why."""


def run_stages(conversation: Conversation, names: Sequence[str], meter: Meter, model: str) -> StagedConversation:
    """The conversation after the named stages, in this order. One that fails or breaks a rule changes nothing."""
    notes = []
    for name in names:
        try:
            conversation = _after_stage(conversation, name, meter, model)
        except _Skipped as skipped:
            notes.append(f"stage {printable(name)} was skipped: {skipped}")
    return StagedConversation(conversation, tuple(notes))


def _after_stage(conversation: Conversation, name: str, meter: Meter, model: str) -> Conversation:
    stage = STAGES.find_named(name)
    if stage is None:
        raise _Skipped("no installed package has it, or it cannot be loaded; `workbench plugins` says more")
    view = conversation.view()
    sent = dict(_sent_items(conversation, view))
    items = tuple(sent.values())
    decisions = _decisions(
        name, stage, StageInput(items, meter.limits.window, model, lambda text: meter.text(text).tokens)
    )
    problem = broken_rule(decisions, items)
    if problem:
        _report(name, problem)
        raise _Skipped(printable(problem))
    if not decisions:
        return conversation
    made = {seq: _as_decision(name, decisions[item.id]) for seq, item in sent.items() if item.id in decisions}
    return conversation.with_preconditions(replace(conversation.ground, overrides={**conversation.overrides, **made}))


def _sent_items(conversation: Conversation, view: View) -> Iterator[tuple[int, StageItem]]:
    """The items that would be sent, by the sequence numbers of their events."""
    for cell in conversation.cells:
        state, tokens, content, _ = fate_of(cell, view)
        if cell.unit < 0 or content is None:
            continue
        pair = partner_of(cell, view)
        yield (
            cell.seq,
            StageItem(
                cell.id,
                cell.kind,
                cell.role or "",
                cell.tool or "",
                cell.turn,
                text_of(content),
                tokens,
                state,
                "" if pair is None else pair.id,
                _is_fixed(cell, pair, conversation),
            ),
        )


def _is_fixed(cell: Cell, pair: Cell | None, conversation: Conversation) -> bool:
    if cell.seq == conversation.latest:
        return True
    if cell.kind == "tool_call" and pair is None and cell.unit == len(conversation.units) - 1:
        return True
    if not conversation.overrides:
        return False
    own = (conversation.overrides.get(each.seq) for each in (cell, pair) if each is not None)
    return any(each is not None and not each.stage for each in own)


def _decisions(name: str, stage: PluginStage, given: StageInput) -> Mapping[str, StageDecision]:
    try:
        return stage(given)
    except FAULTS as error:
        _report(name, f"raised {fault_words(error)}")
        raise _Skipped(printable(f"it raised {fault_words(error)}")) from None


def _report(name: str, problem: str) -> None:
    entry = STAGES.entries().get(name)
    if entry is not None:
        PROBLEMS.note_problem(entry, problem)


def _as_decision(name: str, decision: StageDecision) -> UserDecision:
    why = shown_why(decision)
    if isinstance(decision, LeaveOut):
        return UserDecision(excluded=True, why=why, stage=name)
    return UserDecision(masked=True, why=why, text=decision.text, stage=name)
