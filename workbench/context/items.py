"""Items: the inspector shows them, and the request is made of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from workbench.log.events import Content

State = Literal["sent", "truncated", "masked", "summarised", "dropped", "excluded", "aside"]
Kind = Literal["message", "reasoning", "tool_call", "tool_result", "tool_definition", "summary", "notice", "aside"]
Slot = Literal["system", "instructions", "memory", "tools", "unattributed", "summaries", "history", "turn"]
Stage = Literal["fold", "normalise", "truncate", "mask", "history", "groups", "fit", "override"]

SLOTS: tuple[Slot, ...] = ("system", "instructions", "memory", "tools", "summaries", "history", "turn")
"""The slots of what is in the log; `unattributed` is what a report has beyond that."""
IN_REQUEST: frozenset[State] = frozenset({"sent", "truncated", "masked"})
"""The states in which an item, or what is left of it, goes over the wire."""
SIGNS: dict[State, str] = {
    "sent": " ",
    "truncated": "t",
    "masked": "m",
    "summarised": "s",
    "dropped": "d",
    "excluded": "x",
    "aside": "·",
}
"""A letter for each state, so that nothing depends on colour."""


def state_words(state: str) -> str:
    """A state in words for people; data keeps its name."""
    return "not sent" if state == "aside" else state


class Edit(NamedTuple):
    """One stage's decision on one item."""

    stage: Stage
    state: State
    before: int
    """Tokens before this edit."""
    after: int
    """Tokens after it."""
    why: str
    """A sentence with its numbers."""


class Item(NamedTuple):
    """An event, or something synthetic, and its state in the plan."""

    id: str
    seq: int | None
    """The event's sequence number; None for synthetic items."""
    turn: int
    slot: Slot
    role: str | None
    kind: Kind
    tool: str | None
    state: State
    tokens: int
    """The cost of its content as sent, without message framing; 0 if not sent."""
    original_tokens: int
    exact: bool
    pinned: bool
    edits: tuple[Edit, ...]
    text: str | None
    """What is sent, as readable text; None if nothing is."""
    original: str
    content: Content | None = None
    """What is sent, with its parts."""
    unit: int = -1
    """Items with the same unit belong to one assistant message and its results."""
    call_id: str = ""
    """The call's id on the wire."""
    name: str = ""

    @property
    def who(self) -> str:
        """Who it is from, in a word: a tool (`name()` for a call), the role, or else the slot or the kind."""
        if self.kind in ("reasoning", "summary", "notice"):
            return self.kind
        if self.slot in ("instructions", "memory"):
            return self.slot
        return f"{self.tool}()" if self.kind == "tool_call" else self.tool or self.role or self.kind

    @property
    def why(self) -> str:
        """The reason of the last decision about it, with its numbers; empty if it is sent as it is."""
        return self.edits[-1].why if self.edits else ""

    @property
    def in_request(self) -> bool:
        """Whether it, or what is left of it, goes over the wire."""
        return self.state in IN_REQUEST
