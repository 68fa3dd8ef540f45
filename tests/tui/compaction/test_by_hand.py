"""Compacting from anywhere by key, asked first with the figures; and the question in place."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from textual.pilot import Pilot

from support.requirements import requirement
from tui.compaction.long_talk import SUMMARY, on_screen, panel, rest
from tui.play import Script, answer, settle, shown, told, typed, until
from tui.screens.looking import seen
from workbench.compaction import compactor, progress
from workbench.compaction.facts import collect_facts
from workbench.compaction.selection import select_for
from workbench.config.text import percent
from workbench.models.endpoints import Endpoint
from workbench.sources.services import Services
from workbench.tui.chat.question import QuestionBox
from workbench.tui.compaction.history import HistoryScreen
from workbench.tui.compaction.preview import PreviewScreen
from workbench.tui.compaction.progress import ProgressDialog
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import RunCommand
from workbench.tui.widgets.buttons import ButtonLine
from workbench.tui.widgets.report import ReportScreen

pytestmark = pytest.mark.usefixtures("project")


def made(screen: MainScreen) -> int:
    """How many compactions there are."""
    return screen.model.state.compaction.metrics.made if screen.model.state.compaction is not None else -1


async def asked(pilot: Pilot[Any], key: str = "c") -> PreviewScreen:
    """Press the key, and wait for the figures."""
    await pilot.press(key)
    await rest(pilot)
    found = pilot.app.screen
    assert isinstance(found, PreviewScreen)
    return found


async def check_the_keys_in_the_composer(pilot: Pilot[Any], screen: MainScreen) -> None:
    """They ask with the figures."""
    await pilot.press("h", "i")
    for key in ("ctrl+g", "f8", "shift+f8"):
        await asked(pilot, key)
        text = shown(pilot.app)
        assert f"({screen.model.state.status.tokens:,}/20,000 tokens). Compact conversation?" in text
        for figure in ("18 items with 4,224 tokens", "6 events of that range", "price unknown", "cached tokens"):
            assert figure in text
        await pilot.press("escape")
        await settle(pilot)
        assert pilot.app.screen is screen
        assert screen.chat.composer.text == "hi"
        assert made(screen) == 0


async def check_how_far_the_figures_are(pilot: Pilot[Any], screen: MainScreen, patch: pytest.MonkeyPatch) -> None:
    """The question shows it, and Esc stops them."""
    go_on, ended = threading.Event(), threading.Event()

    def held(setup: Any, plan: Any, events: Any, trigger: Any, tell: progress.ReportProgress) -> Any:
        def told(step: progress.CompactionProgress) -> None:
            tell(step)
            if step.part == 10:
                go_on.wait()

        try:
            return select_for(setup, plan, events, trigger, told)
        finally:
            ended.set()

    patch.setattr(compactor, "select_for", held)
    await pilot.press("f8")
    await until(lambda: "preview: reading 10 of " in shown(pilot.app))
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is screen)
    go_on.set()
    await until(ended.is_set)
    await rest(pilot)
    assert screen.model.state.compaction is not None
    assert screen.model.state.compaction.running is None
    assert made(screen) == 0


async def check_the_stage_before_it_is_on_the_screen(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It can be read."""
    preview = PreviewScreen(screen)
    assert preview.stage == "working"
    await pilot.app.push_screen(preview)
    await until(lambda: preview.stage == "look")
    assert preview.reader.display
    assert not preview.editor.display
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is screen)


async def check_how_much_is_read(pilot: Pilot[Any], screen: MainScreen, patch: pytest.MonkeyPatch) -> None:
    """A compaction shows it."""
    go_on = threading.Event()

    def held(items: Any, *more: Any) -> Any:
        return collect_facts((item for at, item in enumerate(items) if at != 11 or go_on.wait()), *more)

    patch.setattr(compactor, "collect_facts", held)
    screen.run_by_name("digest")
    await until(lambda: isinstance(pilot.app.screen, PreviewScreen) and pilot.app.screen.stage == "look")
    await pilot.press("y")
    await until(lambda: "compacting: looking for facts in 10 of 18 items" in shown(pilot.app))
    go_on.set()
    await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
    await rest(pilot)


@pytest.mark.long
@requirement(
    "confirm",
    "commands",
    "the user can compact at any time, whatever the utilisation; the usage is shown with the question",
)
async def test_it_is_asked_from_the_composer_with_figures_that_show_how_far_they_are(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", 5)
    async with on_screen(services) as (pilot, screen):
        await check_the_keys_in_the_composer(pilot, screen)
        with monkeypatch.context() as patch:
            await check_how_far_the_figures_are(pilot, screen, patch)
        await check_the_stage_before_it_is_on_the_screen(pilot, screen)
        await check_how_much_is_read(pilot, screen, monkeypatch)


@requirement("confirm", "commands", "after a yes the summary is shown")
@requirement("confirm", "commands", "the new usage is shown, and it is lower")
async def test_yes_compacts_and_shows_the_summary_and_the_new_usage(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer(SUMMARY)).play(monkeypatch)
    async with panel(services) as (pilot, screen):
        before = screen.model.state.status.tokens
        agreed = (await asked(pilot))._preview
        await pilot.press("y")
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        await rest(pilot)
        after = screen.model.state.status.tokens
        assert after < before
        assert screen.model.state.compaction is not None
        entry = screen.model.state.compaction.last
        assert agreed is not None
        assert entry is not None
        assert entry.range == (agreed.selected.first, agreed.selected.last)
        assert entry.details.tokens_before == agreed.tokens_before
        await rest(pilot)
        text = shown(pilot.app)
        assert f"compacted: {before:,} → {after:,} of 20,000 tokens ({percent(after / 20_000)})" in text
        assert "Port 9001 instead of 8001 (commit abc1231)." in text
        assert "12 lost, 1 kept" in text
        await pilot.press("u")
        await seen(pilot, "Undone: ")
        await pilot.press("y")
        await rest(pilot)
        assert "undone by #" in shown(pilot.app)
        assert screen.model.state.status.tokens == before
        assert f"{after:,} → {before:,} of 20,000 tokens" in told(pilot.app)
        await pilot.press("U")
        await rest(pilot)
        assert screen.model.state.status.tokens == after


async def test_without_a_model_by_key_button_and_command(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script()
    script.play(monkeypatch)
    async with panel(services) as (pilot, screen):
        preview = await asked(pilot)
        line = preview.query_one(ButtonLine)
        x = line.lines(80)[0].plain.index("d without a model")
        await pilot.click(ButtonLine, offset=(x, 0))
        await until(lambda: preview.stage == "draft")
        await pilot.press("ctrl+s")
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        await rest(pilot)
        assert "by digest" in shown(pilot.app)
        await pilot.press("escape")
        screen.model.revert("peel")
        await rest(pilot)
        await pilot.press("D")
        await rest(pilot)
        assert "the digest is made from the text alone" in shown(pilot.app)
        assert "y compact at once" in shown(pilot.app)
        assert "d without a model" not in shown(pilot.app), "that is what is shown"
        await pilot.press("y")
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        await rest(pilot)
        assert made(screen) == 2
        assert not script.requests


async def check_every_key_of_the_pane(pilot: Pilot[Any]) -> None:
    """All that compact show the same preview."""
    pages = []
    for key in ("c", "enter", "D"):
        found = await asked(pilot, key)
        assert found.stage == "look"
        pages.append([row for row in found.figures.rows if row[0] in ("summarises", "keeps", "prompt cache")])
        await pilot.press("escape")
        await rest(pilot)
    assert pages[0] == pages[1] == pages[2]


async def check_that_the_panel_stops_one(pilot: Pilot[Any], screen: MainScreen, gate: threading.Event) -> None:
    await asked(pilot)
    await pilot.press("y")
    await until(lambda: isinstance(pilot.app.screen, ProgressDialog) and "asking scripted" in shown(pilot.app))
    await pilot.press("b", "escape")
    await rest(pilot)
    gate.set()
    assert made(screen) == 0
    assert screen.model.state.compaction is not None
    assert screen.model.state.compaction.running is None


async def check_that_it_is_stopped_or_goes_on(
    pilot: Pilot[Any], screen: MainScreen, gates: Sequence[threading.Event]
) -> None:
    await asked(pilot)
    await pilot.press("y")
    await until(lambda: isinstance(pilot.app.screen, ProgressDialog) and "asking scripted" in shown(pilot.app))
    await pilot.press("escape")
    await rest(pilot)
    gates[0].set()
    assert pilot.app.screen is screen
    assert made(screen) == 0
    assert "stopped; nothing was changed" in told(pilot.app)
    await asked(pilot)
    await pilot.press("y")
    await until(lambda: isinstance(pilot.app.screen, ProgressDialog) and "asking scripted" in shown(pilot.app))
    await pilot.press("b")
    await pilot.pause()
    assert pilot.app.screen is screen
    assert "⟳ compacting: asking scripted" in shown(pilot.app), "the panel shows how far it is"
    gates[1].set()
    await rest(pilot)
    assert made(screen) == 1
    assert pilot.app.screen is screen
    assert f"→ {screen.model.state.status.tokens:,} of 20,000 tokens" in told(pilot.app)


@pytest.mark.long
@requirement(
    "sliding",
    "commands",
    "compacting by hand is rejected: automation is better",
    decided="both exist; `/compact` shows what it would do, and asks",
)
async def test_it_is_looked_at_stopped_or_left_to_go_on(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = [threading.Event() for _ in range(3)]
    Script(*([gate, *answer(SUMMARY)] for gate in (first, *others))).play(monkeypatch)
    async with panel(services) as (pilot, screen):
        await check_every_key_of_the_pane(pilot)
        await check_that_the_panel_stops_one(pilot, screen, first)
        pilot.app.clear_notifications()
        await check_that_it_is_stopped_or_goes_on(pilot, screen, others)


@pytest.mark.long
async def test_without_a_key_for_the_model_the_digest_is_offered_and_no_provider_is_asked(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()
    script.endpoint = Endpoint(lacks_key="OPENAI_API_KEY")
    script.play(monkeypatch)
    async with panel(services, (120, 30)) as (pilot, screen):
        found = await asked(pilot)
        text = " ".join(shown(pilot.app).split())
        assert "asks there is no key for scripted (set OPENAI_API_KEY), so this is the digest" in text
        assert "d without a model" not in text
        await pilot.press("enter")
        await until(lambda: found.stage == "draft")
        assert not found._problem
        await pilot.press("ctrl+s")
        await until(lambda: made(screen) == 1)
        await rest(pilot)
        assert not script.requests
        assert "by digest" in shown(pilot.app)


async def test_confirm_asks_in_place_and_goes_on_when_declined(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "Done, and this is how it was done. " * 100
    Script(answer(long), answer("Two."), answer(SUMMARY)).play(monkeypatch)
    async with on_screen(services, knobs=("compaction.threshold=0.35",)) as (pilot, screen):
        await typed(pilot, "go")
        await until(lambda: screen.model.state.question is not None)
        await settle(pilot)
        assert "Compact conversation?" in shown(pilot.app)
        await until(lambda: screen.query_one(QuestionBox).has_focus)
        await pilot.press("escape")
        await until(lambda: screen.model.state.question is None)
        assert made(screen) == 0
        await typed(pilot, "on")
        await until(lambda: screen.model.state.question is not None)
        await settle(pilot)
        await until(lambda: screen.query_one(QuestionBox).has_focus)
        await pilot.press("y")
        await until(lambda: made(screen) == 1)
        await settle(pilot)
        assert "compacted by itself" in {notice.title for notice in pilot.app._notifications}


@requirement("confirm", "trigger", "`/compact` may be typed in place of a yes")
@requirement("codex", "commands", "`/compact` compacts by hand")
async def test_the_command_may_be_typed_in_place_of_an_answer(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("Done, and this is how it was done. " * 100), answer(SUMMARY)).play(monkeypatch)
    async with on_screen(services, knobs=("compaction.threshold=0.35",)) as (pilot, screen):
        await typed(pilot, "go")
        await until(lambda: screen.model.state.question is not None)
        await settle(pilot)
        await typed(pilot, "/compact")
        await until(lambda: isinstance(pilot.app.screen, PreviewScreen) and pilot.app.screen.stage == "look")
        await settle(pilot)
        await pilot.press("y")
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        await settle(pilot)
        assert made(screen) == 1
        assert screen.model.state.question is None, "it is answered with that"


def mode(screen: MainScreen) -> str:
    return screen.model.state.compaction.mode if screen.model.state.compaction else ""


async def check_mode_and_policy(pilot: Pilot[Any], screen: MainScreen) -> None:
    """They are switched from the panel."""
    await pilot.press("M")
    await rest(pilot)
    await pilot.press(*"auto", "enter")
    await rest(pilot)
    assert mode(screen) == "auto"
    assert "mode auto" in shown(pilot.app)
    screen.model.switch_policy("layers")
    await rest(pilot)
    assert screen.model.state.compaction is not None
    assert screen.model.state.compaction.policy == "layers"
    assert "mode auto" in shown(pilot.app), "what was chosen for the session stays"
    screen.post_message(RunCommand("mode", "sometimes"))
    await rest(pilot)
    assert "expected one of auto, confirm, manual, off" in told(pilot.app)
    screen.post_message(RunCommand("mode", "off"))
    await rest(pilot)
    assert mode(screen) == "off"


@requirement("sliding", "commands", "a command of the screen shows the state of compaction")
async def test_the_panel_shows_triggers_history_and_metrics_and_switches_mode_and_policy(services: Services) -> None:
    async with panel(services, (110, 40)) as (pilot, screen):
        await pilot.press("i")
        await rest(pilot)
        assert isinstance(pilot.app.screen, ReportScreen)
        text = shown(pilot.app)
        for word in ("threshold", "left out", "overflow", "next", "history", "made"):
            assert word in text
        await pilot.press("escape")
        screen.post_message(RunCommand("compactions", "x"))
        await rest(pilot)
        assert "expected the number of an event" in told(pilot.app)
        await check_mode_and_policy(pilot, screen)
