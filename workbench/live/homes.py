"""Where other agents keep their sessions on this machine, by their own rules."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from glob import escape, iglob
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from workbench.config.tables import Table
from workbench.config.values import replace
from workbench.live.known_agents import AgentHome, agent_homes
from workbench.traces import format_names


class AgentPlaces(Table, frozen=True):
    """`[agents]` of the user's settings."""

    paths: Annotated[
        tuple[str, ...],
        Meta(description='a list of folders and patterns such as ["/mnt/box/.claude", "~/runs/*.jsonl"]'),
    ] = ()
    """More homes of agents, and patterns of transcripts."""


SUB_AGENT = "agent-"
"""How the names of Claude Code's sub-agents begin. Older versions keep them next to the sessions."""


ANY = AgentHome("", "", "", "", "")
"""For a file of any agent: the content says which."""
HERE = (
    replace(ANY, agent=format_names.AIDER, pattern=".aider.chat.history.md", is_here=True),
    replace(ANY, agent=format_names.MINI_SWE_AGENT, pattern="*.traj.json", is_here=True),
)
"""Agents that write into their working folder, or can be set to do so."""


def session_files(environ: Mapping[str, str], here: str, more: Sequence[str]) -> Iterator[tuple[AgentHome, str]]:
    """All files that may be sessions, each once. A home that does not exist costs one check.

    `here`: the working folder. `more`: homes of agents, and patterns of files.
    """
    user = Path(environ.get("HOME") or os.path.expanduser("~"))
    seen = set()
    inside = [(home, f"{escape(here)}/{home.pattern}") for home in HERE if here]
    for home, pattern in [*_patterns(environ, user), *inside, *_more_patterns(user, more)]:
        for path in iglob(pattern, recursive=True):
            if path not in seen:
                seen.add(path)
                if home.agent != format_names.CLAUDE_CODE or not os.path.basename(path).startswith(SUB_AGENT):
                    yield home, path


def _patterns(environ: Mapping[str, str], user: Path) -> Iterator[tuple[AgentHome, str]]:
    for home in agent_homes():
        named = environ.get(home.variable, "")
        root = Path(os.path.expanduser(named), home.inside) if named else user / home.default
        yield home, f"{escape(str(root))}/{home.pattern}"


def _more_patterns(user: Path, more: Sequence[str]) -> Iterator[tuple[AgentHome, str]]:
    for each in more:
        path = os.path.join(user, each.replace("~", str(user), 1) if each.startswith("~/") else each)
        if os.path.isdir(path):
            yield from ((home, f"{escape(path)}/{home.pattern}") for home in agent_homes())
        else:
            yield ANY, path
