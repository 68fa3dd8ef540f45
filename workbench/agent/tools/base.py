"""The definition of a tool: a name, a schema, and a function to run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Kind = Literal["read", "write", "run"]
"""The effect of a tool: it reads, changes files, or starts programs."""

Arguments = Mapping[str, Any]


class ToolOutcome(NamedTuple):
    """The result of a tool, for the model."""

    text: str
    is_error: bool = False


class ToolFailure(Exception):
    """A tool could not do what was asked; the text is written for the model."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call gets besides its arguments."""

    call_id: str = ""
    report: Callable[[str], None] | None = None
    """Called with a command's output as it arrives, for the screen; the outcome repeats it."""
    shell: bool = True
    """False for a command that a prefix pattern allowed: it is started as a program with arguments, without a shell."""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    kind: Kind
    description: str
    """Sent with every request, so it is short."""
    parameters: Mapping[str, Any]
    """JSON Schema, in the subset that `schema` supports."""
    run: Callable[[Arguments, ToolContext], Awaitable[ToolOutcome]]
    """Gets arguments that passed the schema; may raise ToolFailure or OSError."""
    subject: Callable[[Arguments], str]
    """The text that approvals check: the command, or the real path. May raise ToolFailure if the call cannot work."""


class ProposedCall(NamedTuple):
    """A call as approvals see it."""

    tool: str
    kind: Kind
    subject: str
    """The command, or the path relative to the project's root with links resolved."""
    problem: str = ""
    """Why the call cannot work; then the user need not be asked."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    command_seconds: float = 120
    """For a command whose call sets no timeout."""
    max_command_seconds: int = 600
    search_seconds: float = 10
    """Also for listing files and for finding a line in a huge file."""
    output_bytes: int = 128 * 1024
    """How much of a command's output or of a file is kept; for a command, half from each end."""
    max_matches: int = 100
    max_entries: int = 1000


def object_schema(required: tuple[str, ...], **properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with only these properties."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
