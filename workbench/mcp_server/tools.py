"""The tools that agents call: their names, what a model reads about them, and their arguments.

This module is imported when the server starts. What answers the calls is imported with the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from workbench.mcp_server.protocol import ServedTool, ToolCallRequest

INSTRUCTIONS: Final = (
    "Facts about your own context, read from the log of this session: how full it is, what fills it, and what was "
    "removed from it by compaction, clearing or cutting. Texts that are gone can be found and read again. Read-only."
)
MOST_LISTED: Final = 50
_LIMIT: Final = {"type": "integer", "minimum": 1, "maximum": MOST_LISTED, "description": "how many to list, default 10"}


def _object(required: tuple[str, ...] = (), **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


SCHEMAS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = MappingProxyType(
    {
        "context_now": (
            "How full your context window is now: tokens, share of the window, tokens by kind, how much was removed.",
            _object(),
        ),
        "largest_items": ("The largest items of your context, with their share.", _object(limit=_LIMIT)),
        "what_was_removed": (
            "What is no longer in your context: compactions and what their summaries lost, cleared and cut results.",
            _object(limit=_LIMIT),
        ),
        "find": (
            "Find a text in the whole session, also in what is no longer in your context.",
            _object(
                ("text",),
                text={"type": "string", "minLength": 1, "description": "plain text, in any case"},
                limit=_LIMIT,
            ),
        ),
        "recall": (
            "Read the whole text of an item again that was removed from your context or cut.",
            _object(
                ("id",),
                id={"type": "string", "minLength": 1, "description": "the number of an event, or several as in 3-41"},
                offset={"type": "integer", "minimum": 0, "description": "the character to begin with, default 0"},
            ),
        ),
    }
)
"""By the name of the tool: its description, and the schema of its arguments."""


def served_tools(answer: Callable[[str, ToolCallRequest], str]) -> list[ServedTool]:
    """The tools. `answer`: answers a call of the tool with this name."""

    def answers(name: str) -> Callable[[ToolCallRequest], str]:
        return lambda request: answer(name, request)

    return [ServedTool(name, text, schema, answers(name)) for name, (text, schema) in SCHEMAS.items()]
