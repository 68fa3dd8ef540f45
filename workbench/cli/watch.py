"""`workbench watch`: follow the session of another agent while it grows, or whichever is active here."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext, suppress

from workbench.cli.options import options_of
from workbench.config.errors import WrongCall
from workbench.config.folders import work_folder
from workbench.config.text import printable
from workbench.config.values import replace
from workbench.live.choosing import agents_called, choose_agent_session
from workbench.live.finder import AgentSession
from workbench.live.processes import running_agents, with_process_folders
from workbench.log.errors import NotFound, StoreError
from workbench.log.store import Store
from workbench.sources.all_agents import LATER, sessions_here
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import names_file, recorded_by

RECENT = 20
"""How many sessions of a folder are searched for one that passes through the proxy."""


def run_watch(arguments: argparse.Namespace) -> int:
    """Open the full screen, or print lines of JSON."""
    if arguments.all and arguments.wanted:
        raise WrongCall(f"watch --all shows all agents that run: expected no name, got {arguments.wanted}")
    options = replace(options_of(arguments), follow=True, lanes=arguments.all)
    options = replace(options, follow_active=not arguments.wanted and not arguments.all)
    with Services() as services:
        ref, note = find_source(services, arguments.wanted) if not arguments.all else ("", "")
        if arguments.json:
            return _print_json(services, options, ref, note)
    from workbench.tui import start  # late: importing the screen is slow

    return start.show_full_screen(ref, options, note=note)


def _print_json(services: Services, options: Options, ref: str, note: str) -> int:
    from workbench.cli.watch_stream import print_all_agents, print_changes  # late: the screen does without

    if note:
        print(printable(f"· {note}"), file=sys.stderr)
    return print_all_agents(services) if options.lanes else print_changes(services, options, ref)


def find_source(services: Services, wanted: str) -> tuple[str, str]:
    """The source to open, and a note for the user. Raises WrongCall."""
    if wanted and names_file(wanted):
        return wanted, ""
    if not wanted:
        return _last_changed(services)
    here, agents = work_folder().path, agents_called(wanted)
    chosen, wrong = None, WrongCall("")
    try:
        sessions = _sessions(services, agents, here)
        if not all(each.folder for each in sessions):
            sessions = with_process_folders(sessions, running_agents())
        chosen = choose_agent_session(sessions, wanted, here)
    except WrongCall as error:
        wrong = error
    if len(agents) == 1:
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


def _last_changed(services: Services) -> tuple[str, str]:
    """The session that changed last in this folder: of an agent, of the proxy, or of a program with a store."""
    here = work_folder().path
    found = sessions_here(services, here) or services.agents.find_sessions(here)
    chosen = choose_agent_session(found, "", here).session
    return chosen.ref, "recorded by the proxy, as it was sent" if chosen.passed else ""


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
