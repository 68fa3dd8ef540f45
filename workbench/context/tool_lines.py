"""A tool call in one line: what it does and to what, for our own tools and other agents'."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from workbench.config.text import printable
from workbench.context.items import Item
from workbench.context.tool_kinds import MOST, CallLine, cut_text, known_tool, named_values, unknown_call_line

LAST_PARTS = 2
"""Names at the end of a path outside the session's folder that are shown."""

MOST_BROKEN = 200_000
"""Characters of broken JSON that are searched."""
MOST_PARSED = 100_000
"""The longest arguments of a call that are parsed for an item's line; longer ones are shown raw."""
LOOKED_AT = 600
"""Characters of a text that a line may show; the rest of a megabyte is not processed."""


def item_line(item: Item) -> str:
    """An item in one line; for a call, what it does."""
    if item.kind == "tool_call" and len(item.original) <= MOST_PARSED:
        return call_line(item.tool or "", item.original)
    return printable(item.original[:LOOKED_AT])


def call_line(name: str, arguments: Mapping[str, Any] | str, folder: str = "") -> str:
    """`Edit scenario_test.go +12 −3`; for any name and any arguments, also as the JSON that a model wrote.

    `folder`: the session's; paths in it are shown relative to it.
    """
    return str(call_parts(name, arguments, folder))


def call_parts(name: str, arguments: Mapping[str, Any] | str, folder: str = "") -> CallLine:
    """Like `call_line`, in parts."""
    given = arguments_of(arguments) if isinstance(arguments, str) else arguments
    values = named_values(given)
    server, base = server_and_tool(name)
    known = known_tool(base, values)
    made = known.describe(values) if known is not None else CallLine("")
    if not made.subject and not made.rest:
        made = unknown_call_line(given)
    verb = base if known is None else made.verb or known.verb
    if server:
        verb = f"{server}: {base}"
    subject = shown_path(made.subject, folder) if made.is_path else printable(made.subject)
    place = shown_path(made.place, folder) if made.place else "."
    rest = printable(" ".join(filter(None, (made.rest, f"in {place}" if place != "." else ""))))
    return CallLine(
        cut_text(printable(verb), MOST), cut_text(subject, MOST), cut_text(rest, MOST), is_path=made.is_path
    )


def arguments_of(text: str) -> Mapping[str, Any]:
    """The arguments that a model wrote; from broken or unfinished JSON, the texts that can be found."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        found = _PAIR.finditer(text[:MOST_BROKEN])
        return {pair[1]: _text_of_json(pair[2]) for pair in found} or ({"": text} if text.strip() else {})
    if isinstance(value, dict):
        return value
    return {"": value} if value not in (None, "") else {}


def shown_path(path: str, folder: str = "") -> str:
    """A path relative to a folder, or by its last names."""
    path = printable(path)
    if folder and path.startswith(folder.rstrip("/") + "/"):
        return path[len(folder.rstrip("/")) + 1 :] or "."
    if folder and path == folder:
        return "."
    parts = re.split(r"[/\\]", path)
    is_absolute = path[:1] in ("/", "~", "\\") or path[1:2] == ":"
    if is_absolute and len(parts) > LAST_PARTS + 2:
        return "…/" + "/".join(parts[-LAST_PARTS:])
    return path


_PAIR = re.compile(r'"([\w-]{1,40})"\s*:\s*"((?:[^"\\]|\\.)*+)(?:"|\\?\Z)', re.DOTALL)


def _text_of_json(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def server_and_tool(name: str) -> tuple[str, str]:
    """`mcp__github__get_issue` and `github__get_issue` are a tool of a server; `functions.exec` has no server."""
    server, mark, tool = name.removeprefix("mcp__").partition("__")
    if mark and server and tool:
        return server, tool
    return "", re.split(r"[.:](?=\w)", name)[-1]
