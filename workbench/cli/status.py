"""`workbench status`: a line for each agent that runs, for status bars and scripts.

`status --json` prints a list, empty where none runs:

    [{"id", "agent", "source", "recorded_by", "folder", "title", "model", "tokens", "window", "share", "compacts_at",
      "left", "cost", "cached", "held"}]

where `tokens` is what was reported for the last request, `share` that part of the window, `left` what is left of it
until the agent compacts by itself, from `compacts_at` tokens on, `cached` the share that came from the provider's
cache, and `held` says whether a request waits at a breakpoint; `recorded_by` is agent or proxy. Unknown values are
null. With `--follow` each list is one line, printed whenever something in it has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import suppress
from time import sleep
from typing import Any

from workbench.cli.agents import session_identity
from workbench.config.errors import WrongCall
from workbench.config.folders import shown_folder, work_folder
from workbench.config.text import percent, print_json, printable
from workbench.config.values import replace
from workbench.live.finder import AgentSession
from workbench.live.status import AgentStatus, StatusReader
from workbench.sources.all_agents import running_statuses
from workbench.sources.services import Services
from workbench.traces import format_names
from workbench.traces.references import split_ref

PAUSE = 1.0
"""Seconds between two checks; each check looks for running agents again."""
TITLE = 30
"""Characters of a title that are shown."""
INPUT = 1_000_000
"""Bytes of standard input that are read."""


def run_status(options: argparse.Namespace) -> int:
    """Print the status once, or whenever it has changed."""
    given = _claude_code_input() if options.claude_code else {}
    with Services() as services:
        reader = StatusReader(services.catalogue, lambda: services.store)
        last = _statuses(services, reader, options, given)
        _print(last, options)
        with suppress(KeyboardInterrupt):
            while options.follow:
                sleep(PAUSE)
                now = _statuses(services, reader, options, given)
                if now != last:
                    _print(now, options)
                last = now
    return 0


def _claude_code_input() -> dict[str, Any]:
    """The JSON object that Claude Code passes to the command of its status line."""
    try:
        given = json.loads(sys.stdin.buffer.read(INPUT))
    except ValueError:
        given = None
    if not isinstance(given, dict) or not isinstance(given.get("transcript_path"), str):
        raise WrongCall("--claude-code: expected an object with a transcript_path on standard input")
    return given


def _statuses(
    services: Services, reader: StatusReader, options: argparse.Namespace, given: dict[str, Any]
) -> list[AgentStatus]:
    if given:
        return [reader.read_status(_of_claude_code(services, given))]
    if options.file:
        found = services.agents.session_at(options.file)
        if found is None:
            exists = os.path.exists(split_ref(options.file)[0])
            wrong = "expected the file of another agent's session" if exists else "no such file"
            raise WrongCall(f"{options.file}: {wrong}")
        return [reader.read_status(found)]
    return running_statuses(services, reader, work_folder().path, only_here=options.here)


def _of_claude_code(services: Services, given: dict[str, Any]) -> AgentSession:
    """The session that Claude Code names, which may have no file yet; with Claude Code's window, if it names one."""
    path = given["transcript_path"]
    model, window = (given.get(key) for key in ("model", "context_window"))
    name = str(model.get("id") or "") if isinstance(model, dict) else ""
    size = window.get("context_window_size") if isinstance(window, dict) else None
    found = services.agents.session_at(path) or AgentSession(format_names.CLAUDE_CODE, path, "", "", name, 0)
    if found.report is None or not isinstance(size, int):
        return found
    return replace(found, report=replace(found.report, window=size))


def _print(found: list[AgentStatus], options: argparse.Namespace) -> None:
    if options.json:
        print_json([described_status(each) for each in found], None if options.follow else 2)
        return
    alone = options.claude_code or options.file
    lines = [" · ".join((*(() if alone else _who(each)), *_figures(each))) for each in found]
    if lines or options.follow:  # with --follow, an empty line says that no agent runs any more
        print("\n".join(lines), flush=True)


def _who(status: AgentStatus) -> tuple[str, ...]:
    session = status.session
    title = printable(session.title)
    short = title if len(title) <= TITLE else f"{title[: TITLE - 1].rstrip()}…"
    return tuple(filter(None, (session.agent, printable(shown_folder(session.folder)), short)))


def _figures(status: AgentStatus) -> tuple[str, ...]:
    held = ("held",) if status.held else ()
    if status.tokens is None:
        return (*filter(None, (printable(status.session.model),)), *(held or ("nothing reported yet",)))
    share = "" if status.share is None else f" of {status.window:,} ({percent(status.share)})"
    left = status.left
    return (
        f"{status.tokens:,}{share}",
        "compaction not known" if left is None else f"compacts in {left:,}" if left else "compaction due",
        "cost unknown" if status.cost is None else f"${status.cost:.2f}",
        "cache unknown" if status.cached is None else f"cached {percent(status.cached, 0)}",
        *held,
    )


def described_status(status: AgentStatus) -> dict[str, Any]:
    """The figures of an agent as JSON values."""
    share, cached = status.share, status.cached
    return {
        **session_identity(status.session),
        "tokens": status.tokens,
        "window": status.window,
        "share": None if share is None else round(share, 4),
        "compacts_at": status.compacts_at,
        "left": status.left,
        "cost": None if status.cost is None else round(status.cost, 6),
        "cached": None if cached is None else round(cached, 4),
        "held": status.held,
    }
