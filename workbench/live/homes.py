"""Where other agents keep their sessions on this machine, by their own rules."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape, iglob
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from workbench.config.tables import Table
from workbench.traces import (
    aider,
    amp,
    claude_code,
    codex,
    continue_dev,
    copilot,
    cursor,
    droid,
    gemini_cli,
    grok,
    hermes,
    kimi,
    llm,
    mini_swe_agent,
    opencode,
    pi,
    qwen,
    windsurf,
)


class AgentPlaces(Table, frozen=True):
    """`[agents]` of the user's settings."""

    paths: Annotated[
        tuple[str, ...],
        Meta(description='a list of folders and patterns such as ["/mnt/box/.claude", "~/runs/*.jsonl"]'),
    ] = ()
    """More homes of agents, and patterns of transcripts."""


@dataclass(frozen=True, slots=True)
class AgentHome:
    """One agent's sessions."""

    agent: str
    """The name of the transcript's format."""
    variable: str
    """The environment variable that names another home; empty: none."""
    inside: str
    """The path from the variable's folder to the sessions."""
    default: str
    """The home without the variable, relative to the user's."""
    pattern: str
    """The files, one for each session; for a database, the file."""
    folder_file: str = ""
    """The file that names a session's folder, relative to the session, for formats that do not have it inside."""
    is_here: bool = False
    """Whether its files are in the working folder."""


_SETTINGS = "Library/Application Support" if sys.platform == "darwin" else ".config"
_MINI = f"{_SETTINGS}/{mini_swe_agent.NAME}"
HOMES = (
    AgentHome(claude_code.NAME, "CLAUDE_CONFIG_DIR", "", ".claude", "projects/*/*.jsonl"),
    AgentHome(codex.NAME, "CODEX_HOME", "", ".codex", "sessions/*/*/*/rollout-*.jsonl"),
    AgentHome(
        gemini_cli.NAME, "GEMINI_CLI_HOME", ".gemini", ".gemini", "tmp/*/chats/session-*.json*", "../.project_root"
    ),
    AgentHome(opencode.NAME, "XDG_DATA_HOME", "opencode", ".local/share/opencode", "opencode.db"),
    AgentHome(pi.NAME, "PI_CODING_AGENT_DIR", "", ".pi/agent", "sessions/*/*.jsonl"),
    AgentHome(qwen.NAME, "QWEN_HOME", "", ".qwen", "projects/*/chats/*.jsonl"),
    AgentHome(copilot.NAME, "COPILOT_HOME", "", ".copilot", "session-state/*/events.jsonl"),
    AgentHome(kimi.NAME, "KIMI_CODE_HOME", "", ".kimi-code", "sessions/*/*/agents/main/wire.jsonl", "../../state.json"),
    AgentHome(continue_dev.NAME, "CONTINUE_GLOBAL_DIR", "", ".continue", "sessions/*-*.json"),
    AgentHome(amp.NAME, "XDG_DATA_HOME", "amp", ".local/share/amp", "threads/T-*.json"),
    AgentHome(cursor.NAME, "", "", ".cursor", "projects/*/agent-transcripts/**/*.jsonl"),
    AgentHome(droid.NAME, "", "", ".factory", "sessions/**/*.jsonl"),
    AgentHome(grok.NAME, "", "", ".grok", "sessions/*/*/chat_history.jsonl"),
    AgentHome(hermes.NAME, "HERMES_HOME", "", ".hermes", "sessions/session_*.json"),
    AgentHome(windsurf.NAME, "", "", ".windsurf", "transcripts/*.jsonl"),
    # OpenClaw runs pi, and keeps sessions of pi's form.
    AgentHome(pi.NAME, "OPENCLAW_STATE_DIR", "", ".openclaw", "agents/*/sessions/*.jsonl"),
    AgentHome(llm.NAME, "LLM_USER_PATH", "", f"{_SETTINGS}/io.datasette.llm", "logs.db"),
    AgentHome(mini_swe_agent.NAME, "MSWEA_GLOBAL_CONFIG_DIR", "", _MINI, "*.traj.json"),
    AgentHome(mini_swe_agent.NAME, "XDG_CONFIG_HOME", mini_swe_agent.NAME, _MINI, "*.traj.json"),
)
SUB_AGENT = "agent-"
"""How file names of sub-agents begin. Older versions of Claude Code keep them next to the sessions."""


ANY = AgentHome("", "", "", "", "")
"""For a file of any agent: the content says which."""
HERE = (
    replace(ANY, agent=aider.NAME, pattern=".aider.chat.history.md", is_here=True),
    replace(ANY, agent=mini_swe_agent.NAME, pattern="*.traj.json", is_here=True),
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
            if path not in seen and not os.path.basename(path).startswith(SUB_AGENT):
                seen.add(path)
                yield home, path


def _patterns(environ: Mapping[str, str], user: Path) -> Iterator[tuple[AgentHome, str]]:
    for home in HOMES:
        named = environ.get(home.variable, "")
        root = Path(named).expanduser() / home.inside if named else user / home.default
        yield home, f"{escape(str(root))}/{home.pattern}"


def _more_patterns(user: Path, more: Sequence[str]) -> Iterator[tuple[AgentHome, str]]:
    for each in more:
        path = os.path.join(user, each.replace("~", str(user), 1) if each.startswith("~/") else each)
        if os.path.isdir(path):
            yield from ((home, f"{escape(path)}/{home.pattern}") for home in HOMES)
        else:
            yield ANY, path
