"""Answers a call of a tool: checks its arguments, reads the session, and makes the text."""

from __future__ import annotations

import json

from workbench.agent.tools.base import ToolFailure
from workbench.agent.tools.schema import read_arguments
from workbench.config.errors import WrongCall
from workbench.mcp_server.answers import context_now, find_text, largest_items, recall_text
from workbench.mcp_server.asked_context import ContextReader
from workbench.mcp_server.protocol import ToolCallRequest
from workbench.mcp_server.removals import what_was_removed
from workbench.mcp_server.tools import SCHEMAS
from workbench.sources.services import Services

MOST_CHARACTERS = 50_000
"""The longest answer: agents cut, or refuse, what is much longer."""
_LISTED = 10


def answer_call(services: Services, reader: ContextReader, name: str, request: ToolCallRequest) -> str:
    """The answer of a tool. Raises WorkbenchError if the call is wrong, or the session cannot be read."""
    try:
        arguments = read_arguments(json.dumps(dict(request.arguments)), SCHEMAS[name][1])
    except ToolFailure as failure:
        raise WrongCall(str(failure)) from None
    asked, limit = reader.read_context(request.meta), int(arguments.get("limit", _LISTED))
    match name:
        case "context_now":
            lines = context_now(asked)
        case "largest_items":
            lines = largest_items(asked, limit)
        case "what_was_removed":
            lines = what_was_removed(services, asked, limit)
        case "find":
            lines = find_text(asked, arguments["text"], limit)
        case _:
            lines = recall_text(asked, arguments["id"], int(arguments.get("offset", 0)))
    text = "\n".join(lines)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}\n[cut here: the answer is longer]"
