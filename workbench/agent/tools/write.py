"""`write_file`: writes a whole file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from workbench.agent.tools.base import Arguments, Tool, ToolContext, ToolFailure, ToolOutcome, object_schema
from workbench.agent.tools.places import AllowedFolders
from workbench.config.background import in_background
from workbench.config.text import counted
from workbench.config.writing import replace_file


def write_tool(places: AllowedFolders) -> Tool:

    async def run(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        path = places.find_writable(arguments["path"])
        return ToolOutcome(await in_background(lambda: _write(path, places.name(path), arguments["content"])))

    return Tool(
        "write_file",
        "write",
        "Write a whole file; folders are made as needed. To change a part, use edit_file.",
        object_schema(("path", "content"), path={"type": "string", "minLength": 1}, content={"type": "string"}),
        run,
        lambda arguments: places.name(places.find_writable(arguments["path"])),
    )


def encoded_text(text: str, argument: str) -> bytes:
    """The bytes of a text for the disk. Bytes that were read from disk and are not UTF-8 stay unchanged."""
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise ToolFailure(f"{argument}: expected text, got half of a surrogate pair") from None


def check_writable(path: Path, name: str) -> bool:
    """Whether a file exists already. Raises ToolFailure if it must not be replaced."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        raise ToolFailure(f"{name}: is {'a folder' if stat.S_ISDIR(mode) else 'a device or a pipe'}, not a file")
    if not os.access(path, os.W_OK):
        raise ToolFailure(f"{name}: is write-protected")
    return True


def _write(path: Path, name: str, content: str) -> str:
    data = encoded_text(content, "content")
    existed = check_writable(path, name)
    replace_file(path, data, private=False)
    lines = len(content.splitlines())
    return f"[{'replaced' if existed else 'created'} {name}: {counted(lines, 'line')}, {len(data)} bytes]"
