"""Cells and units: the conversation as it is in the log, before a policy's stages decide what to send.

A cell is one event of the conversation; a unit is kept or dropped as a whole: a user message, or one assistant message
with its calls and their results. Cells and units are only added, and a cell's partner is set once. So an earlier plan
can keep reading them while the session grows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import Struct

from workbench.context.items import Item, Kind, State
from workbench.context.stages.truncate import TruncatedText
from workbench.log.events import (
    AgentCut,
    AssistantMessage,
    Body,
    Content,
    Event,
    Failure,
    Reasoning,
    Snapshot,
    SystemMessage,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
    text_of,
)


class CellForm(NamedTuple):
    """What is known about a cell from the type of its event."""

    kind: Kind
    role: str | None
    """The role of the message; None if the event is not part of the conversation."""
    content_of: Callable[[Any], Content]
    """Returns the content of the event's body: a text, or parts such as texts and pictures."""


def _described(body: Body) -> str:
    """Describe a body that is not part of the conversation."""
    match body:
        case Usage():
            prompt = "not reported" if body.prompt is None else f"{body.prompt:,}"
            return f"usage: prompt {prompt}, cached {body.cached:,}, completion {body.completion:,} ({body.model})"
        case Snapshot():
            return f"snapshot {body.commit[:12]} of {body.root}"
        case Failure():
            return f"error ({body.category}): {body.message}"
        case Unknown():
            return f"an event of the unknown kind {body.kind!r}"
    return type(body).__name__


_FORMS = {
    SystemMessage: CellForm("message", "system", attrgetter("content")),
    UserMessage: CellForm("message", "user", attrgetter("content")),
    AssistantMessage: CellForm("message", "assistant", attrgetter("content")),
    Reasoning: CellForm("reasoning", "assistant", attrgetter("text")),
    ToolCall: CellForm("tool_call", "assistant", attrgetter("arguments")),
    ToolResult: CellForm("tool_result", "tool", attrgetter("content")),
}
_ASIDE = CellForm("aside", None, _described)
"""The form of all other events: they are shown, but never sent."""
_ASIDE_NAMES = {Usage: "usage", Snapshot: "snapshot", Failure: "error", Reasoning: "thinking"}


class Cell(Struct, eq=False, gc=False):
    """One event of the conversation, with its tokens and, if it is too long, its truncated text.

    A long session has a hundred thousand of them, so that they are made without a call in Python, and the collector
    need not track them: there are no cycles. The content is read from the event on access.
    """

    event: Event
    turn: int
    unit: int
    """Its unit's number; -1 if it is never sent."""
    tokens: int
    """Its cost in tokens, before truncation."""
    exact: bool
    tool: str | None = None
    wire_id: str = ""
    partner: int = -1
    """The index of a call's result, or of a result's call, among the cells. Set once."""
    number: int = -1
    """A result's number, for the stage that masks; -1: that stage never masks it."""
    mask_tokens: int = 0
    """The cost of the result when it is masked."""
    cut: TruncatedText | None = None
    fate: str = ""
    """Why the stage `normalise` dropped it; empty if it did not."""
    note: str = ""
    """What normalise changed; empty if nothing."""
    changed: Content | None = None
    """What normalise sends in place of the original."""
    whole: int | None = None
    """The cost of the original, if normalise changed it."""
    agent_cut: AgentCut | None = None
    """How its agent had shortened it before it was recorded, if it had."""

    def undecided(self) -> Cell:
        """A copy without later decisions: neither masked nor kept in part."""
        made = copy(self)
        made.number, made.mask_tokens = -1, 0
        if made.cut is not None and self.kind != "tool_result":
            made.cut = None  # the part that a compaction kept
        return made

    @property
    def original_tokens(self) -> int:
        """The cost of the event's own content, before `normalise`."""
        return self.tokens if self.whole is None else self.whole

    @property
    def state(self) -> State:
        """Its state unless a stage decides otherwise: sent, or how its agent had shortened it."""
        return "sent" if self.agent_cut is None else self.agent_cut.state

    @property
    def seq(self) -> int:
        return self.event.seq

    @property
    def id(self) -> str:
        return self.event.id

    @property
    def form(self) -> CellForm:
        """What is known from the type of its event."""
        return _FORMS.get(type(self.event.body), _ASIDE)

    @property
    def kind(self) -> Kind:
        return self.form.kind

    @property
    def role(self) -> str | None:
        """The role of the message; None if the event is not part of the conversation."""
        body = self.event.body
        return body.role if isinstance(body, SystemMessage) else self.form.role

    @property
    def name(self) -> str:
        """The author's name, if the message has one."""
        body = self.event.body
        return body.name if isinstance(body, (UserMessage, AssistantMessage, SystemMessage)) else ""

    @property
    def event_content(self) -> Content:
        """The event's own content: a text, or parts such as texts and pictures."""
        body = self.event.body
        return _FORMS.get(type(body), _ASIDE).content_of(body)

    @property
    def content(self) -> Content:
        """What is sent, before truncation."""
        return self.event_content if self.changed is None else self.changed

    @property
    def text(self) -> str:
        """What is sent, before truncation, as readable text."""
        return self.original if self.changed is None else text_of(self.changed)

    @property
    def original(self) -> str:
        """The event's content, as readable text."""
        content = self.event_content
        return content if type(content) is str else text_of(content)


def aside_name(cell: Cell) -> str:
    """The group of a cell that is never sent: usage, thinking and so on."""
    return _ASIDE_NAMES.get(type(cell.event.body), "other")


def is_answer(unit: Sequence[Cell | Item]) -> bool:
    """Whether a unit ends its turn: an assistant message without calls."""
    return bool(unit) and unit[0].role == "assistant" and all(part.kind != "tool_call" for part in unit)


class Unit(Struct, eq=False, gc=False):
    """Cells that are kept or dropped as a whole."""

    turn: int
    reply: str | None
    """The id of its model reply; None for anything else."""
    cells: list[int] = []
    calls: int = 0
    results: int = 0
    early: int = 0
    """Results that came before their calls."""
    special: bool = False
    """Whether it must be measured cell by cell, because of an override."""

    def moved(self, turns: Sequence[int], places: Mapping[int, int]) -> Unit:
        """A copy with new numbers for its turn and its cells; `turns` and `places` map the old ones to them."""
        made = copy(self)
        made.turn, made.cells = turns[self.turn], [places[at] for at in self.cells]
        return made
