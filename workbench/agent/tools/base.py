"""What a tool is: a name, a schema, and something to run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Kind = Literal["read", "write", "run"]
"""What a tool does to the world: looks, changes files, or starts programs."""

Arguments = Mapping[str, Any]


class ToolOutcome(NamedTuple):
    """What a tool gives back to the model."""

    text: str
    is_error: bool = False


class ToolFailure(Exception):
    """A tool could not do what was asked; the text is written for the model."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call is given beside its arguments."""

    call_id: str = ""
    report: Callable[[str], None] | None = None
    """Told of a command's output as it comes, for the screen; the outcome repeats it."""
    shell: bool = True
    """False for a command that was allowed by its beginning: it is a program with its words, and started as such."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool."""

    name: str
    kind: Kind
    description: str
    """Sent with every request, so it is short."""
    parameters: Mapping[str, Any]
    """JSON Schema, in the subset that `schema` knows."""
    run: Callable[[Arguments, ToolContext], Awaitable[ToolOutcome]]
    """Gets arguments that passed the schema; may raise ToolFailure or OSError."""
    subject: Callable[[Arguments], str]
    """What approvals look at: the command, or the real path. May raise ToolFailure where the call cannot work."""


class ProposedCall(NamedTuple):
    """A call as approvals see it."""

    tool: str
    kind: Kind
    subject: str
    """The command, or the path as seen from the project's root with links resolved."""
    problem: str = ""
    """Why the call cannot work; then nobody needs to be asked."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """How far the tools may go."""

    command_seconds: float = 120
    """For a command that asks for no time of its own."""
    max_command_seconds: int = 600
    search_seconds: float = 10
    """Also for listing and for finding a place in a huge file."""
    output_bytes: int = 128 * 1024
    """Kept of a command's output or a file: for a command, half from the beginning and half from the end."""
    max_matches: int = 100
    max_entries: int = 1000


def parameters(required: tuple[str, ...], **properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with just these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
