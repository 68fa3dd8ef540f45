"""Cells and units: the conversation as the log has it, before the stages decide.

A cell is one event of the conversation; a unit is what stays or goes as a whole: a user message, or one assistant message with
its calls and their results. Cells and units are only ever added, and a cell's pair is written once, so that a plan made earlier
can go on reading them while the session grows.
"""

from __future__ import annotations

from typing import NamedTuple

from workbench.context.items import Kind
from workbench.context.stages.truncate import Cut
from workbench.log.events import Content, Event


class Counted(NamedTuple):
    """A content with its cost."""

    content: Content
    text: str
    tokens: int
    exact: bool


class Cell:
    """One event of the conversation, counted and cut to its cap."""

    __slots__ = (
        "content",
        "cover",
        "cut",
        "exact",
        "fate",
        "id",
        "kind",
        "mask_tokens",
        "name",
        "note",
        "number",
        "original_tokens",
        "partner",
        "role",
        "seq",
        "text",
        "tokens",
        "tool",
        "turn",
        "unit",
        "wire_id",
    )

    def __init__(self, event: Event, kind: Kind, role: str | None, turn: int, unit: int, counted: Counted) -> None:
        self.seq = event.seq
        self.id = event.id
        self.kind = kind
        self.role = role
        self.turn = turn
        self.unit = unit
        """Its unit's number; -1 for what is never sent."""
        self.content, self.text, self.tokens, self.exact = counted
        self.original_tokens = self.tokens
        self.tool: str | None = None
        self.name = ""
        self.wire_id = ""
        self.partner = -1
        """A call's result, or a result's call: its place among the cells. Written once."""
        self.number = -1
        """A result's number within the scope of masking."""
        self.mask_tokens = 0
        self.cut: Cut | None = None
        self.fate = ""
        """Why normalise dropped it; empty when it did not."""
        self.note = ""
        """What normalise changed; empty when nothing."""
        self.cover = -1
        """Which standing compaction summarises it; -1: none."""


class Unit:
    """What stays or goes as a whole."""

    __slots__ = ("calls", "cells", "held", "opener", "reply", "results", "special", "turn")

    def __init__(self, turn: int, opener: bool, reply: str | None) -> None:
        self.turn = turn
        self.opener = opener
        """Whether it is the user message that opened its turn."""
        self.reply = reply
        """The id of the model reply it holds; None for anything else."""
        self.cells: list[int] = []
        self.calls = 0
        self.results = 0
        self.held = False
        """Always sent: pinned, or kept by a compaction."""
        self.special = False
        """Has something that must be looked at cell by cell when measured (an override)."""
