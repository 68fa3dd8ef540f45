"""The command `workbench agents`, which lists the sessions of other agents."""

from __future__ import annotations

import argparse
import os
from typing import Any

from workbench.config.folders import shown_folder, work_folder
from workbench.config.text import age, line_width, percent, print_json, printable, table, width
from workbench.live.choosing import short_ids
from workbench.live.finder import AgentSession, window_of
from workbench.sources.all_agents import all_agents, with_report
from workbench.sources.services import Services

FOLDER = 32
"""How many characters of a folder's path are shown at most."""


def run_agents(options: argparse.Namespace) -> int:
    """Print the sessions of all agents, the most recently changed first."""
    folder = work_folder().path if options.here else os.path.realpath(options.folder) if options.folder else ""
    with Services() as services:
        every, running, held = all_agents(services, work_folder().path)
        found = [each for each in every if _fits(each, options.words, folder)]
        found = [each for each in found if each.path in running or not options.running][: options.limit]
        found = [with_report(services, each) for each in found]
        windows = {each.path: window_of(each, services.catalogue) for each in found}
    says = {path: "held" if path in held else "running" for path in running}
    if options.json:
        print_json({"sessions": [_described(each, windows[each.path], says.get(each.path, "")) for each in found]})
    elif found:
        ids = short_ids(each.id for each in every)
        rows = [(ids[each.id], *_cells(each, windows[each.path], says.get(each.path, ""))) for each in found]
        heads = ("id", "agent", "folder", "tokens", "window", "age", "", "model", "title")
        print("\n".join(table(heads, rows, frozenset({3, 4, 5}), line_width())))
    else:
        print(_none(options, folder))
    return 0


def _fits(session: AgentSession, words: list[str], folder: str) -> bool:
    searched = " ".join((session.agent, session.folder, session.title, session.model, session.id)).lower()
    return (not folder or session.is_in(folder)) and all(word.lower() in searched for word in words)


def _share(session: AgentSession, window: int | None) -> float | None:
    return session.report.prompt / window if session.report is not None and window else None


def _cells(session: AgentSession, window: int | None, now: str) -> tuple[str, ...]:
    share, report = _share(session, window), session.report
    return (
        session.agent or "–",
        _end(printable(shown_folder(session.folder))) or "–",
        f"{report.prompt:,}" if report is not None else "–",
        percent(share) if share is not None else "–",
        age(session.modified),
        now,
        printable(session.model) or "–",
        printable(session.title) or "–",
    )


def _end(folder: str) -> str:
    """Cut the beginning of a long path, because its end is more helpful."""
    return folder if width(folder) <= FOLDER else f"…{folder[1 - FOLDER :]}"


def session_identity(session: AgentSession) -> dict[str, Any]:
    """The JSON keys that identify a session."""
    return {
        "id": session.id,
        "agent": session.agent,
        "source": session.ref,
        "recorded_by": "proxy" if session.passed else "workbench" if session.own else "agent",
        "folder": session.folder or None,
        "title": session.title or None,
        "model": session.model or None,
    }


def _described(session: AgentSession, window: int | None, now: str) -> dict[str, Any]:
    report, share = session.report, _share(session, window)
    return {
        **session_identity(session),
        "tokens": None if report is None else report.prompt,
        "cached": None if report is None else report.cached,
        "window": window,
        "share": None if share is None else round(share, 4),
        "modified": session.modified,
        "running": bool(now),
        "held": now == "held",
    }


def _none(options: argparse.Namespace, folder: str) -> str:
    if options.words or folder or options.running:
        return "no session of another agent fits; without words and options, all are listed"
    return "no sessions of other agents on this machine; other places can be added under [agents] in config.toml"
