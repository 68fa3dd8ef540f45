"""Calls and results of a session in which something may be wasted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from support.logs import number
from workbench.lab.waste.rules import WastedItem, find_waste
from workbench.log.events import (
    Body,
    SlotContent,
    ToolCall,
    ToolResult,
    UserMessage,
)

IDS = count(1)
FILE = "\n".join(f"line {at} of the file" for at in range(40))
EDITED = FILE.replace("line 7 ", "line seven ")


def call(tool: str, result: str | None, is_error: bool = False, **arguments: Any) -> list[Body]:
    """A call and its result; None: it has none yet."""
    name = f"c{next(IDS)}"
    made: list[Body] = [ToolCall(name, tool, json.dumps(arguments), name)]
    return made if result is None else [*made, ToolResult(name, result, tool, is_error)]


def read(text: str, path: str = "/src/app.py", **more: Any) -> list[Body]:
    return call("Read", text, file_path=path, **more)


def run(command: str, result: str, is_error: bool = False) -> list[Body]:
    return call("Bash", result, is_error, command=command)


def found(*parts: Sequence[Body]) -> list[WastedItem]:
    return find_waste(number([UserMessage("go"), *(body for part in parts for body in part)]))


def told(items: Sequence[WastedItem]) -> list[tuple[str, int, int]]:
    """Kind, event, and what took its place."""
    return [(item.kind, item.event, item.by) for item in items]


def definition(name: str, about: str = "Search the web.") -> SlotContent:
    return SlotContent("tools", name, json.dumps({"name": name, "description": about, "parameters": {}}))
