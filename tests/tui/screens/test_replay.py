"""The request that is looked at, sent again from the screen: asked for, answered, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

import pytest
from textual.containers import HorizontalScroll

from support.provider import Answer, Provider
from tui.play import program, settle, told, until
from tui.screens.looking import listed, seen, values
from workbench.config.errors import WrongCall
from workbench.sources.options import Options
from workbench.sources.replay_answers import ReplayAnswer
from workbench.sources.replaying import ReplayWish
from workbench.sources.services import Services
from workbench.tui.messages import Send
from workbench.tui.screens.replay import AnswerColumn, ReplayScreen, ResendScreen, read_wish
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.text_dialog import TextDialog

pytestmark = pytest.mark.usefixtures("project")


def answered(text: str) -> dict[str, Any]:
    used = {"prompt_tokens": 90, "completion_tokens": 9}
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"model": "gpt-4o", "choices": [choice], "usage": used}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two requests of a conversation, with their answers."""
    talk = [{"role": "user", "content": "look"}]
    more = [*talk, {"role": "assistant", "content": "One [b]file."}, {"role": "user", "content": "and now?"}]
    lines = [
        {"request": {"model": "gpt-4o", "messages": talk}, "response": answered("One [b]file.")},
        {"request": {"model": "gpt-4o", "messages": more}, "response": answered("Two files.\nThat is all.")},
    ]
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


async def test_it_asks_what_and_whether_and_shows_the_answers_side_by_side(services: Services, recording: Path) -> None:
    body = json.dumps(answered("Three files.\nThat is all.")).encode()
    async with (
        Provider(Answer(body=body, content_type="application/json")) as provider,
        program(services, (150, 30), ref=str(recording)) as (pilot, screen),
    ):
        screen.send_or_run(Send("/replay"))
        await until(lambda: isinstance(pilot.app.screen, ResendScreen))
        finder = await listed(pilot)
        await seen(pilot, "replay request 2", "One [b]file.", "Enter send it again", "-n 1")
        finder.found.highlighted = values(finder).index("messages.1")
        await pilot.pause()
        await pilot.press("x")
        await seen(pilot, "excluded", "frees")
        await pilot.press("n")
        await until(lambda: isinstance(pilot.app.screen, TextDialog))
        await pilot.pause()
        page = pilot.app.screen
        assert isinstance(page, TextDialog)
        page.field.value = "three times"
        await pilot.press("enter")
        await seen(pilot, "three: expected -n K")
        page.field.value = "--at 1"
        await pilot.press("enter")
        await seen(pilot, "request 2 is open here")
        page.field.value = f"-n 2 --to {provider.url}"
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, ResendScreen))
        await seen(pilot, "-n 2 --to ")
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await seen(pilot, "Send request 2 to gpt-4o 2 times", "for about $0.00")
        assert provider.requests == []
        await pilot.press("y")
        await until(lambda: isinstance(pilot.app.screen, ReplayScreen))
        await seen(pilot, "- Two files.", "+ Three files.", "  That is all.", "recorded", "try 1", "try 2")
        await until(lambda: len(provider.requests) == 2)
        columns = list(pilot.app.screen.query(AnswerColumn))
        assert columns[0].has_focus
        await pilot.press("right")
        assert columns[1].has_focus
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
    assert [len(request.body["messages"]) for request in provider.requests] == [2, 2], "without what was excluded"


@pytest.mark.parametrize(("size", "beside"), [((80, 24), 2), ((120, 40), 3)])
async def test_more_answers_than_fit_are_a_key_away(
    services: Services, recording: Path, size: tuple[int, int], beside: int
) -> None:
    async with program(services, size, ref=str(recording)) as (pilot, screen):
        screen.send_or_run(Send("/replay --to rehearsal -n 4"))
        await until(lambda: isinstance(pilot.app.screen, ReplayScreen))
        await seen(pilot, "recorded", "try 1", "same words")
        columns = list(pilot.app.screen.query(AnswerColumn))
        right = pilot.app.screen.query_one(HorizontalScroll).region.right
        await until(lambda: [column.region.right <= right for column in columns] == [at < beside for at in range(5)])
        for column in columns[1:]:
            await pilot.press("right")
            assert column.has_focus
            await until(lambda column=column: column.region.x >= 2 and column.region.right <= right)  # type: ignore[misc]
        await pilot.press("left")
        assert columns[-2].has_focus


async def test_answers_are_compared_while_the_screen_goes_on(
    services: Services, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[Thread] = []

    def compared(answer: ReplayAnswer, other: ReplayAnswer) -> float:
        threads.append(current_thread())
        return 0.5

    monkeypatch.setattr(ReplayAnswer, "likeness", compared)
    async with program(services, ref=str(recording)) as (pilot, screen):
        screen.send_or_run(Send("/replay --to rehearsal"))
        await until(lambda: isinstance(pilot.app.screen, ReplayScreen))
        await seen(pilot, "same words 50 %")
    assert threads
    assert main_thread() not in threads


async def test_the_request_that_is_looked_at_is_sent(services: Services, recording: Path) -> None:
    async with program(services, ref=str(recording)) as (pilot, screen):
        screen.go_to_request("1")
        await settle(pilot)
        screen.send_or_run(Send("/replay --to rehearsal"))
        await until(lambda: isinstance(pilot.app.screen, ReplayScreen))
        await seen(pilot, "request 1 to gpt-4o, unchanged", "One [b]file.", "same words")


async def test_what_cannot_be_sent_is_told(services: Services, recording: Path, talk: Path) -> None:
    async with program(services, ref=str(talk)) as (pilot, screen):
        screen.send_or_run(Send("/replay"))
        await until(lambda: "the log holds no whole request" in told(pilot.app))
        assert pilot.app.screen is screen, "at once, before anything is asked"
        screen.send_or_run(Send("/replay --at 1"))
        await until(lambda: "the log holds its messages" in told(pilot.app))
        assert pilot.app.screen is screen


async def test_a_missing_key_is_told_in_the_columns(
    services: Services, recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr("workbench.models.keys.find_spec", lambda _: None)
    async with program(services, ref=str(recording)) as (pilot, screen):
        screen.send_or_run(Send("/replay -n 1"))
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("y")
        await seen(pilot, "no key for openai: set OPENAI_API_KEY")


def test_the_words_are_those_of_the_command_line() -> None:
    words = "-n 3 --at 2 --exclude 4-6 --exclude messages.7 --mask '8=not here' --model m --policy p --set a=1 --to u"
    assert read_wish(words) == (
        Options(model="m", policy="p", knobs=("a=1",)),
        ReplayWish(2, 3, ("4-6", "messages.7"), ("8=not here",), "u"),
    )
    assert read_wish("--to u --send-key") == (Options(), ReplayWish(to="u", send_key=True))
    assert read_wish("") == (Options(), ReplayWish())
    for wrong in ("--wat", "x", "-n many", "'"):
        with pytest.raises(WrongCall):
            read_wish(wrong)
