"""What was done in a conversation, from its calls and results: files, commands, errors."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.json import decode

from workbench.compaction.fact_phrases import one_short_line
from workbench.compaction.source import both_ends, item_text
from workbench.config.patterns import late_pattern
from workbench.context.items import Item

RESULT = 4_000
"""Characters of a result that are read: its two ends, which have the exit status and the error."""
COMMAND = 160
"""Characters shown of a command or an error."""

_COMMAND_KEYS = ("command", "cmd", "script")
_PATH_KEYS = ("path", "file_path", "filepath", "filename", "file", "target_file", "notebook_path", "absolute_path")
_WRITES = ("write", "edit", "create", "patch", "replace", "insert", "delete", "move", "save", "update")
_PATCHED = late_pattern(r"\*\*\* (?:Add|Update|Delete) File: ([^\\\n\"]{1,300})")
_STATUS = late_pattern(
    r"(?:exit(?:ed)?[ _](?:with )?(?:code|status)|return[ _]?code)(?:[ :=>\"]|is ){1,4}(-?\d{1,5})(?!\d)", re.IGNORECASE
)
_SIGNS = ("Error", "Exception", "error", "fatal", "panic", "FAILED", "command not found")
"""Signs of an error; tested one by one first, because that is much faster than a pattern."""
_ERROR = late_pattern(
    r"^(?:E +)?(?:[A-Za-z_]\w*\.)*_*[A-Z]\w*(?:Error|Exception)(?::|$)"
    r"|(?:^|[\s:\]])(?:error|fatal|panic)(?:\[\w+\])?: |\bFAILED\b|command not found"
)
_FENCE = late_pattern(r"```(?:bash|sh|shell|console|mswea_bash_command)\n([^`]{1,4000})")
_NONE = late_pattern(r"\b(?:0|no) (?:errors?|failures?)\b", re.IGNORECASE)


class CommandRun(NamedTuple):
    text: str
    status: str
    """Its exit status from the result; empty if it has none."""
    event: str


class FileTouched(NamedTuple):
    """A file that calls named."""

    path: str
    written: bool
    event: str
    """The last call that named it."""


class ErrorSeen(NamedTuple):
    text: str
    event: str


class SessionActions(NamedTuple):
    """All of them, in order."""

    commands: tuple[CommandRun, ...]
    files: tuple[FileTouched, ...]
    errors: tuple[ErrorSeen, ...]


def actions_in(items: Sequence[Item], staying: Sequence[Item] = ()) -> SessionActions:
    """What was done in `items`. The items that stay may have the answer to a command."""
    results = {item.call_id: item_text(item) for item in items if item.kind == "tool_result" and item.call_id}
    commands = _fenced_commands(items, staying)
    files: dict[str, FileTouched] = {}
    errors: dict[str, ErrorSeen] = {}
    for item in items:
        if item.kind == "tool_call":
            arguments = call_arguments(item_text(item))
            command = command_in(arguments)
            if command:
                commands.append(CommandRun(command, exit_status(results.get(item.call_id, "")), item.id))
            for path in paths_in(arguments):
                earlier = files.pop(path, None)
                files[path] = FileTouched(
                    path, writes_files(item.tool or "") or (earlier is not None and earlier.written), item.id
                )
        elif item.kind == "tool_result":
            trouble = error_line(item_text(item))
            if trouble:
                errors.pop(trouble, None)
                errors[trouble] = ErrorSeen(trouble, item.id)
    return SessionActions(tuple(commands), tuple(files.values()), tuple(errors.values()))


@lru_cache(maxsize=1_000)
def writes_files(tool: str) -> bool:
    """Whether a tool changes files, by its name."""
    return any(word in tool.lower() for word in _WRITES)


def _fenced_commands(items: Sequence[Item], staying: Sequence[Item]) -> list[CommandRun]:
    """Commands of agents without tools: a fenced block in a reply, answered by a message with its exit status."""
    own = {item.id for item in items}
    found: list[CommandRun] = []
    asked: tuple[str, str] | None = None
    for item in sorted((*items, *staying), key=attrgetter("unit")):
        if item.kind != "message":
            asked = None
        elif item.role == "assistant":
            block = _FENCE.search(item_text(item))
            asked = (one_short_line(block[1], COMMAND), item.id) if block else None
        elif asked is not None:
            status = exit_status(item_text(item))
            if status and asked[1] in own:
                found.append(CommandRun(asked[0], status, asked[1]))
            asked = None
    return found


def call_arguments(text: str) -> dict[str, Any]:
    """A call's arguments; empty if they are no object."""
    try:
        value = decode(text)  # in a fifth of the time, and stricter about numbers and halves of characters
    except (ValueError, RecursionError):
        value = _loosely(text)
    return value if isinstance(value, dict) else {}


def _loosely(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def command_in(arguments: dict[str, Any]) -> str:
    """The command that a call runs, in one line; empty if it runs none."""
    for key in _COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            value = " ".join(value)
        if isinstance(value, str) and value.strip():
            return one_short_line(value, COMMAND)
    return ""


def paths_in(arguments: dict[str, Any]) -> list[str]:
    """The files that a call names, or that its patch changes."""
    named = [arguments[key] for key in _PATH_KEYS if isinstance(arguments.get(key), str)]
    patched = [
        path
        for value in arguments.values()
        if isinstance(value, str) and "*** " in value
        for path in _PATCHED.findall(value)
    ]
    return [one_short_line(path, COMMAND) for path in (*named, *patched) if path.strip()]


def exit_status(result: str) -> str:
    """The exit status in a command's result; the last one, if several are reported."""
    found = _STATUS.findall(both_ends(result, RESULT))
    return found[-1] if found else ""


def error_line(result: str) -> str:
    """The last line of a result that mentions an error: in a traceback, the one that names it."""
    return _error_in(both_ends(result, RESULT))


@lru_cache(maxsize=2_000)  # compacting one session in several ways reads the same results again
def _error_in(text: str) -> str:
    signs = [sign for sign in _SIGNS if sign in text]
    for line in reversed(text.split("\n")) if signs else ():
        if not any(sign in line for sign in signs) or not _ERROR.search(found := line.strip()):
            continue
        # A line with this end is code: `error: Schema,`, `readonly ValueError: string;`.
        if not found.endswith((",", ";", "{")) and not _NONE.search(found):
            return one_short_line(found, COMMAND)
    return ""
