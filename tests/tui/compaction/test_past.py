"""While a past request is in view, the panel speaks of that request, and nothing is compacted."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from tui.compaction.long_talk import on_screen, panel, rest
from tui.play import settle, shown, told
from workbench.sources.services import Services
from workbench.tui.compaction.preview import PreviewScreen
from workbench.tui.main.screen import MainScreen

pytestmark = pytest.mark.usefixtures("project")


async def check_what_could_have_been_compacted(pilot: Pilot[Any], screen: MainScreen) -> None:
    now = screen.model.state.compaction
    assert now is not None
    assert "compacting now would summarise" in shown(pilot.app)
    screen.model.travel(4)
    await settle(pilot)
    then = screen.model.state.compaction
    assert then is not None
    assert then.past is not None
    text = " ".join(shown(pilot.app).split())
    assert f"request 5 in view: {then.past.tokens:,} tokens · " in text
    assert then.past.would.endswith(", and kept 1 event of them")
    assert "compacting then would have summarised 3 items" in text
    assert "compacting now" not in text
    assert "no compaction before it" in text
    screen.model.travel(0)
    await settle(pilot)
    assert "nothing could be compacted then: " in shown(pilot.app)
    screen.model.travel(None)
    await settle(pilot)
    assert screen.model.state.compaction == now
    assert "compacting now would summarise" in shown(pilot.app)


async def check_that_it_is_not_compacted(pilot: Pilot[Any], screen: MainScreen, key: str) -> None:
    pilot.app.clear_notifications()
    screen.model.travel(4)
    await settle(pilot)
    await pilot.press(key)
    await rest(pilot)
    assert told(pilot.app).startswith("request 5 was sent and cannot be compacted: go to the newest first")
    assert not isinstance(pilot.app.screen, PreviewScreen)
    screen.model.travel(None)
    await settle(pilot)
    await pilot.press(key)
    await rest(pilot)
    assert isinstance(pilot.app.screen, PreviewScreen)
    await pilot.press("escape")
    await rest(pilot)


async def test_the_panel_speaks_of_the_past_request_and_compacts_the_newest_alone(services: Services) -> None:
    async with panel(services) as (pilot, screen):
        await check_what_could_have_been_compacted(pilot, screen)
        for key in ("c", "D", "ctrl+g"):
            await check_that_it_is_not_compacted(pilot, screen, key)


async def test_it_is_said_at_every_size(services: Services) -> None:
    async with on_screen(services, (80, 24)) as (pilot, screen):
        screen.model.travel(4)
        screen.focus_pane("compaction")
        for size in ((80, 24), (120, 40)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            text = shown(pilot.app)
            assert "request 5 in view: 1,506 tokens · } goes to the newest" in text
            assert "no compaction before it" in text
