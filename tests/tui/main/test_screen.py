"""The main screen: panes, focus, values down and messages up."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from textual.app import App
from textual.content import Content
from textual.geometry import Region

from tui.play import Script, answer, full_screen, main_screen, program, settle, shown, told, typed, until
from workbench.config.errors import WorkbenchError
from workbench.config.folders import WorkFolder, work_folder
from workbench.log.events import UserMessage
from workbench.session.services import Services
from workbench.tui import demo, messages
from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.dialogs import ConfirmDialog

pytestmark = pytest.mark.usefixtures("project")


def regions(screen: MainScreen) -> dict[str, Region]:
    """The panes that are seen, and where."""
    return {name: pane.region for name, pane in screen.panes() if pane.display and pane.region}


@pytest.mark.long
async def test_a_narrow_terminal_shows_one_pane_at_a_time(services: Services) -> None:
    async with program(services, (80, 24)) as (pilot, screen):
        assert set(regions(screen)) == {"chat"}
        assert regions(screen)["chat"].width == 80
        for key, name in (("f3", "context"), ("f4", "compaction"), ("f2", "chat")):
            await pilot.press(key)
            await settle(pilot)
            assert set(regions(screen)) == {name}
        await pilot.press("f5")
        await settle(pilot)
        assert "side by side need 100 columns" in told(pilot.app)
        await pilot.click("Header", offset=(55, 0))
        await settle(pilot)
        assert set(regions(screen)) == {"context"}
        await pilot.resize_terminal(160, 40)
        await settle(pilot)
        assert set(regions(screen)) == {"chat", "context", "compaction"}
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert set(regions(screen)) == {"context"}


async def test_a_wide_terminal_shows_them_side_by_side_and_uses_the_room(services: Services) -> None:
    async with program(services, (200, 60)) as (pilot, screen):
        seen = regions(screen)
        assert seen["chat"].right <= seen["context"].x
        assert seen["context"].bottom <= seen["compaction"].y
        assert seen["context"].right == seen["compaction"].right == 200
        wide, high = seen["chat"].width, seen["context"].height
        await pilot.press("alt+right", "alt+pageup")
        await settle(pilot)
        assert regions(screen)["chat"].width > wide
        assert regions(screen)["context"].height < high
        await pilot.press("alt+left", "alt+pagedown")
        await settle(pilot)
        assert regions(screen)["chat"].width == wide
        await pilot.press("f5")
        await settle(pilot)
        assert set(regions(screen)) == {"chat"}
        await pilot.press("f3")
        await settle(pilot)
        assert set(regions(screen)) == {"context"}
        await pilot.press("f5", "ctrl+b")
        await settle(pilot)
        assert set(regions(screen)) == {"chat"}
        assert screen.focused is not None
        assert screen.chat in screen.focused.ancestors_with_self
        await pilot.press("ctrl+b")
        await settle(pilot)
        assert set(regions(screen)) == {"chat", "context", "compaction"}
        await typed(pilot, "/hide chat")
        assert set(regions(screen)) == {"context", "compaction"}


@pytest.mark.long
async def test_the_focus_comes_back_to_where_it_was(services: Services) -> None:
    async with program(services) as (pilot, screen):
        composer = screen.focused
        await pilot.press("f3")
        await settle(pilot)
        rows = screen.focused
        assert rows is not composer
        await pilot.press("f2")
        await settle(pilot)
        assert screen.focused is composer
        await pilot.press("f3")
        await settle(pilot)
        assert screen.focused is rows


async def test_tab_goes_from_the_composer_to_the_transcript_beside_other_panes_too(services: Services) -> None:
    services.store.create([UserMessage("hi")], title="talk").close()
    async with program(services, (200, 60)) as (pilot, screen):
        assert screen.chat.composer.has_focus
        await pilot.press("tab")
        await settle(pilot)
        assert screen.chat.view.has_focus
        await pilot.press("tab")
        await settle(pilot)
        assert screen.chat.composer.has_focus


async def test_a_conversation_on_the_screen(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("It is [/] done.", completion=850)).play(monkeypatch)
    async with program(services, (160, 40)) as (pilot, screen):
        await typed(pilot, "do it")
        picture = shown(pilot.app)
        assert "It is [/] done." in picture
        header, usage = picture.splitlines()[:2]
        assert usage.startswith(f" {screen.status.tokens:,} of 128,000 tokens · ")
        assert picture.count(f"{screen.status.tokens:,} of") == 1, "how full it is, is said once"
        assert "last answer 850" in usage
        assert "do it" in header
        assert [row.text for row in screen.inspector.shown.plan.rows if row.kind == "message"][-1] == "It is [/] done."  # type: ignore[union-attr]  # settled
        await pilot.press("h", "i")
        await settle(pilot)
        assert screen.draft_cost.tokens == 1


async def test_what_the_panes_ask_for_reaches_the_model(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("A"), answer("B"), answer("C")).play(monkeypatch)
    async with program(services) as (pilot, screen):
        screen.post_message(messages.Send("one"))
        await until(lambda: len(screen.transcript) > 2)
        await settle(pilot)
        you, ai = (screen.transcript[len(screen.transcript) - away] for away in (2, 1))
        screen.post_message(messages.Decide("exclude", ai.seq, ai.seq))
        await until(lambda: standing(screen, ai.seq) == "excluded")
        screen.post_message(messages.Run("undo"))
        await until(lambda: standing(screen, ai.seq) == "sent")
        screen.post_message(messages.Travel(0))
        await until(lambda: screen.shown is not None and screen.shown.at == 0)
        screen.post_message(messages.Interrupt())
        await until(lambda: screen.shown is not None and screen.shown.at is None)
        screen.post_message(messages.Jump(ai.seq, "inspector"))
        await until(lambda: screen.arrangement.active == "context")
        screen.post_message(messages.Jump(you.seq, "chat"))
        await until(lambda: screen.arrangement.active == "chat")
        screen.post_message(messages.Retry())
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await settle(pilot)
        assert "Ask rehearsal again? That sends about" in shown(pilot.app)
        await pilot.press("enter")
        await settle(pilot)
        assert all(screen.transcript[at].text != "B" for at in range(len(screen.transcript))), "Enter leaves it"
        screen.run("retry")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await settle(pilot)
        await pilot.press("y")
        await until(lambda: any(screen.transcript[at].text == "B" for at in range(len(screen.transcript))))
        await settle(pilot)
        screen.post_message(messages.EditAndResend(you.seq, "uno"))
        await until(lambda: screen.session_title == "one (fork)")
        await settle(pilot)
        assert [entry.text for entry in map(screen.transcript.__getitem__, range(len(screen.transcript)))][-1] == "C"


def standing(screen: MainScreen, seq: int) -> str:
    found = screen.transcript.standing(screen.transcript[screen.transcript.index_of(seq)])
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
        assert screen.session_title == "say it"
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
        assert screen.question is not None
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
        screen.tell("it follows rules and is no AI")
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
        assert screen.session_title == "second"
        screen.say("/open first")
        await pilot.app.workers.wait_for_complete()
        await settle(pilot)
        assert screen.session_title == "first"
        assert "second" not in shown(pilot.app)


async def test_escape_goes_one_step_out_and_at_last_to_the_input(services: Services) -> None:
    async with program(services, (160, 40)) as (pilot, screen):
        for key in ("f3", "f4"):
            await pilot.press(key)
            await settle(pilot)
            assert not screen.chat.composer.has_focus
            await pilot.press("escape")
            await settle(pilot)
            assert screen.chat.composer.has_focus
        await pilot.press("tab", "f2")
        await settle(pilot)
        assert screen.chat.composer.has_focus, "F2 goes to the input from the transcript too"
        await pilot.press("f3", "q")
        await settle(pilot)
        assert screen.chat.composer.has_focus


@pytest.mark.long
async def test_the_pane_with_the_focus_has_its_keys_in_its_border(services: Services) -> None:
    async with program(services, (160, 40)) as (pilot, screen):
        for key, name, hint in (
            ("f3", "context", "Enter open"),
            ("f4", "compaction", "c compact"),
            ("f2", "chat", "Enter send"),
        ):
            await pilot.press(key)
            await settle(pilot)
            for other, pane in screen.panes():
                foot = Content.from_markup(pane.border_subtitle or "").plain
                assert (hint in foot) == (other == name)


async def test_the_borders_between_the_panes_can_be_dragged(services: Services) -> None:
    async with program(services, (160, 40)) as (pilot, screen):
        side = screen.query_one("#side").region
        await pilot.mouse_down(offset=(side.x, side.y + 3))
        await pilot.hover(offset=(side.x - 20, side.y + 3))
        await pilot.mouse_up(offset=(side.x - 20, side.y + 3))
        await settle(pilot)
        moved = screen.query_one("#side").region
        assert abs(moved.x - (side.x - 20)) <= 1
        border = screen.panel.region.y
        await pilot.mouse_down(offset=(moved.x + 5, border))
        await pilot.hover(offset=(moved.x + 5, border - 8))
        await pilot.mouse_up(offset=(moved.x + 5, border - 8))
        await settle(pilot)
        assert abs(screen.panel.region.y - (border - 8)) <= 1
        await pilot.hover(offset=(moved.x + 30, border + 4))
        await settle(pilot)
        assert screen.query_one("#side").region == moved, "let go is let go"


@pytest.mark.long
async def test_whether_all_panes_are_shown_is_kept(services: Services) -> None:
    async with program(services, (120, 40)) as (pilot, screen):
        assert set(regions(screen)) == {"chat"}
        await pilot.press("f5")
        await settle(pilot)
        assert set(regions(screen)) == {"chat", "context", "compaction"}
    with Services() as again:
        async with program(again, (120, 40)) as (pilot, screen):
            assert set(regions(screen)) == {"chat", "context", "compaction"}
            await pilot.press("f5")
            await settle(pilot)
    with Services() as again:
        async with program(again, (200, 60)) as (_, screen):
            assert set(regions(screen)) == {"chat"}


async def test_ctrl_r_finds_what_was_typed_in_other_sessions_of_this_folder(services: Services) -> None:
    store, here = services.store, work_folder()
    store.create([UserMessage("a question of before"), UserMessage("said twice")], folder=here).close()
    store.create([UserMessage("another question"), UserMessage("said twice")], folder=here).close()
    store.create([UserMessage("a question from elsewhere")], folder=WorkFolder("/nowhere")).close()
    store.create([UserMessage("a question from a file")]).close()
    with store.create([UserMessage("the question of now")], folder=here) as session:
        ref = session.id
    async with program(services, ref=ref) as (pilot, screen):
        composer = screen.chat.composer
        await pilot.press("ctrl+r")
        assert composer.text == "the question of now"
        seen = []
        for _ in range(5):
            await screen.workers.wait_for_complete()
            seen.append(composer.text)
            await pilot.press("ctrl+r")
        assert seen == ["the question of now", "said twice", "another question", *["a question of before"] * 2]
        await pilot.press(*"elsewhere")
        assert "nothing found" in shown(pilot.app)
        await pilot.press("escape", "up")
        assert composer.text == "the question of now"
        await pilot.press("up")
        assert composer.text == "the question of now"


@pytest.mark.long
async def test_what_was_typed_elsewhere_is_shown_once_it_is_there(services: Services) -> None:
    services.store.create([UserMessage("a question of before")], folder=work_folder()).close()
    async with program(services) as (pilot, screen):
        await pilot.press("ctrl+r", *"of be")
        await until(lambda: screen.chat.composer.text == "a question of before")


@pytest.mark.long
async def test_a_store_that_cannot_tell_the_past_leaves_the_search(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(folder: str) -> NoReturn:
        raise WorkbenchError("the disk failed")

    monkeypatch.setattr(services.store, "said", broken)
    async with program(services) as (pilot, screen):
        await pilot.press("ctrl+r")
        await until(lambda: "the disk failed" in told(pilot.app))
        assert screen.chat.composer.is_searching


async def test_the_rows_are_there_after_what_happened_while_the_pane_was_hidden() -> None:
    with demo.folders() as ref, Services() as services:
        async with program(services, (120, 40), ref) as (pilot, _):

            async def seen_rows() -> int:
                await pilot.press("f3")
                await settle(pilot)
                return len(re.findall(r"^[│┃].? *\d+  \w", shown(pilot.app), re.M))

            assert await seen_rows() > 20
            for keys in (("f4", "enter", "enter", "ctrl+s", "escape"), ("f4", "u", "y")):
                for key in keys:
                    await pilot.press(key)
                    await settle(pilot)
                assert await seen_rows() > 20
