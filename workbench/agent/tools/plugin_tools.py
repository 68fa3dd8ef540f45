"""The tools of plug-ins. They run under the same approvals as ours: reading is free, writing and running are asked."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from typing import Any, get_args

from workbench.agent.tools.base import Arguments, Kind, Tool, ToolContext, ToolFailure, ToolOutcome
from workbench.compaction.prompts import RECALL_TOOLS
from workbench.config.plugins import FAULTS, PROBLEMS, PluginRegistry, fault_words
from workbench.config.tables import shown_value
from workbench.config.values import replace

OWN_TOOLS = (*("read_file", "list_files", "search_text", "run_command", "write_file", "edit_file"), *RECALL_TOOLS)
"""The names of our own tools, which are made for each session."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _checked_tool(name: str, value: Any) -> Tool:
    if not isinstance(value, Tool):
        raise TypeError(f"expected a Tool, got {shown_value(value)}")
    if not isinstance(value.name, str) or not _NAME.fullmatch(value.name):
        raise ValueError(f"expected a name of letters, digits, - and _, got {shown_value(value.name)}")
    if value.name in OWN_TOOLS:
        raise ValueError(f"{value.name}: one of Workbench's own tools has this name; expected another one")
    if value.kind not in get_args(Kind):
        raise ValueError(f"kind: expected one of {', '.join(get_args(Kind))}, got {shown_value(value.kind)}")
    if not isinstance(value.description, str) or not isinstance(value.parameters, Mapping):
        raise TypeError("expected a description, and a JSON Schema of the parameters")
    if not callable(value.run) or not callable(value.subject):
        raise TypeError("run, subject: expected functions")
    json.dumps(dict(value.parameters))  # it is sent with every request
    return _guarded_tool(value)


PLUGIN_TOOLS: PluginRegistry[Tool] = PluginRegistry("tools", _checked_tool)


def plugin_tools(taken: Container[str] = ()) -> list[Tool]:
    """The tools of plug-ins, without those whose names are `taken` by a server."""
    return [tool for name, tool in PLUGIN_TOOLS.plugins().items() if name not in taken]


def _guarded_tool(tool: Tool) -> Tool:
    """The tool with a `run` that raises nothing but what is meant for the model."""

    async def run(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        try:
            outcome = await tool.run(arguments, context)
            if not isinstance(outcome, ToolOutcome) or not isinstance(outcome.text, str):
                raise TypeError(f"expected a ToolOutcome with a text, got {shown_value(outcome)}")
        except (ToolFailure, OSError):
            raise
        except FAULTS as error:
            entry = PLUGIN_TOOLS.entries().get(tool.name)
            if entry is not None:
                PROBLEMS.note_problem(entry, f"raised {fault_words(error)}")
            raise ToolFailure(f"{tool.name} failed: {fault_words(error)}") from None
        return outcome

    return replace(tool, run=run)
