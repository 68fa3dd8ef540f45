"""From a plain request to a call: which of the offered tools to use, and the names of its parameters."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Mapping
from typing import Any

from workbench.config.patterns import late_pattern
from workbench.rehearsal.plain_requests import Kind, PlainRequest
from workbench.rehearsal.side_requests import schema_instance
from workbench.wire.answers import WrittenCall
from workbench.wire.checked_requests import CheckedRequest, Json, function_of, tool_name_of
from workbench.wire.values import dict_in, list_in

TOOLS: dict[Kind, tuple[str, ...]] = {
    "read": ("read_file", "view_file", "open_file", "read_text_file", "read", "view", "cat", "read_many_files"),
    "list": ("list_files", "list_directory", "list_dir", "list_folder", "ls", "list", "glob"),
    "search": (
        *("search_text", "search_files", "search_file_content", "grep_search", "grep", "search", "ripgrep"),
        *("find_text", "rg"),
    ),
    "run": (
        *("run_command", "execute_command", "run_shell_command", "run_shell", "exec_command", "shell_command"),
        *("execute_bash", "run_terminal_cmd", "run_in_terminal", "bash", "shell", "terminal", "run", "exec"),
    ),
    "write": ("write_file", "create_file", "save_file", "write", "create"),
    "edit": ("edit_file", "replace_in_file", "str_replace", "edit", "replace", "search_replace"),
}
"""Common names of tools, the likeliest first; case, underscores and dashes do not matter."""

EDITORS = ("str_replace_editor", "str_replace_based_edit_tool", "text_editor")
"""Tools with several functions, chosen by an argument."""
_ORDERS = {"read": "view", "list": "view", "write": "create", "edit": "str_replace"}
_EDITOR_S = {"path": "path", "content": "file_text", "old": "old_str", "new": "new_str"}

PARAMETERS = {
    "path": (
        *("path", "file_path", "filepath", "absolute_path", "file", "filename", "target_file", "folder", "directory"),
        *("dir_path", "dir", "root", "paths", "include"),
    ),
    "pattern": ("pattern", "query", "regex", "text", "term", "search"),
    "command": ("command", "cmd", "script", "commandline"),
    "content": ("content", "contents", "text", "file_text", "data"),
    "old": ("old", "old_text", "old_string", "old_str", "find", "search", "before"),
    "new": ("new", "new_text", "new_string", "new_str", "replace", "replacement", "after"),
    "patch": ("input", "patch", "patch_text", "diff"),
}
_KNOWN = {name.replace("_", "") for names in PARAMETERS.values() for name in names}
_TELLING = ("bash", "shell", "grep", "ripgrep")
_SHELL = late_pattern(r"[|&;<>$*?~`\n]")
"""Characters that only a shell understands."""
_FOLDER = late_pattern(
    r"<cwd>(?P<cwd>[^<\n]+)</cwd>|working directory(?: is)?:?\s+[`\"]?(?P<said>/[^\n`\"<,]+)"
    r"|working in the directory:?\s+[`\"]?(?P<theirs>/[^\n`\"<,]+)",
    re.IGNORECASE,
)


def call_for(wish: PlainRequest, request: CheckedRequest) -> WrittenCall | None:
    """The call that does what was asked for; None if no offered tool can."""
    if wish.kind == "call":
        return _named(wish, request)
    tool = _offered(request, *TOOLS[wish.kind])
    if tool is not None and not request.is_freeform(tool_name_of(tool)):
        return WrittenCall(tool_name_of(tool), _arguments(wish, tool, request))
    editor = _offered(request, *EDITORS)
    if editor is not None and wish.kind in _ORDERS:
        path = _placed(wish.values["path"], "absolute", request)
        given = {_EDITOR_S[role]: value for role, value in {**wish.values, "path": path}.items()}
        return _call(editor, {"command": _ORDERS[wish.kind], **given})
    patching = _offered(request, "apply_patch")
    if patching is not None and wish.kind in ("write", "edit"):
        patch = {"patch": _patch(wish)}
        if request.is_freeform(tool_name_of(patching)):
            return _call(patching, {"input": patch["patch"]})
        return WrittenCall(tool_name_of(patching), _arguments(wish._replace(values=patch), patching, request))
    return _by_shell(wish, request)


def _offered(request: CheckedRequest, *names: str) -> Json | None:
    """The first offered tool with one of these names; tools of servers have their server's name as a prefix."""
    offered = {_plain(tool_name_of(tool)): tool for tool in reversed(request.tools)}
    found = next((offered[_plain(name)] for name in names if _plain(name) in offered), None)
    return _behind_prefix(request, names) if found is None else found


def _behind_prefix(request: CheckedRequest, names: tuple[str, ...]) -> Json | None:
    """The first offered tool whose name ends like this, as `P-read_file` does; single words end too many names."""
    telling = [name for name in names if "_" in name or name in _TELLING]
    for name in telling:
        for tool in request.tools:
            if tool_name_of(tool).lower().replace("-", "_").endswith(f"_{name}"):
                return tool
    return None


def _plain(name: str) -> str:
    return re.split(r"__|[.:/]", name)[-1].lower().replace("_", "").replace("-", "")


def _named(wish: PlainRequest, request: CheckedRequest) -> WrittenCall | None:
    """A call of a tool by its own name, with arguments in JSON."""
    try:
        arguments = json.loads(wish.values["arguments"])
    except ValueError:
        return None
    if wish.values["tool"] not in request.tool_names():
        return None
    return WrittenCall(wish.values["tool"], json.dumps(arguments, ensure_ascii=False))


def _call(tool: Json, arguments: Mapping[str, Any]) -> WrittenCall:
    return WrittenCall(tool_name_of(tool), json.dumps(arguments, ensure_ascii=False))


def _by_shell(wish: PlainRequest, request: CheckedRequest) -> WrittenCall | None:
    """The call of a tool for commands, if there is no other tool."""
    tool = _offered(request, *TOOLS["run"])
    if tool is None or wish.kind == "edit":
        return None
    command = _command(wish)
    if request.is_freeform(tool_name_of(tool)):  # a tool that takes a program, in which tools are functions
        return _call(
            tool, {"input": f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}}); text(r.output)"}
        )
    return WrittenCall(tool_name_of(tool), _arguments(PlainRequest("run", {"command": command}), tool, request))


def _command(wish: PlainRequest) -> str:
    path = shlex.quote(wish.values.get("path", "."))
    match wish.kind:
        case "read":
            return f"cat {path}"
        case "list":
            return "ls" if path == "." else f"ls {path}"
        case "search":
            return f"grep -rn -e {shlex.quote(wish.values['pattern'])} {path}"
        case "write":
            return f"printf %s {shlex.quote(wish.values['content'])} > {path}"
    return wish.values["command"]


def _patch(wish: PlainRequest) -> str:
    """A change in the format of `apply_patch`; there, the old text must be whole lines."""
    path = wish.values["path"]
    if wish.kind == "write":
        lines = [f"*** Add File: {path}", *(f"+{line}" for line in wish.values["content"].rstrip("\n").split("\n"))]
    else:
        old = [f"-{line}" for line in wish.values["old"].split("\n")]
        lines = [f"*** Update File: {path}", "@@", *old, *(f"+{line}" for line in wish.values["new"].split("\n"))]
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def _arguments(wish: PlainRequest, tool: Json, request: CheckedRequest) -> str:
    function = function_of(tool)
    schema = dict_in(function, "parameters")
    properties = dict_in(schema, "properties")
    required = [str(name) for name in list_in(schema, "required")]
    found: dict[str, Any] = {}
    for role, value in wish.values.items():
        name = _parameter(role, properties, required, found)
        # The default folder is passed only if the tool requires it.
        if name is None or (role == "path" and value == "." and name not in required and properties):
            continue
        if role == "path":
            value = _placed(value, f"{name} {properties.get(name)} {function.get('description')}", request)
        found[name] = _fitting(value, properties.get(name), role)
    for name in required:
        if name not in found and name in properties:
            text = "*" if name == "pattern" else " ".join([wish.kind, *wish.values.values()])[:80]
            found[name] = schema_instance(properties[name], text, schema)
    return json.dumps(found, ensure_ascii=False)


def _parameter(role: str, properties: Mapping[str, Any], required: list[str], taken: Mapping[str, Any]) -> str | None:
    """The tool's name for this role."""
    if not properties:
        return role
    free = {_plain(name): name for name in properties if name not in taken}
    known = next((free[_plain(name)] for name in PARAMETERS[role] if _plain(name) in free), None)
    return known or next((name for name in required if name not in taken and _plain(name) not in _KNOWN), None)


def _placed(path: str, described: str, request: CheckedRequest) -> str:
    """An absolute path, if the tool requires one and the request says where the client works."""
    if "absolute" not in described.lower() or path.startswith(("/", "~")):
        return path
    for message in request.messages:
        found = _FOLDER.search(message.text) if message.role in ("system", "developer", "user") else None
        if found:
            return posixpath.normpath(posixpath.join(found[found.lastgroup or 0].strip().rstrip("."), path))
    return path


def _fitting(value: str, schema: object, role: str) -> Any:
    """The value in the type that the tool expects: some take a command as a list of words."""
    if not isinstance(schema, Mapping) or str(schema.get("type")).lower() != "array":
        return value
    if role != "command":
        return [value]
    if _SHELL.search(value):
        return ["bash", "-lc", value]
    try:
        return shlex.split(value)
    except ValueError:
        return [value]
