"""Going on from a summary of a session in a new one, by a command of the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.requirements import requirement
from tui.play import SMALL, Script, answer, main_screen, program, settle, told, until
from tui.screens.looking import seen
from workbench.log.events import CONTINUED_FROM, AssistantMessage, Body, Compaction, Setting, UserMessage, text_of
from workbench.sources.services import Services
from workbench.tui.commands.palette import CommandHits
from workbench.tui.messages import Send
from workbench.tui.screens.continuing import ContinueScreen

pytestmark = pytest.mark.usefixtures("project")
SAID: list[Body] = [UserMessage("what is left?"), AssistantMessage("two bugs", "r1")]
SUMMARY = "The user asked what is left; two bugs are."


def began_with(services: Services, title: str) -> tuple[str, Compaction]:
    """Where the session of a title goes on from, and the summary that it begins with."""
    [info] = [info for info in services.store.list() if info.title == title]
    with services.store.session(info.id, write=False) as session:
        bodies = [event.body for event in session.events()]
    [origin] = [body.value for body in bodies if isinstance(body, Setting) and body.key == CONTINUED_FROM]
    [summary] = [body for body in bodies if isinstance(body, Compaction)]
    return origin, summary


@requirement("window", "commands", "on the screen a command continues from the previous conversation")
async def test_a_session_goes_on_in_a_new_one_with_the_summary_that_was_agreed_to(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    with services.store.create(SAID, title="bugs") as old:
        origin, length = old.id, len(old)
    Script(answer(SUMMARY)).play(monkeypatch)
    async with program(services, SMALL) as (pilot, screen):
        await pilot.press("f10")
        await seen(pilot, "continue from: bugs", "two bugs are", "begin the new session")
        page = pilot.app.screen
        assert isinstance(page, ContinueScreen)
        page.editor.insert(" [b]", page.editor.document.end)
        await pilot.press("ctrl+s")
        await until(lambda: pilot.app.screen is screen)
        await settle(pilot)
        assert screen.model.state.title == "continued: bugs"
        assert "now in continued: bugs; the other session is unchanged" in told(pilot.app)
        assert screen.inspector.shown is not None
        [sent] = [row.text for row in screen.inspector.shown.plan.items if row.slot == "summaries"]
        assert sent is not None
        assert sent.endswith(f"{SUMMARY} [b]")
    assert began_with(services, "continued: bugs")[0] == origin
    assert began_with(services, "continued: bugs")[1].meta["made_by"] == "hand", "it was changed"
    assert services.store.info(origin).events >= length


async def test_in_an_empty_session_it_is_the_previous_one_that_goes_on(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.store.create(SAID, title="bugs").close()
    Script(answer(SUMMARY)).play(monkeypatch)
    async with program(services, SMALL) as (pilot, screen):
        screen.model.new_session()
        await settle(pilot)
        screen.send_or_run(Send("/continue"))
        await seen(pilot, "continue from: bugs", SUMMARY[:20])
        await pilot.press("ctrl+s")
        await until(lambda: pilot.app.screen is main_screen(pilot.app))
        await settle(pilot)
        assert screen.model.state.title == "continued: bugs"
    assert began_with(services, "continued: bugs")[1].summary == SUMMARY
    assert began_with(services, "continued: bugs")[1].meta["made_by"] == "rehearsal"


async def test_where_it_is_left_or_nothing_was_said_no_session_is_made(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer(SUMMARY)).play(monkeypatch)
    async with program(services, SMALL) as (pilot, screen):
        screen.send_or_run(Send("/continue"))
        await seen(pilot, "there is no earlier session to continue from")
        await pilot.press("ctrl+s", "escape")
        await until(lambda: pilot.app.screen is screen)
        other = services.store.create(SAID, title="bugs")
        other.close()
        screen.send_or_run(Send(f"/continue {other.id}"))
        await seen(pilot, "continue from: bugs", "begin the new session")
        page = pilot.app.screen
        assert isinstance(page, ContinueScreen)
        page.editor.load_text(" ")
        await pilot.press("ctrl+s")
        await seen(pilot, "the summary is empty")
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        assert not [info for info in services.store.list() if info.title.startswith("continued")]
        names = [str(hit.prompt) async for hit in CommandHits(screen).discover()]
        assert any(name.startswith("continue from previous") for name in names)


@pytest.mark.long
async def test_it_is_what_is_open_that_goes_on_a_file_among_others(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.store.create([UserMessage("something else"), AssistantMessage("indeed", "r1")], title="another").close()
    file = tmp_path / "talk.json"
    file.write_text('[{"role": "user", "content": "what is left?"}, {"role": "assistant", "content": "two bugs"}]')
    played = Script(answer(SUMMARY))
    played.play(monkeypatch)
    async with program(services, SMALL) as (pilot, screen):
        screen.send_or_run(Send(f"/open {file}"))
        await settle(pilot)
        await pilot.press("f10")
        await seen(pilot, "continue from: talk.json", "two bugs are", "begin the new session")
        assert "something else" not in str(played.requests)
        await pilot.press("ctrl+s")
        await until(lambda: pilot.app.screen is screen)
        await settle(pilot)
        assert screen.model.state.title == "continued: talk.json"
    origin, _ = began_with(services, "continued: talk.json")
    with services.store.session(str(origin), write=False) as kept:
        assert [text_of(event.body.content) for event in kept.events() if isinstance(event.body, UserMessage)] == [
            "what is left?"
        ], "the originals can be read from the new session"


async def test_a_model_that_costs_is_not_asked_before_the_user_says_so(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.store.create([Setting("model", "openai/gpt-4o"), *SAID], title="bugs").close()
    played = Script(answer(SUMMARY))
    played.play(monkeypatch)
    async with program(services, SMALL) as (pilot, screen):
        await pilot.press("f10")
        await seen(pilot, "continue from: bugs", "openai/gpt-4o", "at most $0.0", "nothing was sent yet")
        assert not played.requests
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        await pilot.press("f10")
        await seen(pilot, "nothing was sent yet")
        await pilot.press("d")
        await seen(pilot, "by digest", "begin the new session")
        assert not played.requests
        await pilot.press("escape", "f10")
        await seen(pilot, "nothing was sent yet")
        await pilot.press("enter")
        await seen(pilot, "two bugs are", "begin the new session")
        assert len(played.requests) == 1
