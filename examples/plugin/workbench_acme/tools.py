"""A tool. Its kind is "write", so the user is asked before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.plugins import Tool, ToolContext, ToolFailure, ToolOutcome

_FILE = "notes.txt"


async def _run(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    text = str(arguments["text"]).strip()
    if not text:
        raise ToolFailure("save_note: expected a text")  # the model reads this and can do better
    with Path(_FILE).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")
    return ToolOutcome(f"saved in {_FILE}")


SAVE_NOTE = Tool(
    name="save_note",
    kind="write",
    description="Append a line to the user's notes.",
    parameters={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
    run=_run,
    subject=lambda arguments: _FILE,
)
