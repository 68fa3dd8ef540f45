"""The whole program with the demo's session, and what belongs to no pane, as they should look."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.screen import Screen

from tui.play import full_screen, main_screen, settle, until
from workbench.session import opening
from workbench.session.services import Services
from workbench.tui.demo import recording
from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.help import Help
from workbench.tui.widgets.report import Report

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]
pytestmark = pytest.mark.usefixtures("project")

SMALL = ((80, 24),)
"""Where there is room for one pane at a time."""


@asynccontextmanager
async def demo(services: Services, patch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Pilot[Any], MainScreen]]:
    """The recording as a session of the user's. Its slots stay as recorded: a path of today would be seen."""
    patch.setattr(opening, "fill_slots", lambda opened: None)
    with services.store.import_events(recording(), "demo") as session:
        found = session.id
    app = full_screen(services, found)
    async with app.run_test(size=(80, 24)) as pilot:  # without notifications, which come and go
        await settle(pilot)
        yield pilot, main_screen(app)


async def test_the_whole_program(services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    async with demo(services, monkeypatch) as (pilot, main):
        await pictures.compare(pilot, "program", at_rest=lambda: main.model.is_settled)


@pytest.mark.parametrize(("name", "key"), [("context", "f3"), ("compaction", "f4")])
async def test_one_pane_at_a_time(
    services: Services, name: str, key: str, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with demo(services, monkeypatch) as (pilot, main):
        await pilot.press(key)
        await pictures.compare(pilot, name, SMALL, at_rest=lambda: main.model.is_settled)


@pytest.mark.parametrize(
    ("name", "key", "kind"), [("help", "f1", Help), ("tokens", "ctrl+t", Report)], ids=["help", "tokens"]
)
async def test_what_lies_over_the_panes(
    services: Services,
    name: str,
    key: str,
    kind: type[Screen[Any]],
    pictures: Pictures,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with demo(services, monkeypatch) as (pilot, main):
        await pilot.press(key)
        await until(lambda: isinstance(pilot.app.screen, kind))
        main.query_one("#panes").visible = False
        await pictures.compare(pilot, name, at_rest=lambda: main.model.is_settled)


async def test_the_palette(services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened anew in each theme: Textual draws it in the colours in which it was opened."""
    async with demo(services, monkeypatch) as (pilot, main):
        main.query_one("#panes").visible = False
        for theme in pictures.themes:
            pilot.app.theme = theme
            await settle(pilot)
            await pilot.press("ctrl+p")
            await until(lambda: isinstance(pilot.app.screen, CommandPalette))
            for size in pictures.sizes:
                await pictures.take(pilot, "palette", size, theme, lambda: main.model.is_settled)
            await pilot.press("escape")
            await until(lambda: pilot.app.screen is main)
        pictures.check()
