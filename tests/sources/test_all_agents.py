"""The sessions of all agents: their own files, and what passed the proxy."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.test_finder import put
from proxy.conftest import Recording, answered, claude, said, user
from workbench.config.folders import work_folder
from workbench.sources.all_agents import LATER, AgentsFound, all_agents, with_report
from workbench.sources.services import Services
from workbench.traces import mini_swe_agent

OWN = "11111111-2222-3333-4444-555555555555"
FROM_CLAUDE = {"User-Agent": "claude-cli/2.1", "X-Claude-Code-Session-Id": OWN}


@pytest.fixture
def services(project: Path) -> Iterator[Services]:
    assert project.is_dir()
    with Services() as made:
        yield made


def record(services: Services, *words: str, client: str = "oa.py", headers: dict[str, str] | None = None) -> None:
    """One session for each of these beginnings."""
    recording = Recording(services.store, client=client, folder=work_folder())
    for each in words:
        recording.pass_through("/v1/messages", claude(user(each)), answered(said("done")), headers)
    recording.sessions.close()


def write(tmp_path: Path, project: Path, agent: str, words: str, seconds: float = 0) -> str:
    """A file of an agent, changed so many seconds from now."""
    message = {"role": "user", "content": words}
    if agent == "claude":
        line = {"type": "user", "cwd": str(project), "sessionId": OWN, "message": message}
        path = put(tmp_path / f"home/.claude/projects/-x/{OWN}.jsonl", json.dumps(line))
    else:
        first = {"type": "session", "version": 3, "id": "s", "cwd": str(project)}
        lines = (first, {"type": "message", "message": message})
        path = put(tmp_path / "home/.pi/agent/sessions/-x/1.jsonl", "\n".join(map(json.dumps, lines)))
    os.utime(path, (time.time() + seconds,) * 2)
    return str(path)


def listed(found: AgentsFound) -> list[tuple[str, str, bool]]:
    return sorted((each.agent, each.title, each.passed) for each in found.sessions)


def test_an_agent_of_ones_own_is_listed_as_its_requests_say(services: Services, project: Path) -> None:
    record(services, "run ls")
    [found] = all_agents(services, str(project)).sessions
    assert (found.agent, found.title, found.folder) == ("oa.py", "run ls", str(project))
    assert found.ref == found.id == services.store.list()[0].id
    reported = with_report(services, found).report
    assert reported is not None
    assert (reported.prompt, reported.cached, reported.completion) == (80, 30, 7)


def test_a_conversation_in_a_file_and_from_the_proxy_is_one(tmp_path: Path, services: Services, project: Path) -> None:
    record(services, "look around", headers=FROM_CLAUDE)
    write(tmp_path, project, "claude", "a title of its own")
    assert listed(all_agents(services, str(project))) == [("Claude Code", "look around", True)]
    write(tmp_path, project, "claude", "a title of its own", LATER / 1000 + 60)
    assert listed(all_agents(services, str(project))) == [("Claude Code", "a title of its own", False)]


def test_one_that_sends_no_id_is_known_by_folder_and_first_words(
    tmp_path: Path, services: Services, project: Path
) -> None:
    record(services, "list src", client="pi")
    write(tmp_path, project, "pi", "list src")
    assert listed(all_agents(services, str(project))) == [("pi", "list src", True)]
    write(tmp_path, project, "pi", "something else")
    assert listed(all_agents(services, str(project))) == [("pi", "list src", True), ("pi", "something else", False)]
    write(tmp_path, tmp_path, "pi", "list src")
    assert listed(all_agents(services, str(project))) == [("pi", "list src", False), ("pi", "list src", True)]


def test_what_was_recorded_late_is_known_by_when_it_was_sent(tmp_path: Path, services: Services, project: Path) -> None:
    recording = Recording(services.store, client="pi", folder=work_folder())
    sent = time.time_ns() // 1_000_000 - 20_000
    recording.answer(recording.send("/v1/messages", claude(user("list src")), at=sent), answered(said("done")))
    recording.sessions.close()
    write(tmp_path, project, "pi", "list src", -10)
    assert listed(all_agents(services, str(project))) == [("pi", "list src", True)]
    write(tmp_path, project, "pi", "list src", -30)  # an earlier run with the same words
    assert listed(all_agents(services, str(project))) == [("pi", "list src", False), ("pi", "list src", True)]


def test_a_sub_agent_belongs_to_another(services: Services, project: Path) -> None:
    record(services, "look around", headers=FROM_CLAUDE)
    record(services, "do a part of it", headers={**FROM_CLAUDE, "X-Claude-Code-Agent-Id": "a1"})
    assert len(services.store.list()) == 2
    assert listed(all_agents(services, str(project))) == [("Claude Code", "look around", True)]


def test_what_we_said_ourselves_is_no_agents(services: Services, project: Path) -> None:
    services.store.create([], title="our own").close()
    assert all_agents(services, str(project)).sessions == []


def test_a_run_of_mini_swe_agent_is_listed_once_though_its_file_names_no_folder(
    tmp_path: Path, services: Services, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    asked = "Please solve this issue: look around here\n\nYou can execute commands."
    record(services, asked, client=mini_swe_agent.NAME)
    trajectory = {
        "messages": [{"role": "system", "content": "x"}, {"role": "user", "content": asked}],
        "info": {"config": {"model": {"model_name": "m"}}},
        "trajectory_format": "mini-swe-agent-1",
    }
    path = tmp_path / "home/.config/mini-swe-agent/last_mini_run.traj.json"
    put(path, json.dumps(trajectory, indent=2))
    os.utime(path, (time.time() + 5,) * 2)
    assert listed(all_agents(services, str(project))) == [
        ("mini-swe-agent", "look around here You can execute commands.", True)
    ]
