"""The lines of `watch --json`, until it is interrupted.

A line at the start and one for every change:

    {"source", "agent", "change", "events", "requests", "model", "tokens", "window", "share", "cached", "cost",
     "exact", "missing"}

where `change` is opened, grown, replaced, gone, or switched, if another session of the folder is followed from now on;
`tokens` is what was reported for the last request of the conversation, or our estimate where nothing was, `share` that
part of the window, `cached` the share of it that came from the provider's cache; `exact` says whether that request is
in the file, and `missing` how many of its tokens are not. Unknown values are null.

With `--all`, a line whenever something has changed of the agents that run:

    {"agents": [...]}

with the objects of `status --json`, and `last_tool` in each.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from workbench.cli.status import PAUSE, described_status
from workbench.config.errors import WorkbenchError
from workbench.config.folders import work_folder
from workbench.config.text import print_json
from workbench.live.status import StatusReader
from workbench.session import figures
from workbench.session.open_session import OpenSession
from workbench.sources.all_agents import running_statuses, sessions_here
from workbench.sources.options import Options
from workbench.sources.requests import TALK
from workbench.sources.services import Services
from workbench.sources.source import names_file, recorded_by
from workbench.sources.stored_sessions import OWN
from workbench.views.context_view import Exactness


def print_all_agents(services: Services) -> int:
    """Print the figures of all running agents, again whenever something has changed."""
    reader = StatusReader(services.catalogue, lambda: services.store)
    last: list[dict[str, Any]] | None = None
    with suppress(KeyboardInterrupt):
        while True:
            found = running_statuses(services, reader, work_folder().path)
            now = [{**described_status(each), "last_tool": each.last_tool or None} for each in found]
            if now != last:
                print_json({"agents": now}, None)
            last = now
            time.sleep(PAUSE)
    return 0


class _Changes:
    """Prints the changes of one session."""

    def __init__(self, services: Services, options: Options, ref: str, change: str, agent: str) -> None:
        # late: the screen imports them itself, behind its first frame
        from workbench.session.following import follow_file, follow_session

        self._services, self._options, self._ref, self._agent = services, options, ref, agent
        self._follower = follow_file(ref) if names_file(ref) else follow_session(services.store, ref)
        self._last = _described(self._open())  # an error in the file ends the command
        self._sign = ""
        self._print(change)

    def print_next(self) -> None:
        """Print a line if something has changed."""
        from workbench.session.following import GONE, REPLACED

        latest = self._follower.read_if_changed(self._open)
        now = self._last if latest.read is None else _described(latest.read)
        is_new, self._last = now != self._last, now
        if is_new:
            self._print("replaced" if latest.sign == REPLACED else "grown")
        elif latest.sign == GONE != self._sign:
            self._print("gone")
        self._sign = latest.sign

    def _open(self) -> OpenSession:
        from workbench.session.opening import open_source

        return open_source(self._services, self._options, self._ref)

    def _print(self, change: str) -> None:
        print_json({"source": self._ref, "agent": self._agent or None, "change": change, **self._last}, None)


def print_changes(services: Services, options: Options, ref: str) -> int:
    """Print the changes of a session, and with `follow_active` those of whichever is active in this folder."""
    from workbench.session.activity import session_to_follow
    from workbench.session.following import CHECK_SECONDS

    here, agent = work_folder().path, _agent_of(services, ref)
    changes, looked, since = _Changes(services, options, ref, "opened", agent), time.monotonic(), 0
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(CHECK_SECONDS)
            changes.print_next()
            if not options.follow_active or time.monotonic() - looked < PAUSE:
                continue
            found = sessions_here(services, here, since)
            since = next((each.modified for each in found if each.ref == ref), since)
            other = session_to_follow(found, ref, time.time_ns() // 1_000_000)
            if other is not None:
                with suppress(WorkbenchError):  # it may be half written; it is tried again
                    changes = _Changes(services, options, other.ref, "switched", other.agent)
                    ref, since = other.ref, other.modified
            looked = time.monotonic()
    return 0


def _agent_of(services: Services, ref: str) -> str:
    """The agent of a session; empty if it is not known."""
    if names_file(ref):
        found = services.agents.session_at(ref)
        return found.agent if found is not None else ""
    name = services.store.info(ref).id
    return recorded_by(services.store.first_events([name]).get(name)) or OWN


def _described(opened: OpenSession) -> dict[str, Any]:
    recorded, status = opened.recorded, figures.status_figures(opened, opened.plan)
    marks, tokens = opened.requests.marks, status.tokens
    mark = known = None
    if recorded is None:
        mark = next((each for each in reversed(marks) if each.purpose in TALK), None)
        # What we send ourselves is planned from the log, which has all of it.
        known = Exactness(True, 0) if mark is not None else None
        tokens = (mark.tokens if mark is not None else 0) or tokens
    elif recorded.newest is not None:
        mark, plan = marks[recorded.newest], recorded.plan(recorded.newest)
        tokens, known = plan.size, Exactness.of_request(mark, plan)
    window = None if status.window_source in ("guess", "fallback") else status.window
    return {
        "events": len(opened.events),
        "requests": len(marks),
        "model": opened.setup.model or None,
        "tokens": tokens,
        "window": window,
        "share": round(tokens / window, 4) if window else None,
        "cached": round(mark.cached / mark.reported, 4) if mark is not None and mark.reported else None,
        "cost": None if status.cost is None else round(status.cost, 6),
        "exact": known.exact if known is not None else None,
        "missing": known.missing if known is not None else None,
    }
