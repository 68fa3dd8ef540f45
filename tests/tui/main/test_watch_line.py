"""The screen changes over to the session that is active, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from session.test_activity import CLAUDE, PI, TwoAgents
from tui.play import program, settle, shown, told, until
from workbench.sources.services import Services
from workbench.tui.main import watch_line

SIZE = (80, 24)


@pytest.fixture
def agents(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> TwoAgents:
    monkeypatch.setattr(watch_line, "CHECK_SECONDS", 0.05)
    return TwoAgents(tmp_path / "home", project)


async def test_it_changes_over_and_says_which_and_why(services: Services, agents: TwoAgents) -> None:
    async with program(services, SIZE, f"{agents.claude}#1", follow=True, follow_active=True) as (pilot, screen):
        await until(lambda: f"● {CLAUDE} · changed last in this folder · Alt+S stays" in shown(pilot.app))
        agents.pi_goes_on(ago=1)
        await until(lambda: f"● {PI} · changed last in this folder" in shown(pilot.app))
        await until(lambda: f"now following {PI}: it changed last in this folder" in told(pilot.app))
        await until(lambda: "knead" in shown(pilot.app))
        await pilot.press("alt+s")
        await until(lambda: f"● {PI} · you stay here · Alt+S follows the active one" in shown(pilot.app))
        agents.date(agents.pi, ago=60)
        agents.claude_goes_on(2, ago=1)
        await until(lambda: f"; {CLAUDE} changed since" in shown(pilot.app))
        await pilot.press("alt+s")
        await until(lambda: f"● {CLAUDE} · changed last" in shown(pilot.app))
        assert screen.model.state.title == str(agents.claude)


async def test_it_waits_while_a_window_is_open_and_while_the_user_writes(services: Services, agents: TwoAgents) -> None:
    async with program(services, SIZE, f"{agents.claude}#1", follow=True, follow_active=True) as (pilot, screen):
        await until(lambda: CLAUDE in shown(pilot.app))
        await pilot.press("f1")
        await until(lambda: pilot.app.screen is not screen)
        agents.pi_goes_on(ago=1)
        await until(lambda: screen.model.state.watched is not None and screen.model.state.watched.waiting == PI)
        assert screen.model.state.title == str(agents.claude)
        screen.chat.composer.type("hi")
        await pilot.press("escape")
        await until(lambda: "changed since: you are writing a message" in shown(pilot.app))
        assert screen.model.state.title == str(agents.claude)
        screen.chat.composer.clear()
        await until(lambda: f"● {PI} · changed last" in shown(pilot.app))


async def test_there_is_no_such_line_otherwise_and_the_command_says_why(services: Services, agents: TwoAgents) -> None:
    async with program(services, SIZE, f"{agents.claude}#1", follow=True) as (pilot, screen):
        await pilot.press("alt+s")
        await settle(pilot)
        assert "`workbench watch` without a name" in told(pilot.app)
        assert not screen.query("WatchLine")


async def test_the_bell_rings_for_the_session_that_is_shown(
    services: Services, agents: TwoAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    async with program(services, SIZE, f"{agents.claude}#1", follow=True, notify=("bell",)) as (_, screen):
        monkeypatch.setattr(screen, "_write_to_terminal", written.append)
        agents.claude_goes_on(500, ago=0)
        await until(lambda: len(screen.model.state.transcript) > 3)
        assert written == []  # a quarter of the window
        agents.claude_goes_on(1_700, ago=-1)
        await until(lambda: written == ["\x07"])
        agents.claude_goes_on(1_800, ago=-2)
        await until(lambda: screen.model.state.status.prompt == 180_000)
        assert written == ["\x07"]
