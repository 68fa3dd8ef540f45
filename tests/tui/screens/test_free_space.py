"""Free space: listed in two orders without a question, masked as one decision with one key, and undone as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from support.talk import words
from tui.play import program, settle, shown, told, until
from tui.recorded.long_run import as_file, as_session
from tui.screens.looking import seen
from workbench.context.policy_names import RECORDED
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Override,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.session.open_session import OpenSession
from workbench.sources.services import Services
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.main.screen import MainScreen
from workbench.tui.screens.free_space import FreeSpaceScreen

pytestmark = pytest.mark.usefixtures("project")
FILE = words(400)


def call(name: str, tool: str, arguments: str, result: str, error: bool = False) -> list[Body]:
    usage = Usage("gpt-4o", 0, prompt=3_000, cached=2_048, completion=5)
    return [ToolCall(name, tool, arguments, name), usage, ToolResult(name, result, tool, error)]


def log(*settings: Body) -> list[Body]:
    """A file read twice, a list of tasks written twice, a command that failed and went well."""
    tasks = '{"todos": [{"content": "' + words(60) + '", "status": "pending"}]}'
    return [
        Setting("model", "gpt-4o"),
        UserMessage("mend it"),
        *call("a", "Read", '{"file_path": "/src/app.py"}', FILE),
        *call("b", "TodoWrite", tasks, "ok"),
        *call("c", "Read", '{"file_path": "/src/app.py"}', FILE),
        *call("d", "Bash", '{"command": "make all"}', words(200, "error"), error=True),
        *call("e", "TodoWrite", tasks.replace("pending", "completed"), "ok"),
        *call("f", "Bash", '{"command": "make all"}', "made"),
        AssistantMessage("Mended.", "z"),
        Usage("gpt-4o", 0, prompt=9_000, cached=2_048, completion=5),
        *settings,
    ]


async def wasteful(pilot: Pilot[Any], screen: MainScreen) -> FreeSpaceScreen:
    screen.run_command(REGISTRY["free"])
    await until(lambda: isinstance(pilot.app.screen, FreeSpaceScreen) and pilot.app.screen.made is not None)
    assert isinstance(pilot.app.screen, FreeSpaceScreen)
    return pilot.app.screen


def overrides(opened: OpenSession) -> list[Event]:
    return [event for event in opened.events if isinstance(event.body, Override)]


async def told_overrides(screen: MainScreen) -> list[tuple[str, int, bool]]:
    found = [event.body for event in await screen.from_session(overrides)]
    return [(body.action, body.first, body.joined) for body in found if isinstance(body, Override)]


def size(opened: OpenSession) -> int:
    return opened.plan.size


async def test_waste_is_looked_at_in_both_orders_masked_with_one_key_and_undone_with_one(services: Services) -> None:
    async with program(services, (120, 30), as_session(services, log())) as (pilot, screen):
        await leaving_changes_nothing_and_the_key_of_the_context_opens_it(pilot, screen)
        await one_window_has_both_orders(pilot, screen)
        await all_waste_is_masked_with_one_key_and_undone_with_one(pilot, screen)


async def all_waste_is_masked_with_one_key_and_undone_with_one(pilot: Pilot[Any], screen: MainScreen) -> None:
    before = await screen.from_session(size)
    waste = await wasteful(pilot, screen)
    assert [(item.kind, item.event) for item in waste.list.items] == [
        ("repeated", 5),
        ("retried", 14),
        ("overwritten", 6),
    ]
    await seen(pilot, "tokens    carried", "mask 3 items: ", "cached tokens are read again", "so far carried as")
    made = waste.made
    assert made is not None
    await pilot.press("enter")
    await until(lambda: "masked 3 items" in told(pilot.app))
    assert await told_overrides(screen) == [("mask", 5, False), ("exclude", 6, True), ("mask", 14, True)]
    assert await screen.from_session(size) == before - made.effect.freed
    await settle(pilot)
    waste = await _empty(pilot, screen)
    await seen(pilot, "nothing of 50 tokens or more")
    await pilot.press("escape", "f9")
    await settle(pilot)
    assert await screen.from_session(size) == before


async def _empty(pilot: Pilot[Any], screen: MainScreen) -> FreeSpaceScreen:
    screen.run_command(REGISTRY["free"])
    await until(lambda: isinstance(pilot.app.screen, FreeSpaceScreen))
    assert isinstance(pilot.app.screen, FreeSpaceScreen)
    return pilot.app.screen


async def test_only_the_chosen_ones_are_masked(services: Services) -> None:
    ref = as_session(services, log())
    async with program(services, (80, 24), ref) as (pilot, screen):
        waste = await wasteful(pilot, screen)
        await pilot.press("a", "down", "space")
        await until(lambda: waste.made is not None)
        await seen(pilot, "mask 1 item: ")
        await pilot.press("enter")
        await until(lambda: "masked 1 item" in told(pilot.app))
        assert await told_overrides(screen) == [("mask", 14, False)]


async def test_the_end_of_a_path_is_seen_at_80_columns(services: Services) -> None:
    path = '{"file_path": "/work/packages/coding-agent/src/theme/light.json"}'
    bodies = [
        Setting("model", "gpt-4o"),
        UserMessage("go"),
        *call("a", "Read", path, FILE),
        *call("b", "Read", path, FILE),
    ]
    ref = as_session(services, [*bodies, AssistantMessage("Done.", "z")])
    async with program(services, (80, 24), ref) as (pilot, screen):
        await wasteful(pilot, screen)
        await seen(pilot, "light.json")


async def leaving_changes_nothing_and_the_key_of_the_context_opens_it(pilot: Pilot[Any], screen: MainScreen) -> None:
    screen.focus_pane("context")
    await settle(pilot)
    await pilot.press("M")
    await until(lambda: isinstance(pilot.app.screen, FreeSpaceScreen) and pilot.app.screen.made is not None)
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is screen)
    assert await told_overrides(screen) == []


async def test_what_is_pinned_or_the_only_copy_that_is_left_is_not_listed(services: Services) -> None:
    pinned, gone = Override("pin", 14, 14), Override("exclude", 11, 11)
    ref = as_session(services, log(pinned, gone))
    async with program(services, (120, 30), ref) as (pilot, screen):
        waste = await wasteful(pilot, screen)
        assert [item.event for item in waste.list.items] == [6]


async def test_of_a_file_it_says_what_it_would_free_and_makes_a_session_first(
    services: Services, tmp_path: Path
) -> None:
    path = as_file(tmp_path, log(Setting(RECORDED, "claude-code")))
    async with program(services, (120, 30), path) as (pilot, screen):
        waste = await wasteful(pilot, screen)
        listed = len(waste.list.items)
        assert listed > 1
        await seen(pilot, f"mask {listed} items: ")
        await pilot.press("enter")
        await seen(pilot, "Make a session of")
        await pilot.press("y")
        await until(lambda: f"masked {listed} items" in told(pilot.app))
        assert len(await told_overrides(screen)) == listed
        assert not screen.model.state.read_only


async def test_what_is_defined_twice_is_left_out(services: Services) -> None:
    definitions = [
        SlotContent(
            "tools", name, json.dumps({"type": "function", "function": {"name": name, "description": words(80)}})
        )
        for name in ("mcp__a__find", "mcp__b__find")
    ]
    ref = as_session(services, [*definitions, UserMessage("go"), AssistantMessage("done", "z")])
    async with program(services, (120, 30), ref) as (pilot, screen):
        before = await screen.from_session(size)
        waste = await wasteful(pilot, screen)
        assert [(item.kind, item.tool) for item in waste.list.items] == [("duplicate", "mcp__a__find")]
        await pilot.press("enter")
        await until(lambda: "masked 1 item" in told(pilot.app))
        assert [action for action, _, _ in await told_overrides(screen)] == ["exclude"]
        assert await screen.from_session(size) < before - 80


def is_listed(screen: Screen[Any]) -> bool:
    """Whether the window is open and has its rows. Its list is there once it is mounted."""
    return isinstance(screen, FreeSpaceScreen) and screen.is_mounted and bool(screen.list.items)


async def one_window_has_both_orders(pilot: Pilot[Any], screen: MainScreen) -> None:
    screen.focus_pane("context")
    await settle(pilot)
    await pilot.press("L")
    await until(lambda: is_listed(pilot.app.screen))
    window = pilot.app.screen
    assert isinstance(window, FreeSpaceScreen)
    await seen(pilot, "Free space: the largest items", "o no longer needed")
    sizes = [item.tokens for item in window.list.items]
    assert sizes == sorted(sizes, reverse=True)
    whole = screen.model.state.status.window
    assert window.list.chosen == {at for at, each in enumerate(sizes) if each >= whole / 100}
    await pilot.press("o")
    await until(lambda: window.made is not None)
    await seen(pilot, "Free space: what is sent and no longer needed", "o the largest")
    assert [item.event for item in window.list.items] == [5, 14, 6]
    await pilot.press("tab")
    await until(lambda: [item.tokens for item in window.list.items] == sizes)
    await pilot.press("a", "a")
    await until(lambda: "none is chosen" in shown(pilot.app))
    await pilot.press("enter")
    assert pilot.app.screen is window
    await pilot.press("L")
    await until(lambda: pilot.app.screen is screen)
    assert await told_overrides(screen) == []


async def test_it_is_about_the_request_in_view_and_a_past_one_is_only_looked_at(
    services: Services, tmp_path: Path
) -> None:
    summary = Compaction(2, 20, "all of it was mended")
    path = as_file(tmp_path, [*log(Setting(RECORDED, "claude-code")), summary, *call("g", "Read", "{}", "short")])
    async with program(services, (120, 30), path) as (pilot, screen):
        screen.go_to_request("6")
        await until(lambda: screen.request_shown == 5)
        await settle(pilot)
        screen.run_command(REGISTRY["free"])
        await until(lambda: is_listed(pilot.app.screen))
        window = pilot.app.screen
        assert isinstance(window, FreeSpaceScreen)
        assert [item.event for item in window.list.items] == [5, 6]
        await seen(pilot, "· request 6", "2 items, ", "of this request", "a past request cannot be changed")
        assert "Enter mask these" not in shown(pilot.app)
        await pilot.press("enter")
        assert pilot.app.screen is window
