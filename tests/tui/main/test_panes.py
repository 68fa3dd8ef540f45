"""The panes of the main screen: which are seen, how they share the room, and which has the focus."""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from tui.play import program, settle, shown, told, typed
from workbench.log.events import AssistantMessage, UserMessage
from workbench.sources.services import Services
from workbench.tui import demo
from workbench.tui.main.screen import MainScreen

pytestmark = pytest.mark.usefixtures("project")


def regions(screen: MainScreen) -> dict[str, Region]:
    """The panes that are seen, and where."""
    return {name: pane.region for name, pane in screen.panes() if pane.display and pane.region}


@pytest.mark.long
async def test_a_narrow_terminal_shows_one_pane_at_a_time_each_with_its_focus(services: Services) -> None:
    async with program(services, (80, 24)) as (pilot, screen):
        assert set(regions(screen)) == {"chat"}
        assert regions(screen)["chat"].width == 80
        focused = {"chat": screen.focused}
        for key, name in (("f3", "context"), ("f4", "compaction"), ("f2", "chat")):
            await pilot.press(key)
            await settle(pilot)
            assert set(regions(screen)) == {name}
            assert screen.focused is focused.setdefault(name, screen.focused), "it comes back to where it was"
        assert len(set(focused.values())) == 3
        await pilot.press("f5")
        await settle(pilot)
        assert "side by side need 100 columns" in told(pilot.app)
        await pilot.click("Header", offset=(55, 0))
        await settle(pilot)
        assert set(regions(screen)) == {"context"}
        assert screen.focused is focused["context"]
        await pilot.resize_terminal(160, 40)
        await settle(pilot)
        assert set(regions(screen)) == {"chat", "context", "compaction"}
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert set(regions(screen)) == {"context"}


def check_that_none_is_cut(screen: MainScreen) -> None:
    seen = regions(screen)
    assert set(seen) == {"chat", "context", "compaction"}
    assert seen["chat"].width >= 44
    assert seen["context"].width >= 54
    assert seen["context"].height >= 14, "more than ten rows"
    assert seen["compaction"].height >= 7, "room for the curve"
    lines = shown(screen.app).splitlines()
    heads = next(line for line in lines if " who " in line)
    assert [word for word in ("tokens", "what") if word in heads] == ["tokens", "what"]
    title = next(line for line in lines if "Compaction ·" in line)
    assert "asks first" in title
    assert "workbench" in title
    assert all(word in lines[0] for word in ("F2 Chat", "F3 Context", "F4 Compaction", "F5 One pane"))


async def check_keys_of_the_focus(pilot: Pilot[Any], screen: MainScreen) -> None:
    """The pane with the focus has its keys in its border, also where it is smallest."""
    for key, name, hint, more in (
        ("f3", "context", "Enter open", "? all keys"),
        ("f4", "compaction", "c compact", "? all keys"),
        ("f2", "chat", "Enter send", "F1 help"),
    ):
        await pilot.press(key)
        await settle(pilot)
        assert more in shown(pilot.app)
        for other, pane in screen.panes():
            foot = str(pane._border_subtitle)  # Textual gives it as markup otherwise
            assert (hint in foot) == (other == name)


async def test_all_panes_are_shown_and_none_is_cut(services: Services) -> None:
    services.store.create([UserMessage("hi"), AssistantMessage("hello")], title="talk").close()
    async with program(services, (100, 28)) as (pilot, screen):
        check_that_none_is_cut(screen)
        await check_keys_of_the_focus(pilot, screen)
        for size in ((110, 30), (120, 40), (150, 42), (200, 60)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            check_that_none_is_cut(screen)


async def check_the_room(pilot: Pilot[Any], screen: MainScreen) -> None:
    """They are side by side, and keys move what is between them."""
    seen = regions(screen)
    assert seen["chat"].right <= seen["context"].x
    assert seen["context"].bottom <= seen["compaction"].y
    assert seen["context"].right == seen["compaction"].right == 160
    wide, high = seen["chat"].width, seen["context"].height
    await pilot.press("alt+right", "alt+pageup")
    await settle(pilot)
    assert regions(screen)["chat"].width > wide
    assert regions(screen)["context"].height < high
    await pilot.press("alt+left", "alt+pagedown")
    await settle(pilot)
    assert regions(screen)["chat"].width == wide


async def check_tab(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It goes from the composer to the transcript, beside other panes too."""
    assert screen.chat.composer.has_focus
    await pilot.press("tab")
    await settle(pilot)
    assert screen.chat.view.has_focus
    await pilot.press("tab")
    await settle(pilot)
    assert screen.chat.composer.has_focus


async def check_escape(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It goes one step out, and at last to the input."""
    for key in ("f3", "f4"):
        await pilot.press(key)
        await settle(pilot)
        assert not screen.chat.composer.has_focus
        await pilot.press("escape")
        await settle(pilot)
        assert screen.chat.composer.has_focus
    await pilot.press("tab", "f2")
    await settle(pilot)
    assert screen.chat.composer.has_focus, "F2 goes to the input from the transcript too"
    await pilot.press("f3", "q")
    await settle(pilot)
    assert screen.chat.composer.has_focus


async def check_dragging(pilot: Pilot[Any], screen: MainScreen) -> None:
    side = screen.query_one("#side").region
    await pilot.mouse_down(offset=(side.x, side.y + 3))
    await pilot.hover(offset=(side.x - 20, side.y + 3))
    await pilot.mouse_up(offset=(side.x - 20, side.y + 3))
    await settle(pilot)
    moved = screen.query_one("#side").region
    assert abs(moved.x - (side.x - 20)) <= 1
    border = screen.panel.region.y
    await pilot.mouse_down(offset=(moved.x + 5, border))
    await pilot.hover(offset=(moved.x + 5, border - 8))
    await pilot.mouse_up(offset=(moved.x + 5, border - 8))
    await settle(pilot)
    assert abs(screen.panel.region.y - (border - 8)) <= 1
    await pilot.hover(offset=(moved.x + 30, border + 4))
    await settle(pilot)
    assert screen.query_one("#side").region == moved, "let go is let go"


async def check_one_pane(pilot: Pilot[Any], screen: MainScreen) -> None:
    """Where there is room for all, one can be had alone, or hidden."""
    await pilot.press("f2", "f5")
    await settle(pilot)
    assert set(regions(screen)) == {"chat"}
    await pilot.press("f3")
    await settle(pilot)
    assert set(regions(screen)) == {"context"}
    await pilot.press("f5", "ctrl+b")
    await settle(pilot)
    assert set(regions(screen)) == {"chat"}
    assert screen.focused is not None
    assert screen.chat in screen.focused.ancestors_with_self
    await pilot.press("ctrl+b")
    await settle(pilot)
    assert set(regions(screen)) == {"chat", "context", "compaction"}
    await typed(pilot, "/hide chat")
    assert set(regions(screen)) == {"context", "compaction"}


async def test_what_cannot_be_shown_is_not_hidden_either(services: Services) -> None:
    async with program(services, (99, 30)) as (pilot, screen):
        await pilot.press("f3", "ctrl+b")
        await settle(pilot)
        assert "side by side need 100 columns" in told(pilot.app)
        assert set(regions(screen)) == {"context"}
        await pilot.resize_terminal(120, 30)
        await settle(pilot)
        assert set(regions(screen)) == {"chat", "context", "compaction"}, "none was hidden"
        await pilot.press("f2")
        await pilot.resize_terminal(120, 20)
        await settle(pilot)
        assert set(regions(screen)) == {"chat"}
        await pilot.press("ctrl+b")
        await settle(pilot)
        assert set(regions(screen)) == {"chat", "context"}
        await typed(pilot, "/hide compaction")
        assert "needs 24 lines" in told(pilot.app)
        await typed(pilot, "/hide context")
        assert set(regions(screen)) == {"chat"}
        await pilot.press("ctrl+b")
        await settle(pilot)
        assert set(regions(screen)) == {"chat", "context"}
        await pilot.resize_terminal(120, 30)
        await settle(pilot)
        assert set(regions(screen)) == {"chat", "context", "compaction"}


@pytest.mark.long
async def test_panes_side_by_side_are_walked_moved_and_hidden_with_keys_and_mouse(services: Services) -> None:
    services.store.create([UserMessage("hi")], title="talk").close()
    async with program(services, (160, 40)) as (pilot, screen):
        for check in (check_the_room, check_tab, check_escape, check_dragging, check_one_pane):
            await check(pilot, screen)


@pytest.mark.long
async def test_whether_all_panes_are_shown_is_kept(services: Services) -> None:
    async with program(services, (120, 40)) as (pilot, screen):
        assert set(regions(screen)) == {"chat", "context", "compaction"}
        await pilot.press("f5")
        await settle(pilot)
        assert set(regions(screen)) == {"chat"}
    with Services() as again:
        async with program(again, (200, 60)) as (pilot, screen):
            assert set(regions(screen)) == {"chat"}
            await pilot.press("f5")
            await settle(pilot)
    with Services() as again:
        async with program(again, (100, 24)) as (_, screen):
            assert set(regions(screen)) == {"chat", "context", "compaction"}, "where it would be one pane by itself"


async def test_the_rows_are_there_after_what_happened_while_the_pane_was_hidden() -> None:
    with demo.demo_folders() as ref, Services() as services:
        async with program(services, (120, 40), ref) as (pilot, _):

            async def seen_rows() -> int:
                await pilot.press("f3")
                await settle(pilot)
                return len(re.findall(r"[│┃]▌? *\d+ \S+ +[\d,]+ ", shown(pilot.app), re.M))

            assert await seen_rows() > 12
            for keys in (("f4", "enter", "enter", "ctrl+s", "escape"), ("f4", "u", "y")):
                for key in keys:
                    await pilot.press(key)
                    await settle(pilot)
                assert await seen_rows() > 12
