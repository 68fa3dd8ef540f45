"""The tools of one session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from workbench.agent.tools.base import (
    Arguments,
    Kind,
    ProposedCall,
    Tool,
    ToolContext,
    ToolFailure,
    ToolLimits,
    ToolOutcome,
)
from workbench.agent.tools.command import command_tool
from workbench.agent.tools.edit import edit_tool
from workbench.agent.tools.listing import list_tool
from workbench.agent.tools.places import AllowedFolders
from workbench.agent.tools.read import read_tool
from workbench.agent.tools.schema import read_arguments
from workbench.agent.tools.search import search_tool
from workbench.agent.tools.write import write_tool


class Toolbox:
    """The tools a model may call, by name."""

    def __init__(
        self,
        root: Path,
        extra_roots: Iterable[Path] = (),
        switched_off: Iterable[str] = (),
        *,
        limits: ToolLimits | None = None,
        more: Sequence[Tool] = (),
        pass_env: Sequence[str] = (),
    ) -> None:
        """`switched_off`: names, or patterns of names, of tools that are not offered and do not run.

        `more`: additional tools, of MCP servers and plug-ins, or to read the log. Raises ValueError if two tools have
        the same name. `pass_env`: environment variables that commands may see although their names look like keys.
        """
        self.places = AllowedFolders(root, extra_roots)
        limits = limits or ToolLimits()
        self._tools: dict[str, Tool] = {}
        for tool in (
            read_tool(self.places, limits),
            list_tool(self.places, limits),
            search_tool(self.places, limits),
            command_tool(self.places, limits, pass_env),
            write_tool(self.places),
            edit_tool(self.places),
            *more,
        ):
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool
        patterns = tuple(switched_off)
        self._switched_off = {name for name in self._tools if any(fnmatchcase(name, each) for each in patterns)}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools that can be called."""
        return tuple(name for name in self._tools if name not in self._switched_off)

    def definitions(self) -> list[dict[str, Any]]:
        """The definitions in OpenAI's format, as they are sent."""
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": self._tools[name].description,
                    "parameters": dict(self._tools[name].parameters),
                },
            }
            for name in self.names
        ]

    def kind(self, name: str) -> Kind:
        """The kind of a tool. An unknown name is "read", because it has no effect: `run_tool` reports the error."""
        return self._tools[name].kind if name in self._tools else "read"

    def call(self, name: str, arguments: str) -> ProposedCall:
        """Describe a call for its approval, without running it. If it cannot run, its `problem` says why."""
        try:
            tool, values = self._checked(name, arguments)
            return ProposedCall(name, tool.kind, tool.subject(values))
        except ToolFailure as failure:
            return ProposedCall(name, self.kind(name), "", str(failure))
        except Exception as error:
            return ProposedCall(name, self.kind(name), "", _last_resort(name, error))

    async def run_tool(self, name: str, arguments: str, context: ToolContext | None = None) -> ToolOutcome:
        """Run a tool. Every error becomes an outcome for the model; only cancellation is raised."""
        try:
            tool, values = self._checked(name, arguments)
            outcome = await tool.run(values, context or ToolContext())
        except ToolFailure as failure:
            outcome = ToolOutcome(str(failure), is_error=True)
        except OSError as error:
            outcome = ToolOutcome(f"{name}: {error.strerror or error}", is_error=True)
        except Exception as error:
            outcome = ToolOutcome(_last_resort(name, error), is_error=True)
        # File names need not be valid text, but the log needs valid text.
        return outcome._replace(text=outcome.text.encode(errors="replace").decode())

    def _checked(self, name: str, arguments: str) -> tuple[Tool, Arguments]:
        """The tool and its checked arguments. Raises ToolFailure if the call cannot run."""
        if name not in self._tools:
            raise ToolFailure(f"{name[:80]}: no such tool; there are {', '.join(self.names) or 'none'}")
        if name in self._switched_off:
            raise ToolFailure(f"{name}: the user has switched this tool off")
        tool = self._tools[name]
        return tool, read_arguments(arguments, tool.parameters)


def _last_resort(name: str, error: Exception) -> str:
    return f"{name} failed: {type(error).__name__}: {error}"
