"""The tool `search_text`, with which the model finds the lines of files that match a pattern.

The search runs in its own process. With a bad pattern, Python's regular expressions can take forever. They hold the
interpreter's lock all that time, and a thread cannot be stopped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from workbench.agent.tools.base import Arguments, Tool, ToolContext, ToolFailure, ToolLimits, ToolOutcome, object_schema
from workbench.agent.tools.files import open_for_tool
from workbench.agent.tools.output import OutputEnds
from workbench.agent.tools.places import AllowedFolders
from workbench.agent.tools.process import run_process
from workbench.agent.tools.search_worker import BAD_PATTERN

_START = "import sys; sys.path += sys.argv[1:]; from workbench.agent.tools.search_worker import main; main()"


def search_tool(places: AllowedFolders, limits: ToolLimits) -> Tool:
    """Make the tool `search_text` for one project. `places`: where it may search."""

    async def run(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        base = places.resolve_path(arguments.get("path", "."))
        if not base.is_dir():
            open_for_tool(base, places.name(base)).close()
        return await _search(base, places, arguments, limits)

    return Tool(
        "search_text",
        "read",
        "Search files for lines that match a regular expression (Python's).",
        object_schema(
            ("pattern",),
            pattern={"type": "string", "minLength": 1},
            path={"type": "string", "description": "file or folder"},
            glob={"type": "string", "description": "*.py, src/**/*.{c,h}"},
            literal={"type": "boolean", "description": "pattern is plain text"},
            ignore_case={"type": "boolean"},
            context={"type": "integer", "minimum": 0, "maximum": 20, "description": "lines around each match"},
            limit={"type": "integer", "minimum": 1, "maximum": 1000, "description": f"default {limits.max_matches}"},
        ),
        run,
        lambda arguments: places.name(places.resolve_path(arguments.get("path", "."))),
    )


@cache
def _folders() -> tuple[str, ...]:
    """The folders from which the worker imports Workbench and pathspec, which reads `.gitignore` files."""
    found = (find_spec(package) for package in ("workbench", "pathspec"))
    return tuple(dict.fromkeys(str(Path(spec.origin).parent.parent) for spec in found if spec and spec.origin))


async def _search(base: Path, places: AllowedFolders, arguments: Arguments, limits: ToolLimits) -> ToolOutcome:
    wanted = {
        "base": str(base),
        "name": places.name(base),
        "root": str(places.root),
        "pattern": arguments["pattern"],
        "glob": arguments.get("glob", ""),
        "literal": arguments.get("literal", False),
        "ignore_case": arguments.get("ignore_case", False),
        "context": arguments.get("context", 0),
        "limit": arguments.get("limit", limits.max_matches),
        "seconds": limits.search_seconds,
    }
    return await run_search_worker("search_text", _START, _folders(), places.root, json.dumps(wanted).encode(), limits)


async def run_search_worker(
    tool: str, start: str, folders: Sequence[str], root: Path, stdin: bytes, limits: ToolLimits
) -> ToolOutcome:
    """Run a worker, and turn its output and exit status into an outcome.

    `start`: the Python code that starts it. `folders`: where it imports from.
    """
    found, errors = OutputEnds(limits.output_bytes, 0), OutputEnds(4096, 0)
    # -S: without site packages it starts fast. -I: isolated, so that no file of the project can replace a module.
    ended = await run_process(
        [sys.executable, "-I", "-S", "-c", start, *folders],
        cwd=root,
        # The worker checks the time itself, but not within one match. The extra second is for its start and end.
        seconds=limits.search_seconds + 1,
        output=found.add_bytes,
        errors=errors.add_bytes,
        stdin=stdin,
    )
    if ended.timed_out:
        note = f"[stopped after {limits.search_seconds:g} s: the pattern takes too long; make it simpler]"
        return ToolOutcome(found.text() + note, is_error=True)
    if ended.status == BAD_PATTERN:
        raise ToolFailure(errors.text())
    if ended.status != 0:
        raise ToolFailure(f"{tool} broke off with status {ended.status}: {errors.text()[-500:]}")
    return ToolOutcome(found.text())
