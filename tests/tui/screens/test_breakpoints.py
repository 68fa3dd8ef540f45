"""Breakpoints on the screen: they are set, and what a real proxy holds at them is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from session.test_activity import TwoAgents
from tui.play import program, settle, told, until
from tui.screens.holding import ASK, SAID, Between, back, between
from tui.screens.looking import look, narrowed, seen, values
from workbench.sources.services import Services
from workbench.tui.main import screen as main_screen
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send

pytestmark = pytest.mark.usefixtures("project")


async def test_breakpoints_are_set_and_what_is_held_is_told(services: Services) -> None:
    async with program(services) as (pilot, screen):
        await without_a_proxy_it_says_how_to_start_one(pilot, screen)
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        async with between() as proxy:
            await breakpoints_are_added_and_removed(pilot, screen, proxy)
            await back(pilot, screen, proxy)
            proxy.gate.set_rules(["every"])
            await what_is_held_is_told_on_the_main_screen_until_it_is_let_go(pilot, screen, proxy)
            await the_mark_goes_from_a_breakpoint_to_what_is_held_then(pilot, screen, proxy)


async def breakpoints_are_added_and_removed(pilot: Pilot[Any], screen: MainScreen, proxy: Between) -> None:
    await look(pilot, screen, "break")
    await seen(pilot, "Type one of these and press Enter", "share>80%", "agent:sub-agent")
    await pilot.press("escape")
    screen.send_or_run(Send("/break tool:Bash"))
    await until(lambda: [*map(str, proxy.gate.rules)] == ["tool:Bash"])
    finder = await look(pilot, screen, "break")
    await seen(pilot, "tool:Bash", "pi (")
    await narrowed(pilot, "tokens > 50k")
    await seen(pilot, "add", "tokens>50000", "1 proxy")
    await pilot.press("enter")
    await until(lambda: [*map(str, proxy.gate.rules)] == ["tool:Bash", "tokens>50000"])
    await narrowed(pilot, "sometimes")
    await seen(pilot, "sometimes: expected a breakpoint such as every")
    await narrowed(pilot, "tool:bash")
    finder.found.highlighted = len(values(finder)) - 1
    await pilot.pause()
    await pilot.press("enter")
    await seen(pilot, "Ctrl+D removes it")
    assert [*map(str, proxy.gate.rules)] == ["tool:Bash", "tokens>50000"]
    await pilot.press("ctrl+d")
    await until(lambda: [*map(str, proxy.gate.rules)] == ["tokens>50000"])


async def without_a_proxy_it_says_how_to_start_one(pilot: Pilot[Any], screen: MainScreen) -> None:
    screen.send_or_run(Send("/break every"))
    await until(lambda: "no proxy runs" in told(pilot.app))
    await look(pilot, screen, "break")
    await seen(pilot, "no proxy runs; start one with workbench proxy")


async def test_a_held_request_rings_and_notifies_while_a_session_is_watched(
    services: Services, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_screen, "HELD_SECONDS", 0.05)
    session, ways = f"{TwoAgents(tmp_path / 'home', project).claude}#1", ("bell", "desktop")
    async with between("every") as proxy, program(services, (80, 24), session, follow=True, notify=ways) as (_, screen):
        written: list[str] = []
        monkeypatch.setattr(screen, "_write_to_terminal", written.append)
        asking = [proxy.ask(ASK)]
        await until(lambda: len(written) == 1)
        asking.append(proxy.ask(ASK))
        await until(lambda: len(written) == 2)
        assert all(each.startswith("\x07\x1b") for each in written)
        assert "1 request held at a breakpoint" in written[0]
        assert "2 requests held at a breakpoint" in written[1]
        for each in asking:
            each.cancel()
        await until(lambda: screen.held == 0)
        assert len(written) == 2, "what is let go is no news"


async def what_is_held_is_told_on_the_main_screen_until_it_is_let_go(
    pilot: Pilot[Any], screen: MainScreen, proxy: Between
) -> None:
    asking = proxy.ask(ASK)
    await seen(pilot, "1 held: Alt+H")
    await until(lambda: "1 request held: Alt+H, or a click on it, opens it" in told(pilot.app))
    await look(pilot, screen, "break")
    await seen(pilot, "every request is held", "claude-sonnet-4-5", "and now [b]what[/b]?")
    await pilot.press("ctrl+o")
    assert (await asking)["content"] == SAID["content"]
    await until(lambda: not proxy.gate.held)
    await settle(pilot)
    await pilot.press("enter", "enter")
    await settle(pilot)
    assert [*map(str, proxy.gate.rules)] == ["every"], "no Enter too many removes the breakpoint"
    await pilot.press("escape")
    await until(lambda: screen.held == 0)


async def the_mark_goes_from_a_breakpoint_to_what_is_held_then(
    pilot: Pilot[Any], screen: MainScreen, proxy: Between
) -> None:
    finder = await look(pilot, screen, "break")
    assert (finder.marked or "").endswith("every")
    asking = proxy.ask(ASK)
    await seen(pilot, "every request is held")
    await until(lambda: (finder.marked or "").startswith("held"))
    first = finder.marked
    other = proxy.ask(ASK)
    await until(lambda: sum(value.startswith("held") for value in values(finder)) == 2)
    assert finder.marked == first, "it stays on the request that one looks at"
    await narrowed(pilot, "no such words")
    await seen(pilot, "No breakpoint and nothing held has this in it.")
    asking.cancel()
    other.cancel()
