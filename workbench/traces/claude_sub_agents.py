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
from workbench.traces.claude_sub_agent_files import AFTER, BEFORE, claude_sub_agent_files
from workbench.traces.companion_files import read_files
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.values import dict_in, text_in

_ABOUT = ".meta.json"
_SMALL = 65_536
"""Bytes of the file about a sub-agent."""
_COMPACTS = "acompact-"


class SubAgentFiles(NamedTuple):
    """The content of the files of a session's sub-agents."""

    lines: tuple[list[dict[str, Any]], ...] = ()
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
    lines: list[list[dict[str, Any]]] = []
    kinds: dict[str, str] = {}
    inside = os.path.dirname(path) or "."
    documents, broken = read_files(claude_sub_agent_files(path), inside)
    for document in documents:
        agent = os.path.basename(document.name).removeprefix(BEFORE).removesuffix(AFTER)
        values = (each.value for each in document.values)
        lines.append([_as_sub_agents(value, agent, sessions) for value in values if isinstance(value, dict)])
        kinds[agent] = _kind(document.name, inside)
    return SubAgentFiles(tuple(lines), kinds, tuple(broken))


def _as_sub_agents(value: dict[str, Any], agent: str, sessions: Sequence[str]) -> dict[str, Any]:
    named = text_in(value, "sessionId")
    session = named if named in sessions or not sessions else sessions[0]
    return {**value, "isSidechain": True, "agentId": text_in(value, "agentId") or agent, "sessionId": session}


def _kind(file: str, folder: str) -> str:
    about = file.removesuffix(AFTER) + _ABOUT
    try:
        known = json.loads(read_regular_file(about, _SMALL, inside=folder))
    except (OSError, ValueError, RecursionError):
        return ""
    return text_in(known, "agentType")


def lines_in_time(session: Iterable[Any], sub_agents: Iterable[Iterable[Any]]) -> Iterator[Any]:
    """The lines of all files ordered by time, the session's first; those of one file keep their order."""
    own = iter(session)
    yield from islice(own, 1)
    for _, value in merge(_timed(own), *map(_timed, sub_agents), key=itemgetter(0)):
        yield value


def _timed(values: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    at = 0
    for value in values:
        at = max(at, epoch_milliseconds(value.get("timestamp")) if isinstance(value, dict) else 0)
        yield at, value


def is_of_sub_agent(value: Any) -> bool:
    """Whether a line is a sub-agent's."""
    return isinstance(value, dict) and bool(value.get("isSidechain") or value.get("parent_tool_use_id"))


def requests_in(lines: Iterable[Any], kinds: dict[str, str]) -> dict[int, SubAgentRequest]:
    """The requests of sub-agents, each by the index of the last line of its reply."""
    own: set[str] = set()
    last: dict[str, tuple[int, dict[str, Any]]] = {}
    usages: dict[str, dict[str, Any]] = {}
    for at, value in enumerate(lines):
        message = dict_in(value, "message")
        if text_in(value, "type") != "assistant" or value.get("isApiErrorMessage"):
            continue
        reply = text_in(message, "id") or text_in(value, "uuid")
        if not is_of_sub_agent(value):
            own.add(reply)
        elif text_in(message, "model") != "<synthetic>":
            last[reply] = (at, value)
            usages[reply] = dict_in(message, "usage") or usages.get(reply, {})
    return {at: _request(value, usages[reply], kinds) for reply, (at, value) in last.items() if reply not in own}


def _request(value: dict[str, Any], usage: dict[str, Any], kinds: dict[str, str]) -> SubAgentRequest:
    agent = text_in(value, "agentId") or text_in(value, "parent_tool_use_id")
    session = text_in(value, "sessionId") or text_in(value, "session_id")
    purpose: Purpose = "compaction" if agent.startswith(_COMPACTS) else "sub-agent"
    model, kind = text_in(dict_in(value, "message"), "model"), kinds.get(agent, "")
    asked = Request("anthropic", model, purpose, agent, session, session if agent else "", name=kind)
    return SubAgentRequest(asked, usage, value.get("timestamp"))
