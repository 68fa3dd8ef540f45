"""Cells and units: the conversation as the log has it, before the stages decide.

A cell is one event of the conversation; a unit is what stays or goes as a whole: a user message, or one assistant
message with its calls and their results. Cells and units are only ever added, and a cell's pair is written once, so
that a plan made earlier can go on reading them while the session grows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from operator import attrgetter
from typing import Any, NamedTuple

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
    """What a cell is by the kind of its event alone."""

    kind: Kind
    role: str | None
    """Who speaks; None for what is no part of the conversation."""
    said: Callable[[Any], Content]
    """What the event's body says, with its parts."""


def _described(body: Body) -> str:
    """What is no part of the conversation, in words."""
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
_ASIDE_NAMES = {Usage: "usage", Snapshot: "snapshot", Failure: "error", Reasoning: "thinking"}


class Cell:
    """One event of the conversation, counted and cut to its cap.

    A long session has a hundred thousand of them. So a cell holds little, what most cells do not have is a default of
    the class, and what the event says is read from it when somebody looks.
    """

    tool: str | None = None
    wire_id: str = ""
    partner: int = -1
    """A call's result, or a result's call: its place among the cells. Written once."""
    number: int = -1
    """A result's number within the scope of masking; -1: never masked by it."""
    mask_tokens: int = 0
    cut: TruncatedText | None = None
    fate: str = ""
    """Why normalise dropped it; empty when it did not."""
    note: str = ""
    """What normalise changed; empty when nothing."""
    changed: Content | None = None
    """What normalise sends instead of the original."""
    whole: int | None = None
    """What the original costs, where normalise changed it."""
    agent_cut: AgentCut | None = None
    """What its agent had done to it before it was written down."""

    def __init__(self, event: Event, turn: int, unit: int, tokens: int, exact: bool) -> None:
        self.event = event
        self.turn = turn
        self.unit = unit
        """Its unit's number; -1 for what is never sent."""
        self.tokens = tokens
        """What it costs, uncut."""
        self.exact = exact

    def undecided(self) -> Cell:
        """The same event as nobody has decided about it yet: neither masked nor kept in part."""
        made = copy(self)
        made.number, made.mask_tokens = -1, 0
        if made.cut is not None and self.kind != "tool_result":
            made.cut = None  # what a compaction kept of it
        return made

    @property
    def original_tokens(self) -> int:
        """What the event's own content costs."""
        return self.tokens if self.whole is None else self.whole

    @property
    def state(self) -> State:
        """What it is where no stage decides anything: sent, or what its agent had left of it."""
        return "sent" if self.agent_cut is None else self.agent_cut.state

    @property
    def seq(self) -> int:
        """The event's place in the log."""
        return self.event.seq

    @property
    def id(self) -> str:
        """The event's id."""
        return self.event.id

    @property
    def form(self) -> CellForm:
        """What it is by the kind of its event."""
        return _FORMS.get(type(self.event.body), _ASIDE)

    @property
    def kind(self) -> Kind:
        """What the row is."""
        return self.form.kind

    @property
    def role(self) -> str | None:
        """Who speaks; None for what is no part of the conversation."""
        body = self.event.body
        return body.role if isinstance(body, SystemMessage) else self.form.role

    @property
    def name(self) -> str:
        """The author's name, where the message has one."""
        body = self.event.body
        return body.name if isinstance(body, (UserMessage, AssistantMessage, SystemMessage)) else ""

    @property
    def said(self) -> Content:
        """What the event says, with its parts."""
        return self.form.said(self.event.body)

    @property
    def content(self) -> Content:
        """What is sent of it, uncut."""
        return self.said if self.changed is None else self.changed

    @property
    def text(self) -> str:
        """What is sent of it, uncut, for reading."""
        return self.original if self.changed is None else text_of(self.changed)

    @property
    def original(self) -> str:
        """What the event says, for reading."""
        said = self.said
        return said if type(said) is str else text_of(said)


def aside_name(cell: Cell) -> str:
    """What a cell that is never sent is, among others of its kind."""
    return _ASIDE_NAMES.get(type(cell.event.body), "other")


def is_answer(unit: Sequence[Cell | Item]) -> bool:
    """Whether a unit ends its turn: an assistant message that calls nothing."""
    return bool(unit) and unit[0].role == "assistant" and all(part.kind != "tool_call" for part in unit)


class Unit:
    """What stays or goes as a whole."""

    calls = 0
    results = 0
    early = 0
    """Results that came before their calls."""
    special = False
    """Has something that must be looked at cell by cell when measured (an override)."""

    def __init__(self, turn: int, reply: str | None) -> None:
        self.turn = turn
        self.reply = reply
        """The id of the model reply it holds; None for anything else."""
        self.cells: list[int] = []

    def moved(self, turns: Sequence[int], places: Mapping[int, int]) -> Unit:
        """The same with other numbers for its turn and its cells."""
        made = copy(self)
        made.turn, made.cells = turns[self.turn], [places[at] for at in self.cells]
        return made
