"""The agents that run, a lane each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shutil import which
from subprocess import Popen

import pytest

from live.test_finder import put
from session.test_following import claude, lines
from session.test_looking import LibraryAgent
from tui.play import program, shown, until
from tui.screens.looking import listed, look, narrowed, seen, values
from workbench.sources.services import Services
from workbench.tui.screens import lanes
from workbench.views.values import FOLLOWING

NAME = "\x1b]0;evil\x07[b]bake"


@pytest.fixture
def session(tmp_path: Path, project: Path) -> Iterator[Path]:
    """A process that is called `claude` works in the project."""
    path = tmp_path / "home/.claude/projects/-p/11111111-2222-3333-4444-555555555555.jsonl"
    with Popen(["claude", "600"], executable=which("sleep"), cwd=project) as process:
        put(path, turn(project, 1, 30_000).decode())
        yield path
        process.kill()


def turn(project: Path, number: int, tokens: int) -> bytes:
    asked, answered = claude(number, NAME, input_tokens=tokens, output_tokens=9)
    call = {"type": "tool_use", "id": f"t{number}", "name": f"Read{number}", "input": {}}
    answered["message"]["content"] = [call]
    return lines({**asked, "cwd": str(project)}, {**answered, "cwd": str(project)})


async def test_agents_have_lanes_that_change_while_they_work_and_enter_opens_one(
    services: Services, session: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "CHECK_SECONDS", 0.05)
    agent = LibraryAgent()
    agent.add("go")
    written: list[str] = []
    async with program(services, (80, 24), lanes=True, notify=("bell",)) as (pilot, screen):
        finder = await listed(pilot)
        await until(lambda: len(values(finder)) == 2)
        await seen(pilot, "Claude Code", "15 %", "Read1", "$0.15", project.name)
        await narrowed(pilot, "claude")
        monkeypatch.setattr(screen, "_write_to_terminal", written.append)
        with session.open("ab") as file:
            file.write(turn(project, 2, 170_000))
        await seen(pilot, "85 %", "Read2")
        assert written == ["\x07"]
        assert "\x1b" not in shown(pilot.app)
        assert values(finder) == [f"{session}#1"]
        await pilot.press("enter")
        await until(lambda: screen.model.state.following == FOLLOWING)
        assert screen.model.state.title == str(session)
    agent.end()


@pytest.mark.usefixtures("project")
async def test_a_session_of_the_library_is_named_by_its_program_and_can_be_opened(services: Services) -> None:
    agent = LibraryAgent()
    agent.add("go")
    async with program(services, (120, 30)) as (pilot, screen):
        finder = await look(pilot, screen, "agents")
        await until(lambda: len(values(finder)) == 1)
        await seen(pilot, "python", "bot", "gpt-4o")
        await pilot.press("enter")
        await until(lambda: screen.model.state.title == "bot")
        assert "is open in process" in screen.model.state.read_only
    agent.end()


@pytest.mark.usefixtures("project")
async def test_where_no_agent_runs_it_says_what_to_do(services: Services) -> None:
    async with program(services, (80, 24)) as (pilot, screen):
        finder = await look(pilot, screen, "agents")
        await seen(pilot, "No agent runs on this machine now.", "workbench proxy -- COMMAND")
        assert values(finder) == []
