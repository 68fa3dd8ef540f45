"""The words that show an agent's cut, and where they are in a text. `agent_cuts` has those of each agent."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

OLD_RESULT: Final = "[Old tool result content cleared]"
"""What Claude Code, opencode, Qwen Code and Kimi Code send in place of cleared results."""
Place = Literal["start", "end", "whole", "middle"]


class CutWords(NamedTuple):
    """How to recognise one kind of cut."""

    sign: str
    """The words as a person sees them, for the documentation."""
    place: Place
    pattern: str
    """A dot also matches a line's end. Its groups are sizes: `tokens`, `chars`, `lines`, `size` of the original,
    `left_...` of what was left out."""
    shown_by: str
    """The evidence: a real run, a real file, or only the agent's source."""
    state: Literal["truncated", "masked"] = "truncated"
    tools: tuple[str, ...] = ()
    """The only tools whose results have them; empty: any."""
    unless: tuple[str, ...] = ()
    """Arguments with which the model itself asks for a part: then it is no cut."""
    inside: str = ""
    """Of words in the middle of a text: a part that is always the same. It is looked for first, which is fast."""
    before: str = ""
    """A pattern of what the agent puts before a text that is cut in the middle."""
    behind: str = ""
    """A pattern of what the agent puts after such a text."""
    slack: int = 8
    """How many bytes or characters the two halves may differ by: cuts fall on whole characters."""


def cleared_result(shown_by: str) -> CutWords:
    """A result that several agents replace by the same words."""
    return CutWords(OLD_RESULT, "whole", re.escape(OLD_RESULT), shown_by, state="masked")


def by_run(version: str) -> str:
    """Evidence from running the agent."""
    return f"a real run ({version})"


def by_source(version: str) -> str:
    """Evidence from the agent's source."""
    return f"its source only ({version})"
