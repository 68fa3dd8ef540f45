"""Which session an agent means by its own: what it says about itself, its process, and the folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import psutil
from msgspec import Struct

from workbench.config.folders import shown_folder
from workbench.config.foreign_files import open_regular_file, size_of
from workbench.config.text import counted, printable
from workbench.live.choosing import places_searched
from workbench.live.finder import AgentSession, AgentSessionFinder
from workbench.live.known_agents import AgentHome, agent_homes
from workbench.live.processes import agent_of
from workbench.live.stamps import FileStamp
from workbench.traces.references import split_ref

_SESSION_KEYS = ("threadId", "sessionId")
"""How Codex names its session in a call."""
_CALL_KEYS = ("claudecode/toolUseId", "callId")
"""How agents name a call: the same id is in the session's file."""
_SESSION_VARIABLES = ("CLAUDE_CODE_SESSION_ID",)
"""Where an agent names the session that it started its servers for."""
_END_BYTES = 1_000_000
"""How much of the end of a file is searched for the id of a call."""
_MOST_ANCESTORS = 12


class AgentAbove(Struct, frozen=True):
    """The agent that started this process."""

    agent: str
    folder: str
    started: float
    """Seconds since 1970."""
    homes: Mapping[str, str]
    """Its variables that say where agents keep their sessions. Some agents do not pass them on."""


class OwnSession(NamedTuple):
    """The session that an agent means, and how it was found."""

    session: AgentSession | None
    why: str
    """How it was chosen, or why there is none."""


def agent_above() -> AgentAbove | None:
    """The agent that started this process, perhaps through a shell or a launcher; None if it is no known one."""
    try:
        above = psutil.Process().parents()[:_MOST_ANCESTORS]
    except psutil.Error:
        return None
    for process in above:
        with suppress(psutil.Error, OSError):
            agent = agent_of(process.cmdline())
            if agent:
                return AgentAbove(agent, os.path.realpath(process.cwd()), process.create_time(), _homes(process))
    return None


def _homes(process: psutil.Process) -> dict[str, str]:
    names = {"HOME", *(home.variable for home in agent_homes() if home.variable)}
    try:
        return {name: value for name, value in process.environ().items() if name in names}
    except (psutil.Error, OSError):
        return {}


class OwnSessionFinder:
    """Finds the session of the agent that asks. An agent may begin another session, so each call is looked at."""

    def __init__(
        self, above: AgentAbove | None, here: str, more: Sequence[str] = (), environ: Mapping[str, str] = os.environ
    ) -> None:
        """`here`: the working folder. `more`: the user's own places of sessions."""
        self._above = above
        self._here = here
        self._named = tuple(environ[name] for name in _SESSION_VARIABLES if environ.get(name))
        self._finder = AgentSessionFinder({**environ, **(above.homes if above else {})}, more)

    def find_session(self, meta: Mapping[str, Any]) -> OwnSession:
        """The session of a call. `meta`: what the client says about the call."""
        found = self._sessions()
        named = _texts(meta, _SESSION_KEYS)
        for each in found:
            if each.id in named:
                return OwnSession(each, f"{each.agent} named it in the call")
        calls = [name.encode() for name in _texts(meta, _CALL_KEYS) if len(name) > 3]
        for each in found:
            if any(_ends_with_call(each, call) for call in calls):
                return OwnSession(each, "this call is in its file")
        for each in found:
            if each.id in self._named:
                return OwnSession(each, f"{each.agent} started this server for it")
        return self._newest(found)

    def _sessions(self) -> list[AgentSession]:
        """The sessions that may be meant, the last changed first."""
        above = self._above
        if above is None:
            return self._finder.find_sessions(self._here)

        def may_be(home: AgentHome, stamp: FileStamp) -> bool:
            return home.agent in ("", above.agent) and stamp.changed / 1e9 >= above.started

        return [each for each in self._finder.find_sessions(self._here, wanted=may_be) if each.agent == above.agent]

    def _newest(self, found: Sequence[AgentSession]) -> OwnSession:
        above = self._above
        folders = [self._here, *([above.folder] if above else [])]
        mine = [each for each in found if any(each.is_in(folder) for folder in folders)]
        if not mine:
            return OwnSession(None, self._missing())
        others = len(mine) - 1
        same = f"; {counted(others, 'other session')} here changed since then" if others and above else ""
        since = f"since this {above.agent} started{same}" if above else f"of {counted(len(mine), 'session')}"
        return OwnSession(mine[0], f"the last one written in this folder, {since}")

    def _missing(self) -> str:
        folder, above = printable(shown_folder(self._here)), self._above
        if above is not None:
            return (
                f"no session of {above.agent} in {folder} has been written since it started; it may not have written "
                "anything yet. Ask again later, or name one: workbench mcp serve --session FILE"
            )
        return (
            f"no session of a known agent in {folder}; looked in {places_searched()}. Name one: "
            "workbench mcp serve --session FILE"
        )


def _texts(meta: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    return [value for key in keys if isinstance(value := meta.get(key), str) and value]


def _ends_with_call(session: AgentSession, call: bytes) -> bool:
    path, _ = split_ref(session.path)
    if path.endswith(".db"):
        return False
    try:
        with open_regular_file(path) as file:
            file.seek(max(0, size_of(file) - _END_BYTES))
            return call in file.read(_END_BYTES)
    except OSError:
        return False
