"""The sessions of all agents on this machine: from their own files, from the proxy, and from the store.

A session that passed the proxy is in the store, and exact. If an agent's file has the same conversation, only one of
the two is listed: the session, unless the agent went on without the proxy.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from workbench.config.errors import WorkbenchError
from workbench.config.values import replace
from workbench.live.finder import AgentSession
from workbench.live.processes import running_agents, running_paths, with_process_folders
from workbench.live.reports import LastReport
from workbench.live.status import AgentStatus, StatusReader, running_sessions
from workbench.log.events import Request, Usage
from workbench.log.session import SessionInfo
from workbench.proxy import control
from workbench.sources.requests import TALK
from workbench.sources.services import Services
from workbench.sources.source import recorded_by
from workbench.sources.stored_sessions import chosen_window, stored_sessions, written_sessions

LATER = 60_000
"""Milliseconds that an agent may take to write its own file after the answer."""
QUIET = 600_000
"""Milliseconds after its last request during which an agent that the proxy did not start counts as running."""
MOST = 500
"""Sessions of the store to read, the last changed first."""
BEGINNING = 400
"""Events at the beginning of a log that include its first request."""
LOOKED_AT = 60
"""Events at the end that are searched for the last report."""


class AgentsFound(NamedTuple):
    """All sessions, the last changed first."""

    sessions: list[AgentSession]
    running: frozenset[str]
    """The paths of the running ones."""
    held: frozenset[str] = frozenset()
    """The paths of those with a request waiting at a breakpoint."""


class PassedSession(NamedTuple):
    info: SessionInfo
    agent: str
    key: str
    """The client's own id of the session; empty if it sends none."""
    began: int
    """When its first request was sent, in milliseconds since 1970. The recorder may store it seconds later."""

    @property
    def listed(self) -> AgentSession:
        """The session in the form of an agent's, without its last report."""
        info = self.info
        return AgentSession(self.agent, info.id, info.folder, info.title, info.model, info.updated, passed=True)


def all_agents(services: Services, here: str) -> AgentsFound:
    """The sessions of all agents on this machine. `here`: the working folder."""
    processes = running_agents()
    files = with_process_folders(services.agents.find_sessions(here), processes)
    passed, now = passed_sessions(services), passing_now()
    return _joined(files, running_paths(files, processes), passed, now)


def running_now(services: Services, here: str) -> AgentsFound:
    """Only the running sessions. If no proxy runs and nobody writes the store, it is not even opened."""
    now = passing_now()
    files = running_sessions(services.agents, here)
    at = frozenset(each.path for each in files)
    passed = passed_sessions(services) if now else []
    found = _joined(files, at, passed, now)
    running = [each for each in found.sessions if each.path in found.running]
    writing = written_sessions(services)
    return AgentsFound(
        sorted((*running, *writing), key=lambda each: each.modified, reverse=True),
        found.running | {each.path for each in writing},
        found.held,
    )


def running_statuses(
    services: Services, reader: StatusReader, here: str, *, only_here: bool = False
) -> list[AgentStatus]:
    """The figures of the running agents, the last changed first."""
    sessions, _, held = running_now(services, here)
    chosen = [with_report(services, each) for each in sessions if each.is_in(here) or not only_here]
    return [replace(reader.read_status(each), held=each.path in held) for each in chosen]


def sessions_here(services: Services, here: str, since: int = 0) -> list[AgentSession]:
    """The sessions of a folder, the last changed first: from agents' files, from the proxy, and from the store.

    `since`: without those that did not change since then, in milliseconds since 1970.
    """
    files = services.agents.find_sessions(here, wanted=lambda _, stamp: stamp.changed // 1_000_000 >= since)
    if not all(each.folder for each in files):
        files = with_process_folders(files, running_agents())
    found = _joined(files, frozenset(), passed_sessions(services), passing_now()).sessions
    mine = [each for each in (*found, *stored_sessions(services, here)) if each.is_in(here) and each.modified >= since]
    return sorted(mine, key=lambda each: each.modified, reverse=True)


def passed_sessions(services: Services) -> list[PassedSession]:
    """The sessions that the proxy recorded, the last changed first, without those of sub-agents."""
    store = services.available_store()
    if store is None:
        return []
    infos = {info.id: info for info in store.list(MOST)}
    agents = {name: recorded_by(event) for name, event in store.first_events([*infos]).items()}
    asked = store.first_events([name for name, agent in agents.items() if agent], '"kind":"request"', BEGINNING)
    found = []
    for name, info in infos.items():
        first = asked.get(name)
        request = None if first is None else first.body
        if first is not None and isinstance(request, Request) and request.purpose != "sub-agent":
            found.append(PassedSession(info, agents[name], request.session, first.at))
    return found


def with_report(services: Services, session: AgentSession) -> AgentSession:
    """The session with the report on its last request, if that is in the store."""
    store = services.available_store() if session.is_stored else None
    if store is None:
        return session
    window = chosen_window(store, session) if session.own else 0
    events = store.session(session.path, write=False).last(LOOKED_AT)
    aside = {each.seq for each in events if isinstance(each.body, Request) and each.body.purpose not in TALK}
    for used in (each.body for each in reversed(events) if isinstance(each.body, Usage)):
        if used.prompt and used.request not in aside:
            report = LastReport(used.prompt, used.cached, used.completion, used.cost, used.model, window)
            return replace(session, report=report)
    return session


class PassingNow(NamedTuple):
    """A running proxy, and what it records."""

    sessions: Sequence[str]
    """The one that was used last is at the end."""
    held: frozenset[str]
    starts: bool
    """Whether the proxy started an agent, and ends with it."""


def passing_now() -> list[PassingNow]:
    """All proxies that answer."""
    found = []
    for proxy in control.running_proxies():
        with suppress(WorkbenchError):
            sessions = [each.session for each in control.policies_of(proxy)]
            held = frozenset(each.session for each in control.proxy_state_of(proxy).held)
            found.append(PassingNow(sessions, held, bool(proxy.agent)))
    return found


def _joined(
    files: Sequence[AgentSession], at: frozenset[str], passed: Sequence[PassedSession], now: Sequence[PassingNow]
) -> AgentsFound:
    """One list, with each conversation once."""
    written = {name for proxy in now for name in proxy.sessions}
    held = frozenset(name for proxy in now for name in proxy.held)
    running = {*at, *_running(passed, now)}
    left_out: set[str] = set()
    for each in passed:
        name, same = each.info.id, _same(each, files)
        for file in same:
            if name in written or file.modified <= each.info.updated + LATER:
                left_out.add(file.path)
                running |= {name} if file.path in at else set()
            else:
                left_out.add(name)
    found = [each for each in (*files, *(each.listed for each in passed)) if each.path not in left_out]
    found.sort(key=lambda each: each.modified, reverse=True)
    return AgentsFound(found, frozenset(running - left_out), held - left_out)


def _running(passed: Sequence[PassedSession], now: Iterable[PassingNow]) -> set[str]:
    """The session used last, for a proxy that ends with its agent, and those with a recent or held request."""
    since = time.time_ns() // 1_000_000 - QUIET
    lately = {each.info.id for each in passed if each.info.updated >= since}
    known = {each.info.id for each in passed}
    found: set[str] = set()
    for proxy in now:
        mine = [name for name in proxy.sessions if name in known]
        found |= {name for name in mine if name in lately or name in proxy.held}
        found |= {*mine[-1:]} if proxy.starts else set()
    return found


def _same(passed: PassedSession, files: Sequence[AgentSession]) -> list[AgentSession]:
    """The files of the same conversation: by the agent's own id, else by the folder, if known, and the beginning."""
    mine = [each for each in files if each.agent == passed.agent]
    by_id = [each for each in mine if passed.key and each.id == passed.key]
    if by_id:
        return by_id
    near = [each for each in mine if not each.folder or each.is_in(passed.info.folder)]
    return [each for each in near if _begin_alike(passed, each)][:1]


def _begin_alike(passed: PassedSession, file: AgentSession) -> bool:
    ours, its = (" ".join(title.split()) for title in (passed.info.title, file.title))
    return bool(ours and its) and (its.startswith(ours) or ours.startswith(its)) and file.modified >= passed.began
