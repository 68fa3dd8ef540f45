"""`list_files`: lists the content of a folder."""

from __future__ import annotations

import time
from pathlib import Path

from workbench.agent.tools.base import Arguments, Tool, ToolContext, ToolFailure, ToolLimits, ToolOutcome, object_schema
from workbench.agent.tools.globs import Glob
from workbench.agent.tools.places import AllowedFolders
from workbench.agent.tools.walk import OutOfTime, walk_folder
from workbench.config.background import in_background

_DEPTH = 3
_DEEPEST = 64


def list_tool(places: AllowedFolders, limits: ToolLimits) -> Tool:

    async def run(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        folder = places.resolve_path(arguments.get("path", "."))
        glob = arguments.get("glob", "")
        depth = arguments.get("depth", _DEEPEST if glob else _DEPTH)
        return ToolOutcome(await in_background(_list, folder, places, glob, depth, limits))

    return Tool(
        "list_files",
        "read",
        "List files and folders; ignored ones are left out.",
        object_schema(
            (),
            path={"type": "string"},
            glob={"type": "string", "description": "*.py, src/**/*.{c,h}"},
            depth={
                "type": "integer",
                "minimum": 1,
                "maximum": _DEEPEST,
                "description": f"default {_DEPTH}; with glob: all",
            },
        ),
        run,
        lambda arguments: places.name(places.resolve_path(arguments.get("path", "."))),
    )


def _list(folder: Path, places: AllowedFolders, glob: str, depth: int, limits: ToolLimits) -> str:
    name = places.name(folder)
    if not folder.is_dir():
        raise ToolFailure(f"{name}: {'is a file; use read_file' if folder.exists() else 'no such folder'}")
    wanted = Glob(glob) if glob else None
    prefix = "" if name == "." else name.rstrip("/") + "/"
    lines: list[str] = []
    note = ""
    try:
        for entry in walk_folder(str(folder), str(places.root), depth, time.monotonic() + limits.search_seconds):
            if wanted is not None and (entry.is_folder or not (wanted(entry.path) or wanted(prefix + entry.path))):
                continue
            if len(lines) == limits.max_entries:
                note = f"[the first {limits.max_entries} entries; narrow it with path, glob or depth]"
                break
            lines.append(prefix + entry.path + "/" * entry.is_folder)
    except OutOfTime:
        note = f"[stopped after {limits.search_seconds:g} s; narrow it with path or depth]"
    if not lines and not note:
        note = f"[nothing in {name} matches {glob}]" if glob else f"[{name} is empty]"
    return "\n".join([*lines, note] if note else lines)
