"""`workbench watch`: follow the session of another agent while it grows.

`watch --json` prints a line at the start and one for every change of the file, until it is interrupted:

    {"source", "change", "events", "requests", "model", "tokens", "window", "share", "cached", "cost", "exact",
     "missing"}

where `change` is opened, grown, replaced or gone; `tokens` is what was reported for the last request of the
conversation, or our estimate where nothing was, `share` that part of the window, `cached` the share of it that came
from the provider's cache; `exact` says whether that request is in the file, and `missing` how many of its tokens are
not. Unknown values are null.
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
from workbench.live.choosing import agents_called, choose_agent_session
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
"""How many sessions of a folder are searched for one that passes through the proxy."""


def run_watch(arguments: argparse.Namespace) -> int:
    """Open the full screen, or print lines of JSON."""
    options = replace(options_of(arguments), follow=True)
    with Services() as services:
        ref, note = find_source(services, arguments.wanted)
        if arguments.json:
            if note:
                print(printable(f"· {note}"), file=sys.stderr)
            return _print_changes(services, options, ref)
    from workbench.tui import start  # late: importing the screen is slow

    return start.show_full_screen(ref, options, note=note)


def find_source(services: Services, wanted: str) -> tuple[str, str]:
    """The source to open, and a note for the user. Raises WrongCall."""
    if wanted and names_file(wanted):
        return wanted, ""
    here, agents = work_folder().path, agents_called(wanted)
    chosen, wrong = None, WrongCall("")
    try:
        sessions = _sessions(services, agents, here)
        if not all(each.folder for each in sessions):
            sessions = with_process_folders(sessions, running_agents())
        chosen = choose_agent_session(sessions, wanted, here)
    except WrongCall as error:
        wrong = error
    if not wanted or len(agents) == 1:
        changed = chosen.session.modified if chosen is not None and chosen.session.is_in(here) else 0
        # If the home folder is read-only there is no store, but a file can be watched all the same.
        with suppress(StoreError) if chosen is not None else nullcontext():
            if passed := through_proxy(services.store, agents, here, changed - LATER):
                return passed, "recorded by the proxy, as it was sent"
    if chosen is not None:
        return chosen.session.ref, chosen.note
    with suppress(NotFound):
        return services.store.info(wanted).id, ""
    raise wrong


def _sessions(services: Services, agents: list[str], here: str) -> list[AgentSession]:
    """The newest sessions of these agents, or of all agents if none is named or has a session."""
    named = services.agents.find_sessions(here, wanted=lambda home, _: home.agent in ("", *agents)) if agents else []
    return named or services.agents.find_sessions(here)


def through_proxy(store: Store, agents: list[str], here: str, since: int) -> str:
    """The id of this folder's last session that the proxy records for these agents, or recorded at or after `since`
    (milliseconds since 1970); empty if there is none."""
    infos = store.list(limit=RECENT, folder=here)
    first = store.first_events([info.id for info in infos])
    whose = {info: recorded_by(first.get(info.id)) for info in infos}
    found = [info for info, agent in whose.items() if agent and (not agents or agent in agents)]
    # The one that changed last is meant, even if an older one is open on another screen.
    fits = (info.id for info in found if info.updated >= since or store.session(info.id, write=False).is_written)
    return next(fits, "")


def _print_changes(services: Services, options: Options, ref: str) -> int:
    # late: the screen imports them itself, behind its first frame
    from workbench.session.following import GONE, LOOK, REPLACED, follow_file, follow_session
    from workbench.session.opening import open_source

    follower = follow_file(ref) if names_file(ref) else follow_session(services.store, ref)
    last = _described(open_source(services, options, ref))  # an error in the file ends the command
    print_json({"source": ref, "change": "opened", **last}, None)
    sign = ""
    with suppress(KeyboardInterrupt):
        while True:
            latest = follower.read_if_changed(lambda: open_source(services, options, ref))
            now = last if latest.read is None else _described(latest.read)
            if now != last:
                print_json({"source": ref, "change": "replaced" if latest.sign == REPLACED else "grown", **now}, None)
            elif latest.sign == GONE != sign:
                print_json({"source": ref, "change": "gone", **now}, None)
            last, sign = now, latest.sign
            sleep(LOOK)
    return 0


def _described(opened: OpenSession) -> dict[str, Any]:
    if opened.session is not None:
        opened.session.close()  # a reader must not block the session's writer
    recorded, status = opened.recorded, figures.status_figures(opened, opened.plan)
    newest = recorded.newest if recorded is not None else None
    if recorded is None or newest is None:
        tokens, known, mark = status.tokens, None, None
    else:
        mark, plan = opened.requests.marks[newest], recorded.plan(newest)
        tokens, known = plan.size, Exactness.of_request(mark, plan)
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
