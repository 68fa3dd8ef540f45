"""The words that show an agent's cut, and where they are in a text. `agent_cuts` has those of each agent."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, NamedTuple

OLD_RESULT: Final = "[Old tool result content cleared]"
"""What Claude Code, opencode, Qwen Code and Kimi Code send in place of cleared results."""
Place = Literal["start", "end", "whole", "middle"]


class CutWords(NamedTuple):
    """How to recognise one kind of cut."""

    sign: str
    """The words as a person sees them, for the documentation."""
    place: Place
    pattern: re.Pattern[str]
    """Its groups are sizes: `tokens`, `chars`, `lines`, `size` of the original, `left_...` of what was left out."""
    shown_by: str
    """The evidence: a real run, a real file, or only the agent's source."""
    state: Literal["truncated", "masked"] = "truncated"
    tools: tuple[str, ...] = ()
    """The only tools whose results have them; empty: any."""
    unless: tuple[str, ...] = ()
    """Arguments with which the model itself asks for a part: then it is no cut."""
    before: re.Pattern[str] | None = None
    """What the agent puts before a text that is cut in the middle."""
    behind: re.Pattern[str] | None = None
    """What the agent puts after such a text."""
    slack: int = 8
    """How many bytes or characters the two halves may differ by: cuts fall on whole characters."""


def cut_words(sign: str, place: Place, pattern: str, shown_by: str, **more: Any) -> CutWords:
    """A kind of cut, with its pattern as text; a dot also matches a line's end."""
    return CutWords(sign, place, re.compile(pattern, re.DOTALL), shown_by, **more)


def cleared_result(shown_by: str) -> CutWords:
    """A result that several agents replace by the same words."""
    return cut_words(OLD_RESULT, "whole", re.escape(OLD_RESULT), shown_by, state="masked")


def by_run(version: str) -> str:
    """Evidence from running the agent."""
    return f"a real run ({version})"


def by_source(version: str) -> str:
    """Evidence from the agent's source."""
    return f"its source only ({version})"
