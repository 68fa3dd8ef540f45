"""A very long transcript of another agent: to read and keep it, to plan its last request, and to summarise it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import material
from bench.children import command, environment, processor_time
from bench.harness import Row, Scale, Work, Yardstick, in_units, rounds
from support.terminal import WORKBENCH
from usage.homes import claude_reply

FULL_WINDOW = 150_000
"""The size at which the agent compacts."""
SYSTEM = 14_000
"""Tokens of its system prompt and tools, which are in no line."""
AT_MOST = {"import": 1.4, "plan": 4.2, "digest": 4.8}
"""Of a bare import of the file: about a third of what each command took when the limits were set."""


def run(scale: Scale) -> Iterator[Row]:
    """Processor time of each command, in a process of its own, with an empty store."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "long.jsonl")
        lines = [json.dumps(line) for line in transcript(scale.lines)]
        path.write_text("\n".join(lines) + "\n", "utf-8")
        places = {**environment(), **{f"WORKBENCH_{kind}_DIR": f"{folder}/{kind}" for kind in ("DATA", "CONFIG")}}
        file = str(path)
        commands = {
            "import": ("import", file),
            "plan": ("plan", file),
            "digest": ("compact", file, "--digest", "--dry-run", "--yes"),
        }
        works: dict[str, Work] = {name: partial(_spent, each, places, folder) for name, each in commands.items()}
        bare = Yardstick("a bare import", partial(_imported_barely, file, places, folder))
        found = rounds(works, scale.slow_repeats, warm_up=False, yardstick=bare)
        for name in commands:
            yield in_units(f"{name} of {len(lines):,} lines, processor time", found, name, AT_MOST[name])


def _spent(command: Sequence[str], places: Mapping[str, str], folder: str) -> float:
    shutil.rmtree(f"{folder}/DATA", ignore_errors=True)
    return processor_time((*WORKBENCH, *command), places, folder)


def _imported_barely(file: str, places: Mapping[str, str], folder: str) -> float:
    store = Path(folder, "bare.db")
    store.unlink(missing_ok=True)
    return processor_time(command("bare_import", file, str(store)), places, folder)


def transcript(count: int) -> Iterator[dict[str, Any]]:
    """So many lines of Claude Code: turns with calls, reports that grow, and a compaction wherever they are full."""
    made, size = 0, SYSTEM
    while made < count:
        for line, tokens in _turn(made, size):
            yield line
            made, size = made + 1, size + tokens
        if size > FULL_WINDOW:
            yield _line(
                "system", made, subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": size}
            )
            yield _said(made + 1, f"So far: {material.text('prose', 4_000, made)}", isCompactSummary=True)
            made, size = made + 2, SYSTEM + 1_000


def _turn(made: int, size: int) -> Iterator[tuple[dict[str, Any], int]]:
    """A question, four steps with a call each, and an answer: lines, each with its approximate tokens."""
    yield _said(made, material.text("prose", 300, made)), 75
    for step in range(4):
        name, at = f"m{made}-{step}", made + 1 + 3 * step
        report = {"prompt": 3, "cached": size + 400 * step}
        words = [{"type": "text", "text": material.text("prose", 160, at)}]
        call = [{"type": "tool_use", "id": f"c{name}", "name": "Read", "input": {"file_path": f"/srv/bread-{at}.py"}}]
        result = [{"type": "tool_result", "tool_use_id": f"c{name}", "content": material.text("code", 1_200, at)}]
        yield _reply(name, at, words, **report), 40
        yield _reply(name, at + 1, call, **report), 40
        yield _said(at + 2, result), 320
    yield _reply(f"m{made}", made + 13, [{"type": "text", "text": "Done."}], prompt=3, cached=size + 1_700), 10


def _reply(name: str, at: int, content: list[dict[str, Any]], *, prompt: int, cached: int) -> dict[str, Any]:
    return claude_reply(name, 0, prompt, 50, cached=cached, content=content, at=_time(at), uuid=f"a{at}")


def _said(at: int, content: Any, **more: Any) -> dict[str, Any]:
    return _line("user", at, message={"role": "user", "content": content}, **more)


def _line(kind: str, at: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": f"u{at}", "sessionId": "s", "cwd": "/srv/bakery", "timestamp": _time(at), **more}


def _time(at: int) -> str:
    return f"2026-11-{1 + at // 86_400:02}T{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}.000Z"
