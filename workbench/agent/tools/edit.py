"""`edit_file`: replaces one text in a file by another."""

from __future__ import annotations

from pathlib import Path

from workbench.agent.tools.base import Arguments, Tool, ToolContext, ToolFailure, ToolOutcome, object_schema
from workbench.agent.tools.files import open_for_tool, refuse_binary
from workbench.agent.tools.places import AllowedFolders
from workbench.agent.tools.write import check_writable, encoded_text
from workbench.config.background import in_background
from workbench.config.foreign_files import read_to_end, size_of
from workbench.config.writing import replace_file

MAX_BYTES = 16 * 1024 * 1024
_COMPARED_LINES = 10_000
"""How many lines are searched for a similar one; each comparison takes about 20 µs."""


def edit_tool(places: AllowedFolders) -> Tool:

    async def run(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        path = places.find_writable(arguments["path"])
        return ToolOutcome(await in_background(lambda: _edit(path, places.name(path), arguments)))

    return Tool(
        "edit_file",
        "write",
        "Replace a text in a file. old_text must match exactly once, or set replace_all.",
        object_schema(
            ("path", "old_text", "new_text"),
            path={"type": "string", "minLength": 1},
            old_text={"type": "string", "minLength": 1},
            new_text={"type": "string"},
            replace_all={"type": "boolean"},
        ),
        run,
        lambda arguments: places.name(places.find_writable(arguments["path"])),
    )


def _edit(path: Path, name: str, arguments: Arguments) -> str:
    with open_for_tool(path, name) as file:
        size = size_of(file)
        if size > MAX_BYTES:
            raise ToolFailure(f"{name}: has {size} bytes, more than the {MAX_BYTES} that can be edited")
        check_writable(path, name)
        data = read_to_end(file, MAX_BYTES)
    refuse_binary(data, name, size)
    # Bytes that are not UTF-8 stay unchanged.
    text = data.decode(errors="surrogateescape")
    old, new = arguments["old_text"], arguments["new_text"]
    if old == new:
        raise ToolFailure("new_text: is the same as old_text; nothing would change")
    if old not in text and "\r\n" in text and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")  # models write plain line ends
    places = _places(text, old)
    if not places:
        raise ToolFailure(f"old_text: no match in {name}; {_nearest(text, old)}")
    if len(places) > 1 and not arguments.get("replace_all", False):
        more = ", ..." if len(places) > 5 else ""
        where = ", ".join(map(str, places[:5])) + more
        raise ToolFailure(
            f"old_text: {len(places)} matches in {name}, at the lines {where}; "
            "add lines around it to make it unique, or set replace_all"
        )
    replace_file(path, encoded_text(text.replace(old, new), "new_text"), private=False)
    count = f"{len(places)} matches" if len(places) > 1 else "1 match"
    return f"[replaced {count} in {name}, line {places[0]}]"


def _places(text: str, old: str) -> list[int]:
    """The lines at which the matches begin, without overlaps, as `str.replace` finds them."""
    found, line, seen = [], 1, 0
    at = text.find(old)
    while at >= 0:
        line += text.count("\n", seen, at)
        seen = at
        found.append(line)
        at = text.find(old, at + len(old))
    return found


def _nearest(text: str, old: str) -> str:
    """Where the file has something similar: the same text except for white space, or a line like the first one."""
    lines = [line.strip() for line in text.split("\n")]
    wanted = [line.strip() for line in old.strip().split("\n")]
    for at in range(len(lines) - len(wanted) + 1):
        if lines[at : at + len(wanted)] == wanted:
            return f"line {at + 1} matches but for white space:\n{_quoted(text, at, len(wanted))}"
    head = [line[:200] for line in lines[:_COMPARED_LINES]]
    import difflib  # late: most edits find their place

    near = difflib.get_close_matches(wanted[0][:200], head, n=1, cutoff=0.6) if wanted[0] else []
    if not near:
        return "no line is like its first one; read the file again"
    at = head.index(near[0])
    return f"the nearest is line {at + 1}:\n{_quoted(text, at, min(len(wanted), 5))}"


def _quoted(text: str, at: int, count: int) -> str:
    lines = text.split("\n")[at : at + min(count, 20)]
    return "\n".join(line.removesuffix("\r")[:400] for line in lines)
