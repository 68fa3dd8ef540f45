"""Cells and units: the conversation as the log has it, before the stages decide.

A cell is one event of the conversation; a unit is what stays or goes as a whole: a user message, or one assistant message
with its calls and their results. Cells and units are only ever added, and a cell's pair is written once, so that a plan made
earlier can go on reading them while the session grows.
"""

from __future__ import annotations

from typing import NamedTuple

from workbench.context.items import Kind
from workbench.context.stages.truncate import Cut
from workbench.log.events import Content, Event


class Counted(NamedTuple):
    """A content with its readable text and its cost."""

    content: Content
    text: str
    tokens: int
    exact: bool


class Cell:
    """One event of the conversation, counted and cut to its cap.

    What most cells do not have is a default of the class, which costs nothing to make a hundred thousand times.
    """

    tool: str | None = None
    name: str = ""
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
    cover: int = -1
    """Which standing compaction summarises it; -1: none."""

    def __init__(self, event: Event, kind: Kind, role: str | None, turn: int, unit: int, counted: Counted) -> None:
        self.seq, self.id, _, _ = event
        self.kind = kind
        self.role = role
        self.turn = turn
        self.unit = unit
        """Its unit's number; -1 for what is never sent."""
        self.content, self.text, self.tokens, self.exact = counted
        self.original_tokens = self.tokens


class Unit:
    """What stays or goes as a whole."""

    calls = 0
    results = 0
    special = False
    """Has something that must be looked at cell by cell when measured (an override)."""

    def __init__(self, turn: int, opener: bool, reply: str | None) -> None:
        self.turn = turn
        self.opener = opener
        """Whether it is the user message that opened its turn."""
        self.reply = reply
        """The id of the model reply it holds; None for anything else."""
        self.cells: list[int] = []
