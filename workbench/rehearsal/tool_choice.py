"""From a plain request to a call: which of the tools on offer does it, and what its parameters are called."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from workbench.rehearsal.answers import RehearsedCall
from workbench.rehearsal.plain_requests import Kind, PlainRequest
from workbench.rehearsal.request import Json, function_of

TOOLS: dict[Kind, tuple[str, ...]] = {
    "read": ("read_file", "view_file", "open_file", "read_text_file", "read", "view", "cat"),
    "list": ("list_files", "list_directory", "list_dir", "list_folder", "ls", "list", "glob"),
    "search": ("search_text", "search_files", "grep", "search", "ripgrep", "find_text"),
    "run": ("run_command", "execute_command", "run_shell", "bash", "shell", "run", "exec"),
    "write": ("write_file", "create_file", "save_file", "write"),
    "edit": ("edit_file", "replace_in_file", "str_replace", "edit", "replace"),
}
"""What the tools of the world are called, the likeliest first."""

PARAMETERS = {
    "path": ("path", "file_path", "filepath", "file", "filename", "target_file", "folder", "directory", "dir", "root"),
    "pattern": ("pattern", "query", "regex", "text", "term", "search"),
    "command": ("command", "cmd", "script", "commandline"),
    "content": ("content", "contents", "text", "file_text", "data"),
    "old": ("old", "old_text", "old_string", "old_str", "find", "search", "before"),
    "new": ("new", "new_text", "new_string", "new_str", "replace", "replacement", "after"),
}


def call_for(wish: PlainRequest, tools: tuple[Json, ...]) -> RehearsedCall | None:
    """The call that does what was asked for; None where no tool on offer does."""
    functions = {str(function_of(tool).get("name", "")): function_of(tool) for tool in tools}
    if wish.kind == "call":
        return _named(wish, functions)
    for wanted in TOOLS[wish.kind]:
        for name, function in functions.items():
            # Tools of MCP servers carry their server's name in front.
            if name == wanted or name.endswith((f"__{wanted}", f".{wanted}")):
                return RehearsedCall(name, _arguments(wish, function))
    return None


def _named(wish: PlainRequest, functions: Mapping[str, Json]) -> RehearsedCall | None:
    """A tool called by its own name, with arguments in JSON."""
    try:
        arguments = json.loads(wish.values["arguments"])
    except ValueError:
        return None
    if wish.values["tool"] not in functions:
        return None
    return RehearsedCall(wish.values["tool"], json.dumps(arguments, ensure_ascii=False))


def _arguments(wish: PlainRequest, function: Json) -> str:
    schema = function.get("parameters")
    schema = schema if isinstance(schema, Mapping) else {}
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    required = [str(name) for name in schema.get("required") or ()]
    found: dict[str, Any] = {}
    for role, value in wish.values.items():
        name = _parameter(role, properties, required, found)
        # A folder that is the default anyway is said only where the tool insists on it.
        if name is None or (role == "path" and value == "." and name not in required and properties):
            continue
        found[name] = _fitting(value, properties.get(name))
    return json.dumps(found, ensure_ascii=False)


def _parameter(role: str, properties: Mapping[str, Any], required: list[str], taken: Mapping[str, Any]) -> str | None:
    """What the tool calls this role."""
    if not properties:
        return role
    for name in PARAMETERS[role]:
        if name in properties and name not in taken:
            return name
    return next((name for name in required if name not in taken), None)


def _fitting(value: str, schema: object) -> Any:
    """The value in the type the tool wants: some take a command as a list of words."""
    if not isinstance(schema, Mapping) or schema.get("type") != "array":
        return value
    try:
        return shlex.split(value)
    except ValueError:
        return [value]
