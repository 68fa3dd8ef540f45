"""The panel, and the dialogs and screens around a compaction, as they should look.

What stands in the fixed slots differs with the tools of the day, so nothing does: the figures are those of the talk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest
from textual.pilot import Pilot

from support.drafts import setup
from tui.compaction.long_talk import SUMMARY, WINDOW, alone, rest, stored, talk
from tui.compaction.views import Host, log, nested, seen, settle
from tui.play import Script, answer, full_screen, main_screen, until
from tui.play import settle as settle_all
from workbench.compaction.progress import CompactionProgress
from workbench.config.values import replace
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
    "off": seen(log(talk(8)), setup("layers"), why_read_only="a file is read-only"),
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


async def test_the_panel(pictures: Pictures) -> None:
    app = Host(VIEWS["panel"])
    async with app.run_test(size=ROOMS[0]) as pilot:
        for size in ROOMS:
            await pictures.resize(pilot, size)
            for name in reversed(VIEWS):
                app.compaction = VIEWS[name]
                await settle(pilot)
                await pictures.compare_at(ROOMS[0], pilot, name, SEEN[name])
            if size != ROOMS[0]:
                await pictures.compare_now(pilot, f"{size[0]}x{size[1]}", PANEL)
        for size in TIGHT:
            await pictures.resize(pilot, size)
            await pictures.compare_now(pilot, f"{size[0]}x{size[1]}", PANEL)
        app.theme = "paper"
        await pictures.resize(pilot, ROOMS[0])
        await pictures.compare_now(pilot, "paper", PANEL)


Act = Callable[[Pilot[Any], MainScreen], Awaitable[None]]


async def look(pilot: Pilot[Any], main: MainScreen) -> None:
    """What would go and what would stay."""
    await _preview(pilot, "look")


async def draft(pilot: Pilot[Any], main: MainScreen) -> None:
    """A summary to edit, and what it lost."""
    await pilot.press("enter")
    await _staged(pilot, "draft")


async def sure(pilot: Pilot[Any], main: MainScreen) -> None:
    """A question before a loss."""
    await pilot.press("escape")
    await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))


async def progress(pilot: Pilot[Any], main: MainScreen) -> None:
    """How far it is."""
    await pilot.press("y")
    await until(lambda: pilot.app.screen is main)
    await rest(pilot)
    assert main.model.state.compaction is not None
    main.model.change_state(compaction=replace(main.model.state.compaction, running=RUNNING))
    await main.model.settled()
    await pilot.app.push_screen(ProgressDialog(main))


async def history(pilot: Pilot[Any], main: MainScreen) -> None:
    """Three compactions: one that stands, one that it replaced, one that was undone."""
    await pilot.app.pop_screen()
    with main.services.store.create(nested()) as session:
        ref = session.id
    main.model.open_session(ref)
    await rest(pilot)
    main.post_message(RunCommand("compactions", "44"))
    await until(lambda: isinstance(pilot.app.screen, HistoryScreen))


async def refused(pilot: Pilot[Any], main: MainScreen) -> None:
    """Why there is nothing to do."""
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is main)
    main.model.new_session()
    await rest(pilot)
    await _preview(pilot, "refused")


async def _preview(pilot: Pilot[Any], stage: Stage) -> None:
    await pilot.press("enter")
    await until(lambda: isinstance(pilot.app.screen, PreviewScreen))
    await _staged(pilot, stage)


async def _staged(pilot: Pilot[Any], stage: Stage) -> None:
    await until(lambda: pilot.app.screen.stage == stage)  # type: ignore[attr-defined]  # of the preview


STAGES: dict[Act, tuple[str, ...]] = {
    look: (
        "Context usage at 30% (5,931/20,000 tokens). Compact conversation?",
        "summarises 18",
        "messages with 102 tokens are kept (budget 3,000)",
        "the bug in src/app1.py",
    ),
    draft: ("facts keeps 1 of 13, loses 12:", "5,931 → 1,683 of", "Port 9001 instead of 8001 (commit abc1231)."),
    sure: ("? Discard the draft?", "Enter and Esc: keep", "y discard"),
    progress: ("summarising part 2 of 3, 1,204 characters", "b continue in the background", "x stop"),
    history: ("41,200 → 3,150", "46 of 49 facts", "constraint Fix the bug in src/app3.py", "u undo"),
    refused: ("preview: nothing to do", "nothing to compact: the conversation is empty", "Esc leave"),
}
"""From one to the next, and what each says at every size."""
SIDE_BY_SIDE = (look, draft, history)
"""With more room they have text and facts next to each other."""


async def test_the_screens(
    services: Services, project: None, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "fill_slots", lambda opened: None)
    Script(*[answer(SUMMARY) for _ in pictures.sizes]).play(monkeypatch)
    ref = stored(services)
    async with full_screen(services, ref, window=WINDOW, reserve=2_000).run_test(size=(80, 24)) as pilot:
        await settle_all(pilot)
        main = main_screen(pilot.app)
        await alone(pilot, "f4")
        for size in pictures.sizes:
            await pictures.resize(pilot, size)
            for act, words in STAGES.items():
                await act(pilot, main)
                if size == (120, 40) and act in SIDE_BY_SIDE:
                    await pictures.compare_now(pilot, f"{act.__name__}-with-more-room", words)
                else:
                    await pictures.compare_at((80, 24), pilot, act.__name__, words)
            await pilot.press("escape")
            await until(lambda: pilot.app.screen is main)
            main.model.open_session(ref)
            await rest(pilot)
