"""Cells and units: the conversation as the log has it, before the stages decide.

A cell is one event of the conversation; a unit is what stays or goes as a whole: a user message, or one assistant
message with its calls and their results. Cells and units are only ever added, and a cell's pair is written once, so
that a plan made earlier can go on reading them while the session grows.
"""

from __future__ import annotations

from workbench.context.items import Kind
from workbench.context.stages.truncate import Cut
from workbench.log.events import (
    AssistantMessage,
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
from workbench.models.tokens import Count

_KINDS: dict[type, Kind] = {
    SystemMessage: "message",
    UserMessage: "message",
    AssistantMessage: "message",
    Reasoning: "reasoning",
    ToolCall: "tool_call",
    ToolResult: "tool_result",
}


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
    cut: Cut | None = None
    fate: str = ""
    """Why normalise dropped it; empty when it did not."""
    note: str = ""
    """What normalise changed; empty when nothing."""
    changed: str | None = None
    """What normalise sends instead of the original."""
    whole: Count | None = None
    """What the original costs, where normalise changed it."""
    cover: int = -1
    """Which standing compaction summarises it; -1: none."""

    def __init__(self, event: Event, turn: int, unit: int, count: Count) -> None:
        self.event = event
        self.turn = turn
        self.unit = unit
        """Its unit's number; -1 for what is never sent."""
        self.count = count
        """What it costs, uncut."""

    @property
    def seq(self) -> int:
        """The event's place in the log."""
        return self.event.seq

    @property
    def id(self) -> str:
        """The event's id."""
        return self.event.id

    @property
    def tokens(self) -> int:
        """What it costs, uncut."""
        return self.count.tokens

    @property
    def original_tokens(self) -> int:
        """What the event's own content costs."""
        return (self.whole or self.count).tokens

    @property
    def kind(self) -> Kind:
        """What the row is."""
        return _KINDS.get(type(self.event.body), "aside")

    @property
    def role(self) -> str | None:
        """Who speaks; None for what is no part of the conversation."""
        match self.event.body:
            case UserMessage():
                return "user"
            case ToolResult():
                return "tool"
            case AssistantMessage() | ToolCall() | Reasoning():
                return "assistant"
            case SystemMessage(role=role):
                return role
        return None

    @property
    def name(self) -> str:
        """The author's name, where the message has one."""
        body = self.event.body
        return body.name if isinstance(body, (SystemMessage, UserMessage, AssistantMessage)) else ""

    @property
    def content(self) -> Content:
        """What is sent of it, uncut."""
        if self.changed is not None:
            return self.changed
        body = self.event.body
        if isinstance(body, (SystemMessage, UserMessage, AssistantMessage, ToolResult)):
            return body.content
        return self.original

    @property
    def text(self) -> str:
        """What is sent of it, uncut, for reading."""
        return self.original if self.changed is None else self.changed

    @property
    def original(self) -> str:
        """What the event says, for reading."""
        said = getattr(self.event.body, "content", None)
        if type(said) is str:
            return said
        match self.event.body:
            case SystemMessage() | UserMessage() | AssistantMessage() | ToolResult() as body:
                return text_of(body.content)
            case ToolCall(arguments=arguments):
                return arguments
            case Reasoning(text=text):
                return text
            case Usage() as body:
                prompt = "not reported" if body.prompt is None else f"{body.prompt:,}"
                return f"usage: prompt {prompt}, cached {body.cached:,}, completion {body.completion:,} ({body.model})"
            case Snapshot() as body:
                return f"snapshot {body.commit[:12]} of {body.root}"
            case Failure() as body:
                return f"error ({body.category}): {body.message}"
            case Unknown() as body:
                return f"an event of the unknown kind {body.kind!r}"
            case body:
                return type(body).__name__


class Unit:
    """What stays or goes as a whole."""

    calls = 0
    results = 0
    special = False
    """Has something that must be looked at cell by cell when measured (an override)."""

    def __init__(self, turn: int, reply: str | None) -> None:
        self.turn = turn
        self.reply = reply
        """The id of the model reply it holds; None for anything else."""
        self.cells: list[int] = []
