"""An agent that runs is told by its command line and its folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from live.test_finder import SESSIONS, put
from support.waiting import WaitLimit
from workbench.live.finder import AgentSession, AgentSessionFinder
from workbench.live.processes import AgentProcess, agent_of, running_agents, running_paths, with_process_folders


@pytest.mark.parametrize(
    ("command", "agent"),
    [
        (("claude",), "Claude Code"),
        (("claude --resume 1",), "Claude Code"),
        (("/usr/bin/node", "--no-warnings", "/x/node_modules/@google/gemini-cli/bundle/index.mjs"), "Gemini CLI"),
        (("node", "/usr/local/bin/codex", "exec", "hi"), "Codex"),
        (("/x/node_modules/opencode-ai/bin/opencode", "run"), "opencode"),
        (("/usr/bin/python3.12", "/home/me/.local/bin/aider", "--model", "x"), "aider"),
        (("/x/bin/python", "/x/bin/mini", "-t", "mend it"), "mini-swe-agent"),
        (("python3", "mini.py"), ""),
        (("vim", "claude"), ""),
        (("node", "-e", "server.js"), ""),
        (("grep", "-r", "codex", "."), ""),
        (("/home/claude/bin/server",), ""),
        (("",), ""),
        ((), ""),
    ],
)
def test_an_agent_is_told_by_its_command_line(command: tuple[str, ...], agent: str) -> None:
    assert agent_of(command) == agent


@contextmanager
def running(program: Path, folder: Path) -> Iterator[None]:
    """A process that is called so and does nothing."""
    program.parent.mkdir(exist_ok=True)
    shutil.copy(shutil.which("sleep") or "", program)
    process = subprocess.Popen([program, "600"], cwd=folder)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def test_a_process_is_found_with_its_folder(tmp_path: Path) -> None:
    with running(tmp_path / "bin" / "codex", tmp_path):
        limit = WaitLimit()
        while not (here := [each for each in running_agents() if each.folder == os.path.realpath(tmp_path)]):
            assert not limit.is_over
        assert [each.agent for each in here] == ["Codex"]
    assert not [each for each in running_agents() if each.folder == os.path.realpath(tmp_path)]


def session(path: str, agent: str = "Codex", folder: str = "/a", modified: int = 10_000) -> AgentSession:
    return AgentSession(agent, path, folder, "", "", modified)


def test_each_process_runs_the_last_session_of_its_folder_that_changed_since_it_began() -> None:
    sessions = [
        session("new"),
        session("second", modified=9_000),
        session("third", modified=8_000),
        session("other folder", folder="/b"),
        session("other agent", agent="pi"),
        session("no folder", folder=""),
    ]
    one, two = AgentProcess("Codex", "/a", 5.0), AgentProcess("Codex", "/a", 4.0)
    assert running_paths(sessions, [one]) == {"new"}
    assert running_paths(sessions, [one, two]) == {"new", "second"}
    assert running_paths(sessions, [one._replace(started=11.0)]) == set()
    assert running_paths(sessions, []) == set()


def test_a_session_that_is_found_is_known_to_run(tmp_path: Path) -> None:
    path, lines = SESSIONS["Codex"]
    work = tmp_path / "work"
    work.mkdir()
    with running(tmp_path / "bin" / "codex", work):
        put(tmp_path / path, [{**lines[0], "payload": {**lines[0]["payload"], "cwd": str(work)}}, *lines[1:]])
        found = AgentSessionFinder({"HOME": str(tmp_path)}).find_sessions()
        assert running_paths(found, running_agents()) == {str(tmp_path / path)}


def test_a_session_that_does_not_say_its_folder_is_in_that_of_its_process() -> None:
    old, new = (
        AgentSession("mini-swe-agent", path, "", "", "", changed) for path, changed in (("a", 1000), ("b", 9000))
    )
    other = AgentSession("Codex", "c", "", "", "", 9000)
    process = AgentProcess("mini-swe-agent", "/srv/bakery", 5)
    sessions = with_process_folders([new, other, old], [process])
    assert [each.folder for each in sessions] == ["/srv/bakery", "", ""]
    assert running_paths(sessions, [process]) == {"b"}
    assert running_paths([new], [process]) == frozenset()
