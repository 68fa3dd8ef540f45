"""The agents that are known: where they keep their sessions, how their programs are called, how they are started.

Ours and those of plug-ins are in one registry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from workbench.config.plugins import PluginRegistry
from workbench.config.tables import shown_value
from workbench.live.agent_starts import AgentStart, codex_start, copilot_start, gemini_start, opencode_start, pi_start
from workbench.traces import format_names


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


class KnownAgent(NamedTuple):
    name: str
    """The name of the format of its transcripts."""
    homes: tuple[AgentHome, ...] = ()
    programs: tuple[str, ...] = ()
    """The names of its programs and packages."""
    start: Callable[[str, Path], AgentStart] | None = None
    """How it is led through the proxy, by the proxy's address and a folder for files; None: it reads the usual
    variables."""
    silence: str = ""
    """Why none of its requests may have passed the proxy; empty: for the usual reasons."""


def _checked_agent(name: str, value: Any) -> KnownAgent:
    if not isinstance(value, KnownAgent) or not isinstance(value.name, str):
        raise TypeError(f"expected a KnownAgent, got {shown_value(value)}")
    for home in value.homes:
        if not isinstance(home, AgentHome) or home.agent != value.name:
            raise TypeError(f"homes: expected an AgentHome of {value.name}, got {shown_value(home)}")
        if home.is_here or not home.pattern:
            raise ValueError("homes: expected a folder of the agent's own with a pattern of files")
    if not isinstance(value.programs, tuple) or not all(isinstance(each, str) and each for each in value.programs):
        raise TypeError(f"programs: expected a tuple of names, got {shown_value(value.programs)}")
    if value.start is not None and not callable(value.start):
        raise TypeError(f"start: expected a function, got {shown_value(value.start)}")
    return value


AGENTS: PluginRegistry[KnownAgent] = PluginRegistry("agents", _checked_agent)


_SETTINGS = "Library/Application Support" if sys.platform == "darwin" else ".config"
_MINI = f"{_SETTINGS}/{format_names.MINI_SWE_AGENT}"
_OWN = (
    KnownAgent(
        format_names.CLAUDE_CODE,
        (AgentHome(format_names.CLAUDE_CODE, "CLAUDE_CONFIG_DIR", "", ".claude", "projects/*/*.jsonl"),),
        ("claude", "claude-code"),
    ),
    KnownAgent(
        format_names.CODEX,
        (AgentHome(format_names.CODEX, "CODEX_HOME", "", ".codex", "sessions/*/*/*/rollout-*.jsonl"),),
        ("codex",),
        codex_start,
    ),
    KnownAgent(
        format_names.GEMINI_CLI,
        (
            AgentHome(
                format_names.GEMINI_CLI,
                "GEMINI_CLI_HOME",
                ".gemini",
                ".gemini",
                "tmp/*/chats/session-*.json*",
                "../.project_root",
            ),
        ),
        ("gemini", "gemini-cli"),
        gemini_start,
        "with a Google login it talks to another service, which passes with --tls; with a key its requests pass here",
    ),
    KnownAgent(
        format_names.OPENCODE,
        (AgentHome(format_names.OPENCODE, "XDG_DATA_HOME", "opencode", ".local/share/opencode", "opencode.db"),),
        ("opencode",),
        opencode_start,
    ),
    KnownAgent(
        format_names.PI,
        (
            AgentHome(format_names.PI, "PI_CODING_AGENT_DIR", "", ".pi/agent", "sessions/*/*.jsonl"),
            # OpenClaw runs pi, and keeps sessions of pi's form.
            AgentHome(format_names.PI, "OPENCLAW_STATE_DIR", "", ".openclaw", "agents/*/sessions/*.jsonl"),
        ),
        ("pi", "pi-coding-agent"),
        pi_start,
    ),
    KnownAgent(
        format_names.QWEN,
        (AgentHome(format_names.QWEN, "QWEN_HOME", "", ".qwen", "projects/*/chats/*.jsonl"),),
        ("qwen", "qwen-code"),
    ),
    KnownAgent(
        format_names.COPILOT,
        (AgentHome(format_names.COPILOT, "COPILOT_HOME", "", ".copilot", "session-state/*/events.jsonl"),),
        ("copilot",),
        copilot_start,
    ),
    KnownAgent(
        format_names.KIMI,
        (
            AgentHome(
                format_names.KIMI,
                "KIMI_CODE_HOME",
                "",
                ".kimi-code",
                "sessions/*/*/agents/main/wire.jsonl",
                "../../state.json",
            ),
        ),
        ("kimi", "kimi-code"),
        silence="a login of Kimi Code keeps its address, which passes with --tls; with a key its requests pass here",
    ),
    KnownAgent(
        format_names.CONTINUE_DEV,
        (AgentHome(format_names.CONTINUE_DEV, "CONTINUE_GLOBAL_DIR", "", ".continue", "sessions/*-*.json"),),
        ("cn",),
    ),
    KnownAgent(
        format_names.AMP, (AgentHome(format_names.AMP, "XDG_DATA_HOME", "amp", ".local/share/amp", "threads/T-*.json"),)
    ),
    KnownAgent(
        format_names.CURSOR,
        (AgentHome(format_names.CURSOR, "", "", ".cursor", "projects/*/agent-transcripts/**/*.jsonl"),),
    ),
    KnownAgent(format_names.DROID, (AgentHome(format_names.DROID, "", "", ".factory", "sessions/**/*.jsonl"),)),
    KnownAgent(format_names.GROK, (AgentHome(format_names.GROK, "", "", ".grok", "sessions/*/*/chat_history.jsonl"),)),
    KnownAgent(
        format_names.HERMES, (AgentHome(format_names.HERMES, "HERMES_HOME", "", ".hermes", "sessions/session_*.json"),)
    ),
    KnownAgent(format_names.WINDSURF, (AgentHome(format_names.WINDSURF, "", "", ".windsurf", "transcripts/*.jsonl"),)),
    KnownAgent(
        format_names.LLM,
        (AgentHome(format_names.LLM, "LLM_USER_PATH", "", f"{_SETTINGS}/io.datasette.llm", "logs.db"),),
    ),
    KnownAgent(
        format_names.MINI_SWE_AGENT,
        (
            AgentHome(format_names.MINI_SWE_AGENT, "MSWEA_GLOBAL_CONFIG_DIR", "", _MINI, "*.traj.json"),
            AgentHome(
                format_names.MINI_SWE_AGENT, "XDG_CONFIG_HOME", format_names.MINI_SWE_AGENT, _MINI, "*.traj.json"
            ),
        ),
        ("mini", "mini-swe-agent"),
    ),
    KnownAgent(format_names.AIDER, programs=("aider",)),
)
for _agent in _OWN:
    AGENTS.register(_agent.name, _agent)
_OWN_PROGRAMS: Mapping[str, str] = {program: agent.name for agent in _OWN for program in agent.programs}


def agent_homes() -> Iterator[AgentHome]:
    """Where agents keep their sessions."""
    return (home for agent in AGENTS for home in agent.homes)


def agent_programs() -> Mapping[str, str]:
    """Agents by the names of their programs and packages. A plug-in's cannot take the name of one of ours."""
    foreign = {program: agent.name for agent in AGENTS.plugins().values() for program in agent.programs}
    return {**foreign, **_OWN_PROGRAMS}


def start_of(agent: str, address: str, folder: Path) -> AgentStart:
    """What an agent is started with so that its requests pass the proxy."""
    known = AGENTS.find_named(agent)
    start = None if known is None else known.start
    if start is None:
        return AgentStart()
    return AGENTS.guarded(agent, lambda: _checked_start(start(address, folder)), AgentStart())


def _checked_start(made: AgentStart) -> AgentStart:
    texts = [*made.arguments, *made.environment, *made.environment.values()]
    if not isinstance(made, AgentStart) or not all(isinstance(each, str) for each in texts):
        raise TypeError(f"start: expected an AgentStart with texts, got {shown_value(made)}")
    return made
