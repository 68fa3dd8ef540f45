"""All panes show the same state of the session, whatever happened and in whatever order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.compaction.long_talk import WINDOW, stored
from tui.play import Script, answer, program, settle, shown
from tui.snapshots import still
from workbench.config.errors import WorkbenchError
from workbench.log.events import AssistantMessage, UserMessage
from workbench.sources.services import Services
from workbench.tui.app import WorkbenchApp
from workbench.tui.chat.window import TranscriptWindow
from workbench.tui.compaction.descriptions import tree_branches
from workbench.tui.main.header import Header
from workbench.tui.main.screen import MainScreen
from workbench.tui.main.usage import ContextOverview
from workbench.tui.observing import Observing

pytestmark = pytest.mark.usefixtures("project")

Step = Callable[[MainScreen, Random, list[str]], Awaitable[None]]


async def append(screen: MainScreen, chance: Random, refs: list[str]) -> None:
    screen.model.send(f"question {chance.randrange(1_000)}")


async def compact(screen: MainScreen, chance: Random, refs: list[str]) -> None:
    with suppress(WorkbenchError):  # there may be nothing to compact
        preview = await screen.model.preview_compaction(True)
        await screen.model.compact_as_previewed(preview, True)


async def undo(screen: MainScreen, chance: Random, refs: list[str]) -> None:
    screen.model.revert("undo")


async def exclude(screen: MainScreen, chance: Random, refs: list[str]) -> None:
    entry = screen.model.state.transcript[chance.randrange(len(screen.model.state.transcript))]
    screen.model.decide("exclude", entry.seq, entry.seq)


async def walk_back(screen: MainScreen, chance: Random, refs: list[str]) -> None:
    with suppress(WorkbenchError):  # there may be no request to go back to
        for _ in range(chance.randint(1, 3)):
            screen.timeline.action_step(-1)


async def walk_home(screen: MainScreen, chance: Random, refs: list[str]) -> None:
    screen.model.travel(None)


async def change_policy(screen: MainScreen, chance: Random, refs: list[str]) -> None:
    screen.model.switch_policy(chance.choice(("codex", "layers", "window", "workbench")))


async def open_another(screen: MainScreen, chance: Random, refs: list[str]) -> None:
    screen.model.open_session(chance.choice(refs))


STEPS: tuple[Step, ...] = (append, compact, undo, exclude, walk_back, walk_home, change_policy, open_another)


def check_panes(screen: MainScreen) -> None:
    """Each pane shows what the state says; what a pane has worked out is of that state."""
    state = screen.model.state
    view = state.shown
    assert view is not None
    assert all(each.session is screen.model for each in screen.query("*") if isinstance(each, Observing))
    assert state.title in str(screen.query_one(Header).render())
    usage = str(screen.query_one(ContextOverview).render())
    assert f"{view.plan.size:,} of {view.plan.limits.window:,} tokens" in usage
    place = "next" if view.at is None else f"{view.at + 1:,}"
    assert screen.timeline.display == bool(view.requests)
    if view.requests:
        assert str(screen.timeline.render()).strip().startswith(f"{place} of {len(view.requests):,}")
    lines = screen.inspector.rows.lines
    assert lines is not None
    assert lines.plan is view.plan
    window = screen.query_one(TranscriptWindow)
    assert len(window.lines) == len(state.transcript)
    assert window.lines.entry(len(window.lines) - 1) == state.transcript[len(state.transcript) - 1]
    if view.at is not None:
        assert window.cursor == state.transcript.index_of(view.requests[view.at].upto), "the end of the request"
    assert state.compaction is not None
    assert screen.panel.history.branches == list(tree_branches(state.compaction.history))
    title = str(screen.panel._border_title)  # Textual gives it as markup otherwise
    assert f"policy {state.compaction.policy}" in title


async def at_rest(pilot: Pilot[Any], screen: MainScreen) -> str:
    """The screen, once nobody has anything left to do."""
    await still(pilot, lambda: screen.model.is_settled)
    return shown(pilot.app)


async def check_drawing(pilot: Pilot[Any], screen: MainScreen) -> None:
    """What is on the screen is what every widget draws when it is asked once more."""
    state = None
    while state is not screen.model.state:  # a session may become writable meanwhile
        before, state = await at_rest(pilot, screen), screen.model.state
        for each in screen.query("*"):
            each.refresh(layout=True)
        after = await at_rest(pilot, screen)
    assert after == before


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.wide) for seed in (2, 3))])
async def test_all_panes_show_the_same_state_after_any_sequence(
    services: Services, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = Random(seed)
    monkeypatch.setattr(WorkbenchApp, "notify", lambda *_, **__: None)  # notices come and go over the panes
    Script(*(answer(f"answer {at}") for at in range(40))).play(monkeypatch)
    with services.store.create([UserMessage("hi"), AssistantMessage("hello")], title="small talk") as session:
        refs = [session.id]
    refs.append(stored(services))
    steps = [*STEPS, *chance.choices(STEPS, k=4)]
    chance.shuffle(steps)
    options = {"window": WINDOW, "reserve": 2_000}
    async with program(services, (120, 40), refs[-1], **options) as (pilot, screen):
        check_panes(screen)
        for step in steps:
            await step(screen, chance, refs)
            await settle(pilot)
            await pilot.app.workers.wait_for_complete()
            await settle(pilot)
            check_panes(screen)
            await check_drawing(pilot, screen)
