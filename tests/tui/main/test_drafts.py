"""What is typed and not sent yet stays, whatever happens to the session meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.play import Script, answer, program, settle, shown, told, typed, until
from tui.recorded.long_run import as_session, run
from workbench.log.events import AssistantMessage, UserMessage
from workbench.session import outside_changes
from workbench.session.open_session import CHANGED_NOW
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send

pytestmark = pytest.mark.usefixtures("project")


def two_sessions(services: Services) -> None:
    """A long one, and after it a short one, which is opened."""
    for title, turns in (("long", 5), ("short", 2)):
        said = [body for at in range(turns) for body in (UserMessage(f"{title} {at}"), AssistantMessage("yes"))]
        services.store.create(said, title=title).close()


async def edit_last(pilot: Pilot[Any]) -> None:
    """Edit the last message of the user."""
    await pilot.press("shift+tab", "end", "up", "e")
    await settle(pilot)


async def open_other(pilot: Pilot[Any], screen: MainScreen, title: str) -> None:
    screen.send_or_run(Send(f"/open {title}"))
    await until(lambda: screen.model.state.title == title)
    await settle(pilot)


async def test_an_edit_ends_when_another_session_is_opened_and_its_text_stays(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(answer("done"))
    script.play(monkeypatch)
    two_sessions(services)
    async with program(services) as (pilot, screen):
        composer = screen.chat.composer
        await pilot.press(*"mine")
        await edit_last(pilot)
        assert "editing message 4" in shown(pilot.app)
        await pilot.press(*"more")
        await open_other(pilot, screen, "long")
        assert composer.text == "short 1more\n\nmine"
        assert composer.editing is None
        assert "the edit has ended; its text is your draft now" in told(pilot.app)
        await pilot.press("enter")
        await until(lambda: len(script.requests) == 1)
        await settle(pilot)
        assert [screen.model.state.transcript[at].text for at in (-2, -1)] == ["short 1more\n\nmine", "done"]
    assert sorted(info.title for info in services.store.list()) == ["long", "short"], "nothing was forked"


async def test_a_message_that_is_refused_comes_back(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside_changes, "CHECK_SECONDS", 3_600)
    ref = as_session(services, run(5))
    async with program(services, ref=ref) as (pilot, screen):
        with Services() as proxy, proxy.store.session(ref) as session:
            session.append(UserMessage("from the agent"))
        await typed(pilot, "hello")
        await until(lambda: CHANGED_NOW in told(pilot.app))
        await settle(pilot)
        assert screen.chat.composer.text == "hello"


async def test_an_edit_that_is_refused_comes_back(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    Script([gate, *answer("done")]).play(monkeypatch)
    two_sessions(services)
    async with program(services) as (pilot, screen):
        await edit_last(pilot)
        screen.send_or_run(Send("work"))
        await until(lambda: screen.model.state.activity.kind == "asking")
        await pilot.press(*"more", "enter")
        await until(lambda: "the model is still working" in told(pilot.app))
        await until(lambda: screen.chat.composer.text.endswith("more"))
        gate.set()
        await settle(pilot)
    assert len(services.store.list()) == 2


@pytest.mark.parametrize("keys", [["n", "enter"], ["escape"]], ids=["typed", "cancelled"])
async def test_a_message_comes_back_if_no_session_is_made_for_it(
    services: Services, talk: Path, keys: list[str]
) -> None:
    async with program(services, ref=str(talk)) as (pilot, screen):
        composer = screen.chat.composer
        await typed(pilot, "go on")
        await until(lambda: screen.model.state.question is not None)
        assert composer.text == ""
        composer.focus()
        await pilot.press(*keys)
        await until(lambda: screen.model.state.question is None)
        await settle(pilot)
        assert composer.text == "go on"
        assert told(pilot.app) == ""
    assert services.store.list() == []


async def test_an_edit_without_a_change_leaves_no_text_in_another_session(services: Services) -> None:
    two_sessions(services)
    async with program(services) as (pilot, screen):
        await pilot.press(*"mine")
        await edit_last(pilot)
        await open_other(pilot, screen, "long")
        assert screen.chat.composer.text == "mine"


async def test_a_draft_outlives_a_session_switch(services: Services) -> None:
    two_sessions(services)
    async with program(services) as (pilot, screen):
        await pilot.press(*"mine")
        await open_other(pilot, screen, "long")
        assert screen.chat.composer.text == "mine"
        await pilot.press("up")
        assert screen.chat.composer.text == "long 4"
        await open_other(pilot, screen, "short")
        assert screen.chat.composer.text == "long 4"
        await pilot.press("down")
        assert screen.chat.composer.text == "mine"


async def test_an_edit_goes_on_while_the_same_session_grows(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("done")).play(monkeypatch)
    two_sessions(services)
    async with program(services) as (pilot, screen):
        await edit_last(pilot)
        await pilot.press(*"more")
        screen.send_or_run(Send("meanwhile"))
        await until(lambda: screen.model.state.transcript[-1].text == "done")
        await settle(pilot)
        assert screen.chat.composer.text == "short 1more"
        assert screen.chat.composer.editing is not None
