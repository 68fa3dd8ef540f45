"""A search of the input finds what was typed in other sessions of the folder."""

from __future__ import annotations

from typing import NoReturn

import pytest

from tui.play import program, shown, told, until
from workbench.config.errors import WorkbenchError
from workbench.config.folders import WorkFolder, work_folder
from workbench.log.events import UserMessage
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


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

    monkeypatch.setattr(services.store, "user_messages", broken)
    async with program(services) as (pilot, screen):
        await pilot.press("ctrl+r")
        await until(lambda: "the disk failed" in told(pilot.app))
        assert screen.chat.composer.is_searching
