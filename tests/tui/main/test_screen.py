"""The main screen: what the panes ask for reaches the session, and how the program ends."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.app import App

from tui.play import Script, answer, full_screen, main_screen, program, settle, shown, told, typed, until
from workbench.config.errors import WorkbenchError
from workbench.log.events import UserMessage
from workbench.sources.services import Services
from workbench.tui import messages
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send
from workbench.tui.widgets.dialogs import ConfirmDialog

pytestmark = pytest.mark.usefixtures("project")


async def test_a_conversation_on_the_screen(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("It is [/] done.", completion=850)).play(monkeypatch)
    async with program(services, (160, 30)) as (pilot, screen):
        await typed(pilot, "do it")
        picture = shown(pilot.app)
        assert "It is [/] done." in picture
        header, usage = picture.splitlines()[:2]
        assert usage.startswith(f" {screen.model.state.status.tokens:,} of 128,000 tokens · ")
        assert picture.count(f"{screen.model.state.status.tokens:,} of") == 1, "how full it is, is said once"
        assert "last answer 850" in usage
        assert "do it" in header
        assert [row.text for row in screen.inspector.shown.plan.items if row.kind == "message"][-1] == "It is [/] done."  # type: ignore[union-attr]  # settled
        await pilot.press("h", "i")
        await settle(pilot)
        assert screen.model.state.draft_cost.tokens == 1


async def test_what_the_panes_ask_for_reaches_the_model(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("A"), answer("B"), answer("C")).play(monkeypatch)
    async with program(services) as (pilot, screen):
        screen.post_message(messages.Send("one"))
        await until(lambda: len(screen.model.state.transcript) > 2)
        await settle(pilot)
        you, ai = (screen.model.state.transcript[len(screen.model.state.transcript) - away] for away in (2, 1))
        screen.post_message(messages.Decide("exclude", ai.seq, ai.seq))
        await until(lambda: entry_state(screen, ai.seq) == "excluded")
        screen.post_message(messages.RunCommand("undo"))
        await until(lambda: entry_state(screen, ai.seq) == "sent")
        screen.post_message(messages.Travel(0))
        await until(lambda: screen.model.state.shown is not None and screen.model.state.shown.at == 0)
        screen.post_message(messages.Interrupt())
        await until(lambda: screen.model.state.shown is not None and screen.model.state.shown.at is None)
        screen.post_message(messages.Jump(ai.seq, "inspector"))
        await until(lambda: screen.arrangement.active == "context")
        screen.post_message(messages.Jump(you.seq, "chat"))
        await until(lambda: screen.arrangement.active == "chat")
        screen.post_message(messages.RunCommand("retry"))
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await settle(pilot)
        assert "Ask rehearsal again? That sends about" in shown(pilot.app)
        await pilot.press("enter")
        await settle(pilot)
        assert all(screen.model.state.transcript[at].text != "B" for at in range(len(screen.model.state.transcript))), (
            "Enter leaves it"
        )
        screen.run_by_name("retry")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await settle(pilot)
        await pilot.press("y")
        await until(
            lambda: any(
                screen.model.state.transcript[at].text == "B" for at in range(len(screen.model.state.transcript))
            )
        )
        await settle(pilot)
        screen.post_message(messages.EditAndResend(you.seq, "uno"))
        await until(lambda: screen.model.state.title == "one (fork)")
        await settle(pilot)
        assert [
            entry.text
            for entry in map(screen.model.state.transcript.__getitem__, range(len(screen.model.state.transcript)))
        ][-1] == "C"


def entry_state(screen: MainScreen, seq: int) -> str:
    found = screen.model.state.transcript.entry_state(
        screen.model.state.transcript[screen.model.state.transcript.index_of(seq)]
    )
    return found.state if found else ""


async def test_quitting_ends_the_program_and_the_session_is_found_again(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("kept")).play(monkeypatch)
    app = full_screen(services)
    async with app.run_test() as pilot:
        await settle(pilot)
        await typed(pilot, "say it")
        await pilot.press("ctrl+q")
        await until(lambda: not app.is_running)
    async with program(services) as (pilot, screen):
        assert screen.model.state.title == "say it"
        assert "kept" in shown(pilot.app)


async def test_quitting_works_over_another_screen(services: Services) -> None:
    app = full_screen(services)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("f1")
        await until(lambda: app.screen is not main_screen(app))
        await pilot.press("ctrl+q")
        await until(lambda: not app.is_running)
    assert services.store.list() == []


async def test_what_cannot_be_opened_ends_the_program_with_its_error(services: Services) -> None:
    app = full_screen(services, "nowhere")
    async with app.run_test():
        await until(lambda: not app.is_running)
    assert isinstance(app.return_value, WorkbenchError)
    assert "nowhere: no such file" in str(app.return_value)


async def test_a_file_is_read_only_and_says_so(services: Services, talk: Path) -> None:
    async with program(services, ref=str(talk)) as (pilot, screen):
        assert "read-only" in shown(pilot.app).splitlines()[0]
        assert "\x1b" not in shown(pilot.app)
        await typed(pilot, "go on")
        assert screen.model.state.question is not None
        assert "Make a session of" in shown(pilot.app)


def says(app: App[Any], text: str) -> bool:
    return text in " ".join(shown(app).split())


@pytest.mark.long
async def test_the_stand_in_says_that_it_is_no_ai(services: Services) -> None:
    for size in ((80, 24), (200, 60)):
        async with program(services, size) as (pilot, _):
            assert "no AI, F7" in shown(pilot.app).splitlines()[1]
            await until(partial(says, pilot.app, "rehearsal answers by rule, without AI"))
            assert told(pilot.app) == ""


@pytest.mark.long
async def test_notices_leave_the_composer_of_a_small_terminal_free(services: Services) -> None:
    async with program(services, (80, 24)) as (pilot, screen):
        screen.show_notice("it follows rules and is no AI")
        await until(lambda: len(screen.query("Toast")) > 0)
        await settle(pilot)
        for toast in screen.query("Toast"):
            assert toast.region.area
            assert not toast.region.overlaps(screen.chat.composer.region)


@pytest.mark.long
async def test_a_session_is_not_shown_while_another_one_has_its_say(services: Services) -> None:
    for title in ("first", "second"):
        services.store.create([UserMessage(title)], title=title).close()
    async with program(services) as (pilot, screen):
        assert screen.model.state.title == "second"
        screen.send_or_run(Send("/open first"))
        await pilot.app.workers.wait_for_complete()
        await settle(pilot)
        assert screen.model.state.title == "first"
        assert "second" not in shown(pilot.app)
