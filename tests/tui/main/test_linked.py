"""Chat and context are linked: what is looked at in one is shown in the other, and the focus stays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.play import program, settle, until
from workbench.log.events import AssistantMessage, ToolCall, ToolResult, UserMessage
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import MarkEvent, Send

pytestmark = pytest.mark.usefixtures("project")


@asynccontextmanager
async def talk(
    services: Services, turns: int = 30, size: tuple[int, int] = (120, 30)
) -> AsyncIterator[tuple[Pilot[Any], MainScreen]]:
    said: list[Any] = []
    for at in range(turns):
        said += [UserMessage(f"question {at}"), ToolCall(f"c{at}", "read_file", '{"path": "a"}', f"r{at}")]
        said += [ToolResult(f"c{at}", f"text {at}", "read_file"), AssistantMessage(f"answer {at}", f"s{at}")]
    with services.store.create(said) as session:
        ref = session.id
    async with program(services, size, ref) as found:
        yield found


def chat_seq(screen: MainScreen) -> int | None:
    view = screen.chat.view
    return None if view.cursor is None else view.lines.entry(view.cursor).seq


def row_seq(screen: MainScreen) -> int | None:
    item = screen.inspector.rows.item
    return None if item is None else item.seq


async def check_walking_the_rows(pilot: Pilot[Any], screen: MainScreen) -> None:
    """The message is shown in the chat, and the focus stays."""
    if not screen.fitted.visible >= {"chat", "context"}:
        await pilot.press("f5")
    await pilot.press("f3")
    await settle(pilot)
    await pilot.press("home", "down", "down", "down")
    item = screen.inspector.rows.item
    assert item is not None
    await until(lambda: chat_seq(screen) in (row_seq(screen), (row_seq(screen) or 0) - 1))
    assert screen.focused is screen.inspector.rows
    await pilot.press("end")
    await until(lambda: chat_seq(screen) == row_seq(screen))
    assert screen.chat.view.following, "who looks at the end goes on following it"


async def check_walking_the_chat(pilot: Pilot[Any], screen: MainScreen) -> None:
    """The row of the result is shown, and the focus stays."""
    screen.chat.view.focus()
    await settle(pilot)
    await pilot.press("g", "j")
    await until(lambda: row_seq(screen) == screen.chat.view._counterpart())
    assert row_seq(screen) is not None
    assert screen.inspector.rows.item is not None
    assert screen.inspector.rows.item.kind == "tool_result"
    assert screen.focused is screen.chat.view


async def check_that_a_filter_stays(pilot: Pilot[Any], screen: MainScreen) -> None:
    """While the chat is walked."""
    screen.inspector.row_list._filter("role:user")
    await settle(pilot)
    screen.inspector.mark_event(4)
    await settle(pilot)
    assert screen.inspector.row_list.wish.filter.text == "role:user"


async def check_that_who_speaks_sees_it(pilot: Pilot[Any], screen: MainScreen) -> None:
    """Wherever the chat stood."""
    screen.chat.mark_event(1)
    await settle(pilot)
    assert not screen.chat.view.following
    screen.send_or_run(Send("and now?"))
    await settle(pilot)
    assert screen.chat.view.following


@pytest.mark.long
async def test_each_of_two_panes_shows_what_is_looked_at_in_the_other(services: Services) -> None:
    async with talk(services) as (pilot, screen):
        for check in (
            check_walking_the_rows,
            check_walking_the_chat,
            check_that_a_filter_stays,
            check_that_who_speaks_sees_it,
        ):
            await check(pilot, screen)


@pytest.mark.long
async def test_the_one_that_follows_asks_for_nothing_in_turn(services: Services) -> None:
    async with talk(services) as (pilot, screen):
        asked: list[str] = []
        follow = screen.chat.view.post_message

        def heard(message: Any) -> bool:
            asked.append(type(message).__name__)
            return follow(message)

        screen.chat.view.post_message = heard  # type: ignore[method-assign]  # to hear what it asks for
        await pilot.press("f3", "home", "down")
        await until(lambda: screen._to_mark is None and chat_seq(screen) is not None)
        await settle(pilot)
        assert MarkEvent.__name__ not in asked
        assert screen._to_mark is None


async def test_in_one_pane_the_other_stands_there_when_one_goes_to_it(services: Services) -> None:
    async with talk(services, size=(80, 24)) as (pilot, screen):
        await pilot.press("f3")
        await settle(pilot)
        await pilot.press("home", "down", "down")
        await until(lambda: screen._to_mark is None)
        there = row_seq(screen)
        await pilot.press("f2")
        await settle(pilot)
        assert chat_seq(screen) in (there, (there or 0) - 1)
        await pilot.press("f3")
        await settle(pilot)
        await pilot.press("o")
        await settle(pilot)
        assert screen.focused is screen.chat.view
