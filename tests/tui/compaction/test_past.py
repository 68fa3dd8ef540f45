"""While a past request is in view, the panel speaks of that request, and nothing is compacted."""

from __future__ import annotations

import pytest

from tui.compaction.long_talk import on_screen, panel, rest
from tui.play import settle, shown, told
from workbench.sources.services import Services
from workbench.tui.compaction.preview import PreviewScreen

pytestmark = pytest.mark.usefixtures("project")


async def test_the_panel_shows_what_could_have_been_compacted_then(services: Services) -> None:
    async with panel(services) as (pilot, screen):
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


@pytest.mark.parametrize("key", ["c", "D", "ctrl+g"])
async def test_a_past_request_is_not_compacted(services: Services, key: str) -> None:
    async with panel(services) as (pilot, screen):
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


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_it_is_said_at_every_size(services: Services, size: tuple[int, int]) -> None:
    async with on_screen(services, size) as (pilot, screen):
        screen.model.travel(4)
        screen.focus_pane("compaction")
        await settle(pilot)
        text = shown(pilot.app)
        assert "request 5 in view: 1,506 tokens · } goes to the newest" in text
        assert "no compaction before it" in text
