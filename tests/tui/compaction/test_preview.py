"""The preview on the screen: look, draft, edit, put lost things back, accept, discard; nothing lost by a mistake."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.compaction.long_talk import SUMMARY, panel, rest, stored
from tui.play import Script, answer, shown, told, top, until
from workbench.agent.compaction_runner import CHANGED
from workbench.log.events import Compaction
from workbench.models.failures import ModelFailure
from workbench.session.fault_reports import latest_report
from workbench.session.worker import SessionWorker
from workbench.sources.services import Services
from workbench.tui.compaction.history import HistoryScreen
from workbench.tui.compaction.preview import PreviewScreen
from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.buttons import ButtonLine
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.reader import BoxedText
from workbench.tui.widgets.report import ReportScreen

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> Script:
    """A model that summarises."""
    made = Script(*[answer(SUMMARY)] * 2)
    made.play(monkeypatch)
    return made


async def preview(pilot: Pilot[Any]) -> PreviewScreen:
    """The preview, with its figures."""
    await pilot.press("enter")
    await rest(pilot)
    found = pilot.app.screen
    assert isinstance(found, PreviewScreen)
    return found


async def drafted(pilot: Pilot[Any], key: str = "enter") -> PreviewScreen:
    """The draft, ready to be edited."""
    found = await preview(pilot)
    await pilot.press(key)
    await until(lambda: found.stage == "draft")
    await rest(pilot)
    return found


async def summaries(screen: MainScreen) -> list[str]:
    """Of the compactions in the log."""
    events = await screen.from_session(lambda opened: list(opened.events))
    return [event.body.summary for event in events if isinstance(event.body, Compaction)]


async def discarded(pilot: Pilot[Any], screen: MainScreen) -> None:
    """Leave a draft, and say that it may be lost."""
    await pilot.press("escape")
    await rest(pilot)
    await pilot.press("y")
    await rest(pilot)
    assert top(pilot) is screen


async def check_what_would_be_summarised(pilot: Pilot[Any], screen: MainScreen, model: Script) -> None:
    """It is shown, and nobody is asked."""
    await preview(pilot)
    text = shown(pilot.app)
    assert "nothing has been asked or changed yet" in text
    assert "facts         a summary without a model keeps all 13; the draft shows what scripted would lose" in text
    assert "18 items with 4,224 tokens, events 3 to 31" in text
    assert f" of {screen.model.state.status.tokens:,} tokens" in text
    assert "kept            3  user" in text
    called = next(line for line in text.splitlines() if "summarised      4  run_command()" in line)
    assert called.rstrip().endswith("Bash pytest tests/test_1.py"), "told in the line that the context has for it"
    assert not model.requests
    await pilot.press("escape")
    await rest(pilot)
    assert top(pilot) is screen


async def check_discarding(pilot: Pilot[Any], screen: MainScreen) -> None:
    """It asks, unless the draft cost nothing."""
    found = await drafted(pilot, "d")
    await pilot.press("escape")
    await rest(pilot)
    assert top(pilot) is screen, "a digest nobody touched is made again in no time"
    found = await drafted(pilot, "d")
    await pilot.press("x")
    for key in ("escape", "enter", "n"):
        await pilot.press("escape")
        await rest(pilot)
        assert isinstance(top(pilot), ConfirmDialog)
        assert "and your changes" in shown(pilot.app)
        await pilot.press(key)
        await rest(pilot)
        assert top(pilot) is found
        assert found.editor.text.startswith("x")
    await pilot.press("escape")
    await rest(pilot)
    await pilot.press("y")
    await rest(pilot)
    assert top(pilot) is screen
    assert not await summaries(screen)


async def check_discarding_the_model_s_own(pilot: Pilot[Any], screen: MainScreen) -> None:
    """That is not done unasked either."""
    await drafted(pilot)
    await pilot.press("escape")
    await rest(pilot)
    assert isinstance(top(pilot), ConfirmDialog)
    line = top(pilot).query_one(ButtonLine)
    await pilot.click(line, offset=(line.lines(60)[0].plain.index("y discard"), 0))
    await rest(pilot)
    assert top(pilot) is screen


async def check_chosen_things(pilot: Pilot[Any], screen: MainScreen) -> None:
    """They alone are put back, and their source can be read."""
    found = await drafted(pilot)
    await pilot.press("tab")
    await rest(pilot)
    assert found.facts.has_focus
    await pilot.press("space", "down", "space")
    assert [fact.text for fact in found.facts.chosen] == ["tests/test_1.py", "tests/test_3.py"]
    assert shown(pilot.app).count("[x] lost") == 2
    await pilot.press("o")
    await rest(pilot)
    assert isinstance(pilot.app.screen, BoxedText)
    assert "pytest tests/test_4.py" in shown(pilot.app)
    await pilot.press("escape", "ctrl+l")
    await until(lambda: "10 lost, 3 kept" in shown(pilot.app))
    assert "path: tests/test_3.py" in found.editor.text
    assert "ValueError" not in found.editor.text
    await discarded(pilot, screen)


async def check_stopping(pilot: Pilot[Any], screen: MainScreen, model: Script) -> None:
    """A draft that is being written can be stopped."""
    gate = threading.Event()
    model.answers = [[gate, *answer(SUMMARY)]]
    found = await preview(pilot)
    await pilot.press("enter")
    await until(lambda: "⟳ drafting: asking scripted" in shown(pilot.app))
    await pilot.press("escape")
    await rest(pilot)
    gate.set()
    assert found.stage == "look"
    assert "stopped; nothing was changed" in shown(pilot.app)
    assert not await summaries(screen)
    await pilot.press("escape")
    await rest(pilot)
    assert top(pilot) is screen


async def check_hostile_summary(pilot: Pilot[Any], screen: MainScreen, model: Script) -> None:
    """What a terminal would act on never gets into the editor."""
    model.answers = [answer("red \x1b[31mtext [/b] and\ttab")]
    found = await drafted(pilot)
    assert found.editor.text == "red ␛[31mtext [/b] and  tab"
    await discarded(pilot, screen)


async def check_that_the_digest_stands_in(pilot: Pilot[Any], screen: MainScreen, model: Script) -> None:
    """Where the model fails; and it says why."""
    model.answers = [[ModelFailure("authentication", "no such model")]]
    await drafted(pilot)
    assert "by digest" in shown(pilot.app)
    assert "no such model" in shown(pilot.app)
    await pilot.press("escape")
    await rest(pilot)
    assert top(pilot) is screen


async def check_a_draft_whose_session_is_gone(pilot: Pilot[Any], screen: MainScreen, model: Script) -> None:
    """A change of it is refused with a notice."""

    async def forget(work: SessionWorker) -> None:
        work.drafts._previewed = None  # as when another session was opened

    model.answers = [answer(SUMMARY)]
    found = await drafted(pilot)
    await screen.model.call_session(lambda work: partial(forget, work))
    found.editor.load_text("another text")
    await until(lambda: CHANGED in told(pilot.app))
    assert latest_report() is None


@pytest.mark.long
async def test_a_preview_is_looked_at_drafted_stopped_and_discarded(services: Services, model: Script) -> None:
    async with panel(services) as (pilot, screen):
        await check_what_would_be_summarised(pilot, screen, model)
        await check_discarding(pilot, screen)
        await check_discarding_the_model_s_own(pilot, screen)
        await check_chosen_things(pilot, screen)
        for check in (
            check_stopping,
            check_hostile_summary,
            check_that_the_digest_stands_in,
            check_a_draft_whose_session_is_gone,
        ):
            await check(pilot, screen, model)
        assert not await summaries(screen)


@pytest.mark.long
async def test_a_small_terminal_shows_the_keys_and_what_was_lost(services: Services) -> None:
    small, smaller = (60, 15), (40, 12)
    async with panel(services, small) as (pilot, _):
        found = await preview(pilot)
        for size in (small, smaller):
            await pilot.resize_terminal(*size)
            await rest(pilot)
            assert "Enter make the draft" in shown(pilot.app)
        await pilot.press("enter")
        await until(lambda: found.stage == "draft")
        for size in (smaller, small):
            await pilot.resize_terminal(*size)
            await rest(pilot)
            text = shown(pilot.app)
            assert "12 lost, 1 kept" in text
            assert "[ ] lost path tests/test_1.py" in text
            assert "Ctrl+S accept" in text
            assert "Esc discard" in text
            assert "## Goal" in text, "and a line of the summary"


@pytest.mark.long
async def test_a_draft_is_edited_with_live_figures_refused_when_empty_and_accepted(services: Services) -> None:
    async with panel(services) as (pilot, screen):
        found = await drafted(pilot)
        assert found.editor.has_focus
        assert f"request  {screen.model.state.status.tokens:,} → " in shown(pilot.app)
        assert "facts    keeps 1 of 13, loses 12: tests/test_1.py, " in shown(pilot.app), "what is lost comes first"
        assert "12 lost, 1 kept" in shown(pilot.app)
        found.editor.load_text("")
        await pilot.press("ctrl+s")
        await until(lambda: "not accepted: the summary is empty" in shown(pilot.app))
        assert found.stage == "draft"
        found.editor.load_text(SUMMARY)
        found.editor.move_cursor(found.editor.document.end)
        await pilot.press("space", *"abc1232")
        await until(lambda: "11 lost, 2 kept" in shown(pilot.app))
        assert "facts    keeps 2 of 13, loses 11: " in shown(pilot.app)
        await pilot.press("ctrl+s")
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        assert (await summaries(screen)) == [SUMMARY + " abc1232"]


async def test_one_key_puts_all_lost_things_back_and_undo_takes_that_back(services: Services) -> None:
    async with panel(services) as (pilot, screen):
        found = await drafted(pilot)
        await pilot.press("ctrl+l")
        await until(lambda: "0 lost, 13 kept" in shown(pilot.app))
        assert "From the record, word for word" in found.editor.text
        await pilot.press("ctrl+l")
        await rest(pilot)
        await pilot.press("ctrl+z")
        await until(lambda: "12 lost, 1 kept" in shown(pilot.app))
        assert found.editor.text == SUMMARY
        await pilot.press("ctrl+l", "ctrl+s")
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        [summary] = await summaries(screen)
        assert "ValueError" in summary, "what is accepted is what is on the screen"


async def test_escape_leaves_a_draft_that_cost_nothing_and_was_not_touched(services: Services) -> None:
    async with panel(services, ref=stored(services, model="rehearsal")) as (pilot, screen):
        found = await drafted(pilot)
        assert found.stage == "draft"
        await pilot.press("escape")
        await rest(pilot)
        assert top(pilot) is screen


async def test_where_there_is_nothing_to_preview_it_says_why(services: Services) -> None:
    async with panel(services, ref="") as (pilot, screen):
        found = await preview(pilot)
        assert found.stage == "refused"
        assert "nothing to compact: the conversation is empty" in shown(pilot.app)
        assert "Compact conversation?" not in shown(pilot.app), "there is nothing to ask"
        await pilot.press("y", "enter", "d", "ctrl+s", "ctrl+l")
        await rest(pilot)
        assert found.stage == "refused"
        assert top(pilot) is found, "it can only be left"
        await pilot.press("escape")
        await rest(pilot)
        assert top(pilot) is screen


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.wide)])
async def test_every_button_does_what_its_key_does(services: Services, size: tuple[int, int]) -> None:
    async with panel(services, size) as (pilot, screen):
        found = await preview(pilot)

        async def click(label: str) -> None:
            line = found.buttons
            [(y, text)] = [
                (y, each.plain) for y, each in enumerate(line.lines(line.content_size.width)) if label in each.plain
            ]
            await pilot.click(line, offset=(text.index(label) + line.gutter.left, y))
            await rest(pilot)

        await click("Enter make the draft")
        await until(lambda: found.stage == "draft")
        await rest(pilot)
        await click("Tab summary")
        assert found.facts.has_focus
        await click("Tab summary")
        assert found.editor.has_focus
        await click("Ctrl+L put")
        assert "ValueError" in found.editor.text
        await click("Esc discard")
        assert isinstance(pilot.app.screen, ConfirmDialog)
        await pilot.press("n")
        await rest(pilot)
        await click("Ctrl+S accept")
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        assert len(await summaries(screen)) == 1


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.wide)])
async def test_a_summary_is_judged_before_it_is_accepted(
    services: Services, model: Script, size: tuple[int, int]
) -> None:
    async def score(key: str) -> str:
        await pilot.press(key)
        await until(lambda: isinstance(pilot.app.screen, ReportScreen))
        await rest(pilot)
        [line] = [each for each in shown(pilot.app).splitlines() if " score " in each]
        assert "the proposed summary" in shown(pilot.app)
        await pilot.press("escape")
        await rest(pilot)
        return line.split("score")[1].strip(" │")

    async with panel(services, size) as (pilot, screen):
        found = await preview(pilot)
        assert "J judge it" in shown(pilot.app)
        digest = await score("J")
        assert not model.requests, "before there is a draft, the summary without a model is judged"
        await pilot.press("enter")
        await until(lambda: found.stage == "draft")
        await rest(pilot)
        assert "Ctrl+R judge it" in shown(pilot.app)
        await pilot.press("J")
        assert found.editor.text.startswith("J"), "a letter, while the summary is edited"
        found.editor.load_text("Some work was done.")
        poor = await score("ctrl+r")
        await pilot.press("tab")
        assert await score("J") == poor
        assert float(poor.partition(" %")[0]) < float(digest.partition(" %")[0])
        assert not await summaries(screen)
