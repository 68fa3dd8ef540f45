"""`workbench status`: a line for each agent that runs, for status bars and scripts.

`status --json` prints a list, empty where none runs:

    [{"id", "agent", "source", "folder", "title", "model", "tokens", "window", "share", "compacts_at", "left", "cost",
      "cached"}]

where `tokens` is what was reported for the last request, `share` that part of the window, `left` what is left of it
until the agent compacts by itself, from `compacts_at` tokens on, and `cached` the share that came from the provider's
cache. What is not known is null. With `--follow` each list is one line, printed whenever something in it has changed.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from dataclasses import replace
from time import sleep
from typing import Any

from workbench.cli.agents import which
from workbench.config.errors import WrongCall
from workbench.config.folders import shown_folder, work_folder
from workbench.config.text import percent, print_json, printable
from workbench.live.finder import AgentSession
from workbench.live.status import AgentStatus, StatusReader, running_sessions
from workbench.session.services import Services
from workbench.traces import claude_code

PAUSE = 1.0
"""Seconds between two looks; which agents run is asked each time."""
TITLE = 30
"""Characters of a title that are shown."""
INPUT = 1_000_000
"""Bytes of standard input that are read."""


def run(options: argparse.Namespace) -> int:
    """Once, or whenever it has changed."""
    told = _told() if options.claude_code else {}
    with Services() as services:
        reader = StatusReader(services.catalogue)
        last = _look(services, reader, options, told)
        _print(last, options)
        with suppress(KeyboardInterrupt):
            while options.follow:
                sleep(PAUSE)
                now = _look(services, reader, options, told)
                if now != last:
                    _print(now, options)
                last = now
    return 0


def _told() -> dict[str, Any]:
    """What Claude Code says of itself to the command of its status line."""
    try:
        told = json.loads(sys.stdin.buffer.read(INPUT))
    except ValueError:
        told = None
    if not isinstance(told, dict) or not isinstance(told.get("transcript_path"), str):
        raise WrongCall("--claude-code: expected an object with a transcript_path on standard input")
    return told


def _look(
    services: Services, reader: StatusReader, options: argparse.Namespace, told: dict[str, Any]
) -> list[AgentStatus]:
    if told:
        return [reader.read(_of_claude_code(services, told))]
    if options.file:
        found = services.agents.at(options.file)
        if found is None:
            raise WrongCall(f"{options.file}: expected the file of another agent's session")
        return [reader.read(found)]
    here = work_folder().path
    running = running_sessions(services.agents, here)
    return [reader.read(each) for each in running if each.is_in(here) or not options.here]


def _of_claude_code(services: Services, told: dict[str, Any]) -> AgentSession:
    """The very session, which may have no file yet; the window as Claude Code says where it does."""
    path = told["transcript_path"]
    model, window = (told.get(key) for key in ("model", "context_window"))
    name = str(model.get("id") or "") if isinstance(model, dict) else ""
    size = window.get("context_window_size") if isinstance(window, dict) else None
    found = services.agents.at(path) or AgentSession(claude_code.NAME, path, "", "", name, 0)
    if found.report is None or not isinstance(size, int):
        return found
    return replace(found, report=replace(found.report, window=size))


def _print(found: list[AgentStatus], options: argparse.Namespace) -> None:
    if options.json:
        print_json([_described(each) for each in found], None if options.follow else 2)
        return
    alone = options.claude_code or options.file
    lines = [" · ".join((*(() if alone else _who(each)), *_figures(each))) for each in found]
    if lines or options.follow:  # who follows has to hear that none runs any more
        print("\n".join(lines), flush=True)


def _who(status: AgentStatus) -> tuple[str, ...]:
    session = status.session
    title = printable(session.title)
    short = title if len(title) <= TITLE else f"{title[: TITLE - 1].rstrip()}…"
    return tuple(filter(None, (session.agent, printable(shown_folder(session.folder)), short)))


def _figures(status: AgentStatus) -> tuple[str, ...]:
    if status.tokens is None:
        return (printable(status.session.model), "no request yet") if status.session.model else ("no request yet",)
    share = "" if status.share is None else f" of {status.window:,} ({percent(status.share)})"
    left = status.left
    return (
        f"{status.tokens:,}{share}",
        "compaction not known" if left is None else f"compacts in {left:,}" if left else "compaction due",
        "cost unknown" if status.cost is None else f"${status.cost:.2f}",
        "cache unknown" if status.cached is None else f"cached {percent(status.cached, 0)}",
    )


def _described(status: AgentStatus) -> dict[str, Any]:
    share, cached = status.share, status.cached
    return {
        **which(status.session),
        "tokens": status.tokens,
        "window": status.window,
        "share": None if share is None else round(share, 4),
        "compacts_at": status.compacts_at,
        "left": status.left,
        "cost": None if status.cost is None else round(status.cost, 6),
        "cached": None if cached is None else round(cached, 4),
    }
