"""The history on the screen: the tree, each compaction closely, undo and redo, and the way to the inspector."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from tui.compaction.long_talk import WINDOW, panel, rest
from tui.compaction.views import nested
from tui.play import program, settle, shown, told, until
from tui.recorded.long_run import as_session, run, step
from tui.screens.looking import seen
from workbench.log.events import Compaction, UserMessage
from workbench.sources.services import Services
from workbench.tui.compaction.history import HistoryScreen
from workbench.tui.inspector.rows import RowsView
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import RunCommand, Send

pytestmark = pytest.mark.usefixtures("project")


async def history(pilot: Pilot[Any], main: MainScreen, seq: str = "") -> HistoryScreen:
    """The history of the session's compactions, on the screen."""
    main.post_message(RunCommand("compactions", seq))
    await rest(pilot)
    found = pilot.app.screen
    assert isinstance(found, HistoryScreen)
    return found


def marked(found: HistoryScreen) -> int:
    entry = found.history.marked
    return entry.event.seq if entry is not None else 0


async def check_the_tree(pilot: Pilot[Any], found: HistoryScreen) -> None:
    """It begins with the newest."""
    assert marked(found) == 50
    text = shown(pilot.app)
    for line in ("◇ #50", "◆ #44", "└ ▪ #33", "undone by #51", "replaced by #44"):
        assert line in text
    await pilot.press("down")
    await rest(pilot)
    assert marked(found) == 44
    assert "request 45,000 → 6,900" in shown(pilot.app)


async def check_what_was_lost(pilot: Pilot[Any], screen: MainScreen, found: HistoryScreen) -> None:
    """It leads to where it came from."""
    await pilot.press("down", "down", "enter")
    await rest(pilot)
    assert found.facts.has_focus
    assert "lost" in str(found.facts.border_title)
    line = str(found.facts.get_option_at_index(0).prompt)
    await pilot.press("enter")
    await rest(pilot)
    assert pilot.app.screen is screen
    item = screen.query_one(RowsView).item
    assert item is not None
    assert line.endswith(f"event {item.seq}")


async def check_undo_and_redo(pilot: Pilot[Any], screen: MainScreen, found: HistoryScreen) -> None:
    """Each is undone and brought back by its own."""
    await pilot.press("down", "u")
    await seen(pilot, "undo compaction #44", "Undone: ", " sent whole", " of 20,000 tokens")
    await pilot.press("escape")
    await rest(pilot)
    assert "undid" not in told(pilot.app), "it was only asked"
    await pilot.press("u")
    await seen(pilot, "Undone: ")
    await pilot.press("y")
    await rest(pilot)
    assert marked(found) == 44
    assert "undid compaction #44" in told(pilot.app)
    assert "compaction #33 is active again" in told(pilot.app)
    assert " → " in told(pilot.app)
    await pilot.press("U")
    await rest(pilot)
    assert "redid compaction #44" in told(pilot.app)
    screen.model.revert("all")
    await rest(pilot)
    assert screen.model.state.compaction is not None
    assert screen.model.state.compaction.metrics.by_status["reverted"] == screen.model.state.compaction.metrics.made
    await pilot.press("u")
    await rest(pilot)
    assert "was undone already" in told(pilot.app)


@pytest.mark.long
async def test_the_history_is_looked_through_and_each_compaction_undone_and_redone(services: Services) -> None:
    with services.store.create(nested()) as session:
        ref = session.id
    async with panel(services, (110, 28), ref) as (pilot, main):
        await check_the_tree(pilot, await history(pilot, main))
        await pilot.press("escape")
        await rest(pilot)
        assert marked(await history(pilot, main, "33")) == 33, "the one that was named"
        await pilot.press("escape")
        await rest(pilot)
        await check_what_was_lost(pilot, main, await history(pilot, main))
        await check_undo_and_redo(pilot, main, await history(pilot, main))


@pytest.mark.long
async def test_the_range_is_shown_in_the_inspector(services: Services) -> None:
    with services.store.create(nested()) as session:
        ref = session.id
    async with program(services, (120, 30), ref, window=WINDOW) as (pilot, screen):
        screen.send_or_run(Send("/compactions"))
        await settle(pilot)
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        await settle(pilot)
        await pilot.press("o")
        await settle(pilot)
        assert pilot.app.screen is screen
        assert screen.arrangement.active == "context"
        item = screen.query_one(RowsView).item
        assert item is not None
        assert item.seq == 3


@pytest.mark.long
async def test_a_session_without_any_says_so(services: Services) -> None:
    async with panel(services, ref="") as (pilot, screen):
        await pilot.press("H")
        await rest(pilot)
        assert "no compactions yet" in shown(pilot.app)
        await pilot.press("u", "U", "o", "enter", "escape")
        await rest(pilot)
        assert pilot.app.screen is screen


async def test_what_cannot_be_written_is_not_undone(services: Services) -> None:
    with services.store.create(nested()) as session:  # held open: another process writes it
        async with panel(services, ref=session.id) as (pilot, screen):
            await pilot.press("H")
            await rest(pilot)
            await pilot.press("down", "u")
            await rest(pilot)
            assert screen.model.state.read_only
            assert screen.model.state.read_only in told(pilot.app)


async def test_one_of_another_agents_says_before_which_request_it_came_and_what_cannot_be_known(
    services: Services,
) -> None:
    bodies = run(3, others=False)
    made = Compaction(1, len(bodies), "[the summary is encrypted]", meta={"made_by": "Codex", "sealed": True})
    ref = as_session(services, [*bodies, made, UserMessage("and now?"), *step(1, 30_000)])
    async with panel(services, (120, 30), ref) as (pilot, main):
        main.post_message(RunCommand("compactions", ""))
        await rest(pilot)
        await seen(pilot, "before request 5", "cannot be shown here")
        assert " lost, " not in shown(pilot.app)
