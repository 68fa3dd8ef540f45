"""A cut of an agent's: the words by which it is known, and where they stand. `agent_cuts` has those of each agent."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

OLD_RESULT: Final = "[Old tool result content cleared]"
"""What Claude Code, opencode, Qwen Code and Kimi Code send in place of results that they cleared."""
Place = Literal["start", "end", "whole", "middle"]


class CutWords(NamedTuple):
    """How one kind of cut is known."""

    sign: str
    """The words as a person sees them, for the documentation."""
    place: Place
    pattern: re.Pattern[str]
    """Its groups tell the size: `tokens`, `chars`, `lines`, `size` of the original, `left_...` of what was left out."""
    shown_by: str
    """How they were shown: by a real run, a real file, or the agent's source only."""
    state: Literal["truncated", "masked"] = "truncated"
    tools: tuple[str, ...] = ()
    """The only tools whose results have them; empty: any."""
    unless: tuple[str, ...] = ()
    """Arguments by which the model itself asks for a part: with one of them it is no cut."""
    before: re.Pattern[str] | None = None
    """What the agent puts before a text that it has cut in the middle."""
    behind: re.Pattern[str] | None = None
    """And behind it."""
    slack: int = 8
    """By so many bytes or characters the two halves may differ: cuts fall on whole characters."""


def words(sign: str, place: Place, pattern: str, shown_by: str, **more: Any) -> CutWords:
    """A kind of cut, its pattern as text; a dot stands for a line's end, too."""
    return CutWords(sign, place, re.compile(pattern, re.DOTALL), shown_by, **more)


def cleared(shown_by: str) -> CutWords:
    """A result in whose place several agents send the same words."""
    return words(OLD_RESULT, "whole", re.escape(OLD_RESULT), shown_by, state="masked")


def run(version: str) -> str:
    """Shown by running the agent."""
    return f"a real run ({version})"


def source(version: str) -> str:
    """Taken from the agent's source."""
    return f"its source only ({version})"
