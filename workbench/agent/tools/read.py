"""`read_file`: reads lines of a text file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import BinaryIO, NamedTuple

from workbench.agent.tools.base import Arguments, Tool, ToolContext, ToolFailure, ToolLimits, ToolOutcome, object_schema
from workbench.agent.tools.files import SNIFF_BYTES, open_for_tool, refuse_binary
from workbench.agent.tools.output import whole_end
from workbench.agent.tools.places import AllowedFolders
from workbench.config.background import in_background
from workbench.config.foreign_files import size_of

_LINES = 2000
_BLOCK = 1 << 20
_LINE_ENDS = (b"\n", b"\r\n")
_CLOCK_LINES = 4096
"""How many lines are read between two checks of the time."""


class FileLines(NamedTuple):
    data: bytes
    first: int
    last: int
    """The number of the last line read, counted from 1; `first - 1` if there is none."""
    total: int | None
    """Lines of the whole file; None if counting them would take too long."""
    cut: int
    """Bytes missing at the end of the last line, if that line alone was too long for the limit; otherwise 0."""
    cut_counted: bool = True
    """Whether there was time to count all of them."""


def read_tool(places: AllowedFolders, limits: ToolLimits) -> Tool:

    async def run(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        path = places.resolve_path(arguments["path"])
        first, most = arguments.get("offset", 1), arguments.get("limit", _LINES)
        return ToolOutcome(await in_background(lambda: read_lines(path, places.name(path), limits, first, most)))

    return Tool(
        "read_file",
        "read",
        "Read a text file, or some lines of it.",
        object_schema(
            ("path",),
            path={"type": "string", "minLength": 1},
            offset={"type": "integer", "minimum": 1, "description": "first line, from 1"},
            limit={"type": "integer", "minimum": 1, "description": f"lines, default {_LINES}"},
        ),
        run,
        lambda arguments: places.name(places.resolve_path(arguments["path"])),
    )


def read_lines(path: Path, name: str, limits: ToolLimits, first: int = 1, most: int = _LINES) -> str:
    """Some lines of a text file, with a last line that says what is not shown. Raises ToolFailure."""
    with open_for_tool(path, name) as file:
        refuse_binary(file.read(SNIFF_BYTES), name, size_of(file))
        file.seek(0)
        piece = _piece(file, first, most, limits.output_bytes, time.monotonic() + limits.search_seconds)
    if piece.last < first:
        if piece.total == 0:
            return f"[{name} is empty]"
        has = f"has {piece.total} lines" if piece.total is not None else "is too long to find that line in time"
        raise ToolFailure(f"offset: {name} {has}")
    data = piece.data.removeprefix(b"\xef\xbb\xbf") if first == 1 else piece.data
    text = (whole_end(data) if piece.cut else data).decode(errors="replace")
    return text + _note(piece, text)


def _note(piece: FileLines, text: str) -> str:
    """A last line that says what is not shown; empty if the whole file is shown."""
    gap = "" if text.endswith("\n") else "\n"
    if piece.cut:
        missing = f"{piece.cut}" if piece.cut_counted else f"at least {piece.cut}"
        return f"{gap}[line {piece.last} is cut: {missing} bytes of it are missing; next: offset={piece.last + 1}]"
    if piece.total is None:
        return f"{gap}[lines {piece.first} to {piece.last}; more follow: offset={piece.last + 1}]"
    if piece.first > 1 or piece.last < piece.total:
        more = f"; more: offset={piece.last + 1}" if piece.last < piece.total else ""
        return f"{gap}[lines {piece.first} to {piece.last} of {piece.total}{more}]"
    return ""


def _piece(file: BinaryIO, first: int, most: int, room: int, deadline: float) -> FileLines:
    """Read from one line on, as many lines as asked for and as fit; then count the rest while there is time."""
    number, used = 0, 0
    kept: list[bytes] = []
    while number < first - 1:
        if number % _CLOCK_LINES == 0 and time.monotonic() > deadline:
            return FileLines(b"", first, first - 1, None, 0)
        skipped = _skip_line(file, deadline)
        if not skipped:
            return FileLines(b"", first, first - 1, None if skipped is None else number, 0)
        number += 1
    while number < first - 1 + most:
        line = file.readline(room - used + len(b"\r\n"))
        if not line:
            return FileLines(b"".join(kept), first, number, number, 0)
        if used + len(line) > room:
            if kept:
                file.seek(-len(line), 1)
                break
            if line[room:] in _LINE_ENDS:
                kept.append(line[:room])
                number += 1
                break
            rest, is_counted = (0, True) if line.endswith(b"\n") else _rest_of_line(file, deadline)
            return FileLines(line[:room], first, number + 1, None, len(line) - room + rest, is_counted)
        kept.append(line)
        used += len(line)
        number += 1
    more = _count(file, deadline)
    return FileLines(b"".join(kept), first, number, None if more is None else number + more, 0)


def _skip_line(file: BinaryIO, deadline: float) -> bool | None:
    """Skip one line of any length. Return whether there was one; None if there was no time to reach its end."""
    line = file.readline(_BLOCK)
    if len(line) == _BLOCK and not line.endswith(b"\n") and not _rest_of_line(file, deadline)[1]:
        return None
    return bool(line)


def _rest_of_line(file: BinaryIO, deadline: float) -> tuple[int, bool]:
    """Skip the rest of a line. Return its bytes, as far as time allowed, and whether its end was reached."""
    passed = 0
    while time.monotonic() < deadline:
        line = file.readline(_BLOCK)
        passed += len(line)
        if not line or line.endswith(b"\n"):
            return passed, True
    return passed, False


def _count(file: BinaryIO, deadline: float) -> int | None:
    """How many lines are left; None if there is no time to count them."""
    lines, last = 0, b"\n"
    while block := file.read(_BLOCK):
        if time.monotonic() > deadline:
            return None
        lines += block.count(b"\n")
        last = block[-1:]
    return lines + (last != b"\n")
