"""Which agents run on this machine, and in which folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple

import psutil

from workbench.config.values import replace
from workbench.live.finder import AgentSession
from workbench.live.known_agents import agent_programs
from workbench.traces import format_names

_RUNNERS = ("node", "bun", "deno", "python", "python3", "uv", "uvx", "npx", "env", "sh", "bash")
"""Programs that run another one, named by their first argument."""


class AgentProcess(NamedTuple):
    agent: str
    folder: str
    started: float
    """Seconds since 1970."""


def running_agents() -> list[AgentProcess]:
    """The agents that run as this user. Processes of other users are not visible."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "create_time"]):
        agent = agent_of(process.info["cmdline"] or ())
        if agent and process.info["cwd"]:
            found.append(AgentProcess(agent, os.path.realpath(process.info["cwd"]), process.info["create_time"]))
    return found


def program_running(pid: int) -> str:
    """The program of a process, by file name, as `bot.py`; empty if there is no such process."""
    try:
        return program_of(psutil.Process(pid).cmdline())
    except (psutil.Error, OSError, ValueError):
        return ""


def with_process_folders(sessions: Sequence[AgentSession], processes: Sequence[AgentProcess]) -> list[AgentSession]:
    """The sessions, with the folder of the running process for agents that do not record theirs."""
    found = list(sessions)
    for process in (each for each in processes if each.agent == format_names.MINI_SWE_AGENT):
        for at, session in enumerate(found):
            if session.agent == process.agent and session.modified / 1000 >= process.started and not session.folder:
                found[at] = replace(session, folder=process.folder)
                break
    return found


def running_paths(sessions: Sequence[AgentSession], processes: Sequence[AgentProcess]) -> frozenset[str]:
    """The paths of the running sessions: for each process, the last one changed in its folder since it started."""
    found: set[str] = set()
    folders = {each.path: os.path.realpath(each.folder) for each in sessions if each.folder}
    for process in sorted(processes, key=lambda each: each.started, reverse=True):
        for session in sessions:
            begun = session.modified / 1000 >= process.started
            mine = session.agent == process.agent and folders.get(session.path) == process.folder
            if begun and mine and session.path not in found:
                found.add(session.path)
                break
    return frozenset(found)


def agent_of(command: Sequence[str]) -> str:
    """The agent that a command line starts; empty if unknown."""
    programs = agent_programs()
    for path in _programs(command):
        # A user's script may have the name of an agent; agents' own scripts do not end in .py.
        folders, name = PurePath(path).parts[:-1], PurePath(path).stem if not path.endswith(".py") else ""
        # The script of a package may be called anything, as in `node_modules/@scope/package/bin/cli.js`.
        packaged = (programs.get(part, "") for part in reversed(folders) if "node_modules" in folders)
        known = programs.get(name) or next((agent for agent in packaged if agent), "")
        if known:
            return known
    return ""


def program_of(command: Sequence[str]) -> str:
    """The program of a command line, by file name; if it runs a script, the script."""
    names = [PurePath(path).name for path in _programs(command)]
    return next((name for name in reversed(names) if name and " " not in name and name.isprintable()), "")


def _programs(command: Sequence[str]) -> Iterable[str]:
    """The program and, if it is an interpreter, its script. A process title may hold all in one text."""
    words = command[0].split(" ") if len(command) == 1 else command
    if not words or not words[0]:
        return
    yield words[0]
    if PurePath(words[0]).name.rstrip("0123456789.") in _RUNNERS:
        yield from [word for word in words[1:] if word and not word.startswith("-")][:1]
