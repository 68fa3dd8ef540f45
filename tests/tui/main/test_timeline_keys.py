"""On the timeline a slip of the finger changes nothing, and a search begins where the rows are."""

from __future__ import annotations

import string
from typing import Any

import pytest

from tui.play import program, settle, told, typed, until
from workbench.config.values import replace
from workbench.sources.services import Services
from workbench.tui import demo
from workbench.tui.main import timeline
from workbench.tui.main.screen import MainScreen
from workbench.tui.main.timeline import TimeColumn, time_columns
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.input_line import InputLine

KEYS = {"g", "G", "h", "l", "t", "w", "a", "q"}
"""The letters of the timeline."""


def at(screen: MainScreen) -> int | None:
    assert screen.model.state.shown is not None
    return screen.model.state.shown.at


async def test_letters_that_are_no_keys_of_the_timeline_do_nothing_and_slash_searches_the_rows() -> None:
    with demo.demo_folders() as ref, Services() as services:
        async with program(services, (120, 30), ref) as (pilot, screen):
            await pilot.press("f6", "left", "left")
            await settle(pilot)
            before = at(screen), len(screen.model.state.transcript)
            assert before[0] is not None
            for letter in sorted(set(string.ascii_letters) - KEYS):
                await pilot.press(letter)
            await settle(pilot)
            assert (at(screen), len(screen.model.state.transcript)) == before
            assert pilot.app.screen is screen
            assert screen.focused is screen.timeline
            assert "undid" not in told(pilot.app)
            await pilot.press("slash")
            await settle(pilot)
            assert isinstance(screen.focused, InputLine)
            await typed(pilot, "round")
            assert "match 1 of " in screen.inspector.row_list.foot.content.plain
            assert at(screen) == before[0], "of the request that is looked at"
            await pilot.press("u")
            await settle(pilot)
            assert "undid: pinned #16" in told(pilot.app), "where the pane offers it"


async def test_in_the_chat_undo_takes_a_key_that_nobody_types_by_chance() -> None:
    with demo.demo_folders() as ref, Services() as services:
        async with program(services, (120, 30), ref) as (pilot, screen):
            screen.chat.view.focus()
            await settle(pilot)
            await pilot.press("u", "U")
            await settle(pilot)
            assert pilot.app.screen is screen
            assert not told(pilot.app)
            await pilot.press("f9")
            await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))


async def test_the_columns_are_made_again_only_if_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(*given: Any) -> list[TimeColumn]:
        made.append(len(given[0]))
        return time_columns(*given)

    with demo.demo_folders() as ref, Services() as services:
        async with program(services, (120, 30), ref) as (pilot, screen):
            monkeypatch.setattr(timeline, "time_columns", counted)
            await pilot.press("f6", "left", "left", "right", "left")
            await settle(pilot)
            assert at(screen) is not None
            assert made == [], "as nothing was sent meanwhile"
            assert screen.model.state.shown is not None
            before = str(screen.timeline.render())
            requests = list(screen.model.state.shown.requests)
            requests[1] = requests[1]._replace(reported=1_000_000)
            monkeypatch.setattr(timeline.Timeline, "shown", replace(screen.model.state.shown, requests=requests))
            assert str(screen.timeline.render()) != before, "although they are as many as before"
            assert made == [len(requests)]
