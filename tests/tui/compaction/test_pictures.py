"""The panel, and the dialogs and screens around a compaction, as they should look.

What stands in the fixed slots differs with the tools of the day, so nothing does: the figures are those of the talk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from textual.pilot import Pilot

from support.drafts import setup
from tui.compaction.long_talk import SUMMARY, panel, rest, talk
from tui.compaction.views import Host, log, nested, seen
from tui.play import Script, answer, until
from workbench.compaction.progress import Progress
from workbench.session import opening
from workbench.session.compaction_values import CompactionView, RunningCompaction
from workbench.session.services import Services
from workbench.tui.compaction.dialogs import CompactDialog, ProgressDialog
from workbench.tui.compaction.history import HistoryScreen
from workbench.tui.compaction.preview import PreviewScreen, Stage
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Run
from workbench.tui.widgets.dialogs import ConfirmDialog

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]

# As much as the panel gets beside the chat in terminals of 120x40 and 200x60, and as a tab in one of 80x24.
ROOMS = ((66, 12), (110, 18), (80, 22))
TIGHT = ((66, 6), (30, 16))

GROWN = log(nested())
FIRED = setup(sets=["compaction.threshold=0.25", "compaction.mode=manual"])
RUNNING = RunningCompaction(Progress("summarising", 2, 3, 1_204), float("inf"))
VIEWS: dict[str, CompactionView] = {
    "panel": seen(GROWN),
    "empty": seen([]),
    "off": seen(log(talk(8)), setup("layers"), fixed="a file is read-only"),
    "held": seen(log(talk(8)), FIRED),
    "running": replace(seen(log(talk(8))), running=RUNNING),
}


@pytest.mark.parametrize("name", VIEWS)
async def test_the_panel(name: str, pictures: Pictures) -> None:
    async with Host(VIEWS[name]).run_test() as pilot:
        await pictures.compare(pilot, name, (*ROOMS, *TIGHT) if name == "panel" else ROOMS)


async def question(pilot: Pilot[Any], main: MainScreen) -> None:
    """Whether to compact, with the figures."""
    await pilot.press("c")
    await until(lambda: isinstance(pilot.app.screen, CompactDialog))


async def progress(pilot: Pilot[Any], main: MainScreen) -> None:
    """How far it is."""
    assert main.compaction is not None
    main.compaction = replace(main.compaction, running=RUNNING)
    await pilot.app.push_screen(ProgressDialog(main))


async def look(pilot: Pilot[Any], main: MainScreen) -> None:
    """What would go and what would stay."""
    await _preview(pilot, "look")


async def refused(pilot: Pilot[Any], main: MainScreen) -> None:
    """Why there is nothing to do."""
    main.model.new_session()
    await rest(pilot)
    await _preview(pilot, "refused")


async def draft(pilot: Pilot[Any], main: MainScreen) -> None:
    """A summary to edit, and what it lost."""
    await _preview(pilot, "look")
    await pilot.press("enter")
    await _staged(pilot, "draft")


async def sure(pilot: Pilot[Any], main: MainScreen) -> None:
    """A question before a loss."""
    await draft(pilot, main)
    await pilot.press("escape")
    await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))


async def history(pilot: Pilot[Any], main: MainScreen) -> None:
    """Three compactions: one that stands, one that it replaced, one that was undone."""
    with main.services.store.create(nested()) as session:
        ref = session.id
    main.model.open_session(ref)
    await rest(pilot)
    main.post_message(Run("compactions", "44"))
    await until(lambda: isinstance(pilot.app.screen, HistoryScreen))


async def _preview(pilot: Pilot[Any], stage: Stage) -> None:
    await pilot.press("enter")
    await until(lambda: isinstance(pilot.app.screen, PreviewScreen))
    await _staged(pilot, stage)


async def _staged(pilot: Pilot[Any], stage: Stage) -> None:
    await until(lambda: pilot.app.screen.stage == stage)  # type: ignore[attr-defined]  # of the preview


@pytest.mark.parametrize("act", [question, progress, look, refused, draft, sure, history], ids=lambda act: act.__name__)
async def test_the_screens(
    act: Callable[[Pilot[Any], MainScreen], Awaitable[None]],
    services: Services,
    project: None,
    pictures: Pictures,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening, "fill_slots", lambda opened: None)
    Script(answer(SUMMARY)).play(monkeypatch)
    async with panel(services, (80, 24)) as (pilot, main):
        await act(pilot, main)
        await pictures.compare(pilot, act.__name__, at_rest=lambda: main.model.is_settled)
