"""Undo from the panes: what it undoes, what it asks first, and what it says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.play import SMALL, program, settle, told, until
from tui.screens.looking import seen
from workbench.log.events import AssistantMessage, Compaction, Override, UserMessage
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.dialogs import ConfirmDialog

pytestmark = pytest.mark.usefixtures("project")
TALK = [body for at in range(4) for body in (UserMessage(f"question {at}"), AssistantMessage(f"answer {at}", f"r{at}"))]


@asynccontextmanager
async def on(services: Services, *more: Any) -> AsyncIterator[tuple[Pilot[Any], MainScreen, int]]:
    with services.store.create([*TALK, *more]) as session:
        ref = session.id
        last = len(session.events())
    async with program(services, SMALL, ref) as (pilot, screen):
        yield pilot, screen, last


async def active(screen: MainScreen) -> list[str]:
    """The states of the rows."""
    assert screen.model.state.shown is not None
    return [row.state for row in screen.model.state.shown.plan.items]


async def test_in_the_context_overrides_are_undone_first_and_a_compaction_only_when_agreed(services: Services) -> None:
    made = (Override("exclude", 5, 5), Override("exclude", 7, 7, joined=True), Compaction(1, 2, "the first"))
    async with on(services, *made) as (pilot, screen, last):
        await pilot.press("f3")
        await settle(pilot)
        await pilot.press("u")
        await until(lambda: "undid: excluded 2 items (#5, #7)" in told(pilot.app))
        assert "excluded" not in await active(screen)
        assert "summarised" in await active(screen), "the compaction came later, and stays"
        await pilot.press("u")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("enter")
        await settle(pilot)
        assert "summarised" in await active(screen)
        await pilot.press("u")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(lambda: f"undid compaction #{last}" in told(pilot.app))
        await settle(pilot)
        assert "summarised" not in await active(screen)
        screen.run_by_name("redo")
        await until(lambda: f"redid compaction #{last}" in told(pilot.app))


async def test_elsewhere_the_newest_change_is_undone_whatever_it_is(services: Services) -> None:
    async with on(services, Override("exclude", 5, 5), Compaction(1, 2, "the first")) as (pilot, _, last):
        await pilot.press("f9")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(lambda: f"undid compaction #{last}" in told(pilot.app))
        await settle(pilot)
        await pilot.press("f9")
        await until(lambda: "undid: excluded #5" in told(pilot.app))


async def test_f9_undoes_the_compaction_that_was_just_made_in_every_pane(services: Services) -> None:
    for pane in ("f2", "f3", "f4"):
        async with on(services, Override("pin", 5, 5), Compaction(1, 2, "the first")) as (pilot, _, last):
            await pilot.press(pane)
            await settle(pilot)
            await pilot.press("f9")
            await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
            await pilot.press("y")
            await until(lambda: f"undid compaction #{last}" in told(pilot.app))


async def test_before_a_compaction_is_undone_it_is_said_what_is_sent_again(services: Services) -> None:
    async with on(services, Override("mask", 2, 2), Compaction(1, 4, "the first")) as (pilot, _, _):
        await pilot.press("f9")
        await seen(pilot, "Undone: ", " → ", "what it summarised: 3 sent whole, 1 masked.")
