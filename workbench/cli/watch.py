"""`workbench watch`: the session of another agent, followed while it grows.

`watch --json` prints a line for what there is and one for every change of the file, until it is interrupted:

    {"source", "change", "events", "requests", "model", "tokens", "window", "share", "cached", "cost", "exact",
     "missing"}

where `change` is opened, grown, replaced or gone; `tokens` is what was reported for the last request of the
conversation, or our estimate where nothing was, `share` that part of the window, `cached` the share of it that came
from the provider's cache; `exact` says whether that request is in the file, and `missing` how many of its tokens are
not. What is not known is null.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext, suppress
from dataclasses import replace
from time import sleep
from typing import Any

from workbench.cli.options import options_of
from workbench.config.errors import WrongCall
from workbench.config.folders import work_folder
from workbench.config.text import print_json, printable
from workbench.live.choosing import agents_called, choose_session
from workbench.live.finder import AgentSession
from workbench.live.processes import running_agents, with_process_folders
from workbench.log.errors import NotFound, StoreError
from workbench.log.store import Store
from workbench.session import figures
from workbench.session.open_session import OpenSession
from workbench.sources.all_agents import LATER
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import names_file, recorded_by
from workbench.views.context_view import Exactness

RECENT = 20
"""Sessions of a folder among which one that passes through the proxy is looked for."""


def run(arguments: argparse.Namespace) -> int:
    """On the full screen, or as lines of JSON."""
    options = replace(options_of(arguments), follow=True)
    with Services() as services:
        ref, note = found(services, arguments.wanted)
        if arguments.json:
            if note:
                print(printable(f"· {note}"), file=sys.stderr)
            return _print_changes(services, options, ref)
    from workbench.tui import start  # late, as everything of the screen

    return start.run(ref, options, note=note)


def found(services: Services, wanted: str) -> tuple[str, str]:
    """What to open, and what to say about it. Raises WrongCall."""
    if wanted and names_file(wanted):
        return wanted, ""
    here, agents = work_folder().path, agents_called(wanted)
    chosen, wrong = None, WrongCall("")
    try:
        sessions = _sessions(services, agents, here)
        if not all(each.folder for each in sessions):
            sessions = with_process_folders(sessions, running_agents())
        chosen = choose_session(sessions, wanted, here)
    except WrongCall as error:
        wrong = error
    if not wanted or len(agents) == 1:
        changed = chosen.session.modified if chosen is not None and chosen.session.is_in(here) else 0
        # Where the home folder cannot be written there is no store, and a file can be watched all the same.
        with suppress(StoreError) if chosen is not None else nullcontext():
            if passed := through_proxy(services.store, agents, here, changed - LATER):
                return passed, "recorded by the proxy, as it was sent"
    if chosen is not None:
        return chosen.session.ref, chosen.note
    with suppress(NotFound):
        return services.store.info(wanted).id, ""
    raise wrong


def _sessions(services: Services, agents: list[str], here: str) -> list[AgentSession]:
    """The newest sessions of these agents; of all agents where none is named or none of theirs exists."""
    named = services.agents.find_sessions(here, wanted=lambda home, _: home.agent in ("", *agents)) if agents else []
    return named or services.agents.find_sessions(here)


def through_proxy(store: Store, agents: list[str], here: str, since: int) -> str:
    """The last session of this folder that requests of these agents become now, or became since some milliseconds
    after 1970; empty where there is none."""
    infos = store.list(limit=RECENT, folder=here)
    first = store.first_events([info.id for info in infos])
    whose = {info: recorded_by(first.get(info.id)) for info in infos}
    found = [info for info, agent in whose.items() if agent and (not agents or agent in agents)]
    # One that changed last is meant, though an older one may be open on another screen.
    fits = (info.id for info in found if info.updated >= since or store.session(info.id, write=False).is_written)
    return next(fits, "")


def _print_changes(services: Services, options: Options, ref: str) -> int:
    # late: the screen imports them itself, behind its first frame
    from workbench.session.following import GONE, LOOK, REPLACED, follow_file, follow_session
    from workbench.session.opening import open_source

    follower = follow_file(ref) if names_file(ref) else follow_session(services.store, ref)
    last = _described(open_source(services, options, ref))  # what is wrong with the file ends the command
    print_json({"source": ref, "change": "opened", **last}, None)
    sign = ""
    with suppress(KeyboardInterrupt):
        while True:
            look = follower.look(lambda: open_source(services, options, ref))
            now = last if look.read is None else _described(look.read)
            if now != last:
                print_json({"source": ref, "change": "replaced" if look.sign == REPLACED else "grown", **now}, None)
            elif look.sign == GONE != sign:
                print_json({"source": ref, "change": "gone", **now}, None)
            last, sign = now, look.sign
            sleep(LOOK)
    return 0


def _described(opened: OpenSession) -> dict[str, Any]:
    if opened.session is not None:
        opened.session.close()  # looking on takes nobody's right to write
    recorded, status = opened.recorded, figures.status(opened, opened.plan)
    newest = recorded.newest if recorded is not None else None
    if recorded is None or newest is None:
        tokens, known, mark = status.tokens, None, None
    else:
        mark, plan = opened.requests.marks[newest], recorded.plan(newest)
        tokens, known = plan.size, Exactness.of(mark, plan)
    window = None if status.window_source in ("guess", "fallback") else status.window
    return {
        "events": len(opened.events),
        "requests": len(opened.requests.marks),
        "model": opened.setup.model or None,
        "tokens": tokens,
        "window": window,
        "share": round(tokens / window, 4) if window else None,
        "cached": round(mark.cached / mark.reported, 4) if mark is not None and mark.reported else None,
        "cost": None if status.cost is None else round(status.cost, 6),
        "exact": known.exact if known is not None else None,
        "missing": known.missing if known is not None else None,
    }
