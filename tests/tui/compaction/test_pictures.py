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
from tui.compaction.long_talk import SUMMARY, WINDOW, alone, rest, stored, talk
from tui.compaction.views import Host, log, nested, seen, settle
from tui.play import Script, answer, full_screen, main_screen, until
from tui.play import settle as settle_all
from workbench.compaction.progress import CompactionProgress
from workbench.session import opening
from workbench.sources.services import Services
from workbench.tui.compaction.history import HistoryScreen
from workbench.tui.compaction.preview import PreviewScreen
from workbench.tui.compaction.preview_stages import Stage
from workbench.tui.compaction.progress import ProgressDialog
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import RunCommand
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.views.compaction_values import CompactionView, RunningCompaction

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]

# As much as the panel gets beside the chat in terminals of 120x40 and 200x60, and as a tab in one of 80x24.
ROOMS = ((66, 12), (110, 18), (80, 22))
TIGHT = ((66, 6), (30, 16))

GROWN = log(nested())
FIRED = setup(sets=["compaction.threshold=0.25", "compaction.mode=manual"])
RUNNING = RunningCompaction(CompactionProgress("summarising", 2, 3, 1_204), float("inf"))
VIEWS: dict[str, CompactionView] = {
    "panel": seen(GROWN),
    "empty": seen([]),
    "off": seen(log(talk(8)), setup("layers"), fixed="a file is read-only"),
    "held": seen(log(talk(8)), FIRED),
    "running": replace(seen(log(talk(8))), running=RUNNING),
}


PANEL = ("#50: 41,200 → 3,150 tokens", "kept 46 of 49 facts", "undone by #51", "▸ compacts at 16,000")
SEEN = {
    "panel": PANEL,
    "empty": ("nothing to compact yet: the conversation is empty", "no requests yet: their tokens are drawn here"),
    "off": ("off (never)", "layers", "read-only", "○ no automatic compaction", "8 turns · tokens by turn, 5,931 now"),
    "held": ("manual (by hand only)", "○ no automatic compaction", "8 turns · tokens by turn, 5,931 now"),
    "running": ("⟳ compacting: summarising part 2 of 3", "Esc stops it"),
}
"""What each view says in every room."""


@pytest.mark.parametrize("name", VIEWS)
def test_the_panel(name: str, pictures: Pictures) -> None:
    pictures.compare(Host(VIEWS[name]), settle, words=SEEN[name], size=ROOMS[0], sizes=ROOMS)


@pytest.mark.parametrize(
    ("size", "theme"),
    [*((size, "ink") for size in (*ROOMS[1:], *TIGHT)), (ROOMS[0], "paper")],
    ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}",
)
def test_the_panel_in_other_rooms(size: tuple[int, int], theme: str, pictures: Pictures) -> None:
    pictures.compare(Host(VIEWS["panel"]), settle, words=PANEL, size=size, theme=theme, sizes=(size,))


async def progress(pilot: Pilot[Any], main: MainScreen) -> None:
    """How far it is."""
    assert main.model.state.compaction is not None
    main.model.change_state(compaction=replace(main.model.state.compaction, running=RUNNING))
    await main.model.settled()
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
    main.post_message(RunCommand("compactions", "44"))
    await until(lambda: isinstance(pilot.app.screen, HistoryScreen))


async def _preview(pilot: Pilot[Any], stage: Stage) -> None:
    await pilot.press("enter")
    await until(lambda: isinstance(pilot.app.screen, PreviewScreen))
    await _staged(pilot, stage)


async def _staged(pilot: Pilot[Any], stage: Stage) -> None:
    await until(lambda: pilot.app.screen.stage == stage)  # type: ignore[attr-defined]  # of the preview


STAGES: dict[Callable[[Pilot[Any], MainScreen], Awaitable[None]], tuple[str, ...]] = {
    progress: ("summarising part 2 of 3, 1,204 characters", "b continue in the background", "x stop"),
    look: (
        "Context usage at 30% (5,931/20,000 tokens). Compact conversation?",
        "summarises 18",
        "messages with 102 tokens are kept (budget 3,000)",
        "the bug in src/app1.py",
    ),
    refused: ("preview: nothing to do", "nothing to compact: the conversation is empty", "Esc leave"),
    draft: ("facts keeps 1 of 13, loses 12:", "5,931 → 1,683 of", "Port 9001 instead of 8001 (commit abc1231)."),
    sure: ("? Discard the draft?", "Enter and Esc: keep", "y discard"),
    history: ("41,200 → 3,150", "46 of 49 facts", "constraint Fix the bug in src/app3.py", "u undo"),
}
"""What each says at every size."""


def on_screen(
    act: Callable[[Pilot[Any], MainScreen], Awaitable[None]],
    services: Services,
    pictures: Pictures,
    patch: pytest.MonkeyPatch,
    size: tuple[int, int],
) -> None:
    """Bring the program to where a screen over the compaction panel is seen, and compare it."""
    patch.setattr(opening, "fill_slots", lambda opened: None)
    Script(answer(SUMMARY)).play(patch)

    async def show(pilot: Pilot[Any]) -> None:
        await settle_all(pilot)
        await alone(pilot, "f4")
        await act(pilot, main_screen(pilot.app))

    app = full_screen(services, stored(services), window=WINDOW, reserve=2_000)
    pictures.compare(app, show, words=STAGES[act], size=size, sizes=() if size == (80, 24) else (size,))


@pytest.mark.parametrize("act", STAGES, ids=lambda act: act.__name__)
def test_the_screens(
    act: Callable[[Pilot[Any], MainScreen], Awaitable[None]],
    services: Services,
    project: None,
    pictures: Pictures,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    on_screen(act, services, pictures, monkeypatch, (80, 24))


@pytest.mark.parametrize("act", [look, draft, history], ids=lambda act: act.__name__)
def test_the_screens_with_more_room(
    act: Callable[[Pilot[Any], MainScreen], Awaitable[None]],
    services: Services,
    project: None,
    pictures: Pictures,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Text and facts are side by side."""
    on_screen(act, services, pictures, monkeypatch, (120, 40))
