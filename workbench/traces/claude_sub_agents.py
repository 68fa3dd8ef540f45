"""The sub-agents of Claude Code with files of their own, and their requests.

- Next to the session `ID.jsonl` is `ID/subagents/agent-AGENT.jsonl`, with lines like the session's that are marked
  `isSidechain` and name the `agentId`. `agent-AGENT.meta.json` next to it has the `agentType`, as some lines do under
  `attributionAgent`.
- `acompact-` and the like before an id: requests of Claude Code itself. Such a file may begin with a copy of the
  session; its replies have the ids of the session's, so that they are not counted twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from workbench.config.errors import WrongCall
from workbench.config.foreign_files import read_regular_file
from workbench.log.events import Purpose, Request
from workbench.traces.claude_fields import SessionLine, SessionMessage, line_of_value
from workbench.traces.claude_sub_agent_files import AFTER, BEFORE, claude_sub_agent_files
from workbench.traces.companion_files import read_files
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.values import text_in

_ABOUT = ".meta.json"
_SMALL = 65_536
"""Bytes of the file about a sub-agent."""
_COMPACTS = "acompact-"


class SubAgentFiles(NamedTuple):
    """The content of the files of a session's sub-agents."""

    lines: tuple[list[SessionLine], ...] = ()
    """By file."""
    kinds: Mapping[str, str] = MappingProxyType({})
    """The kind of each sub-agent, if a file names it."""
    broken: tuple[WrongCall, ...] = ()
    """What could not be read."""


class SubAgentRequest(NamedTuple):
    """A request of a sub-agent, as the session records it."""

    request: Request
    usage: dict[str, Any]
    """As the provider reported it; empty if not recorded."""
    timestamp: Any


def read_claude_sub_agents(path: str, sessions: Sequence[str]) -> SubAgentFiles:
    """Read these files; a line that names none of the file's `sessions` belongs to the first."""
    lines: list[list[SessionLine]] = []
    kinds: dict[str, str] = {}
    inside = os.path.dirname(path) or "."
    documents, broken = read_files(claude_sub_agent_files(path), inside)
    for document in documents:
        agent = os.path.basename(document.name).removeprefix(BEFORE).removesuffix(AFTER)
        values = (each.value for each in document.values)
        lines.append([_as_sub_agents(value, agent, sessions) for value in values if isinstance(value, dict)])
        kinds[agent] = _kind(document.name, inside)
    return SubAgentFiles(tuple(lines), kinds, tuple(broken))


def _as_sub_agents(value: dict[str, Any], agent: str, sessions: Sequence[str]) -> SessionLine:
    named = text_in(value, "sessionId")
    session = named if named in sessions or not sessions else sessions[0]
    about = {"isSidechain": True, "agentId": text_in(value, "agentId") or agent, "sessionId": session}
    return line_of_value({**value, **about})


def _kind(file: str, folder: str) -> str:
    about = file.removesuffix(AFTER) + _ABOUT
    try:
        known = json.loads(read_regular_file(about, _SMALL, inside=folder))
    except (OSError, ValueError, RecursionError):
        return ""
    return text_in(known, "agentType")


def lines_in_time(session: Iterable[SessionLine], sub_agents: Iterable[Iterable[SessionLine]]) -> Iterator[SessionLine]:
    """The lines of all files ordered by time, the session's first; those of one file keep their order."""
    own = iter(session)
    yield from islice(own, 1)
    for _, line in merge(_timed(own), *map(_timed, sub_agents), key=itemgetter(0)):
        yield line


def _timed(lines: Iterable[SessionLine]) -> Iterator[tuple[int, SessionLine]]:
    at = 0
    for line in lines:
        at = max(at, epoch_milliseconds(line.timestamp))
        yield at, line


def requests_in(lines: Iterable[SessionLine], kinds: dict[str, str]) -> dict[int, SubAgentRequest]:
    """The requests of sub-agents, each by the index of the last line of its reply."""
    own: set[str] = set()
    last: dict[str, tuple[int, SessionLine, SessionMessage]] = {}
    usages: dict[str, dict[str, Any]] = {}
    for at, line in enumerate(lines):
        if line.type != "assistant" or line.is_error:
            continue
        message = line.message or SessionMessage()
        reply = message.id or line.uuid
        if not line.is_sub_agents:
            own.add(reply)
        elif message.model != "<synthetic>":
            last[reply] = (at, line, message)
            usages[reply] = message.usage or usages.get(reply, {})
    found = ((reply, each) for reply, each in last.items() if reply not in own)
    return {at: _request(line, message.model, usages[reply], kinds) for reply, (at, line, message) in found}


def _request(line: SessionLine, model: str, usage: dict[str, Any], kinds: dict[str, str]) -> SubAgentRequest:
    agent, session = line.agent_name, line.session or line.printed_session
    purpose: Purpose = "compaction" if agent.startswith(_COMPACTS) else "sub-agent"
    kind = kinds.get(agent, "")
    asked = Request("anthropic", model, purpose, agent, session, session if agent else "", name=kind)
    return SubAgentRequest(asked, usage, line.timestamp)
