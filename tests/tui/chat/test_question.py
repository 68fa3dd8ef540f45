"""Questions in place: never answered by accident, never in the way of a draft."""

from __future__ import annotations

import pytest
from textual.events import Paste

from tui.chat.host import ASKED, Host, said, screen_of, settle
from workbench.session.values import Activity, AnswerChoice
from workbench.tui.chat import question
from workbench.tui.chat.transcript import TranscriptView
from workbench.tui.messages import Answered, Interrupt


def answers(app: Host) -> list[tuple[int, str]]:
    return [(message.number, message.answer) for message in app.posted(Answered)]


async def test_a_question_shows_what_it_is_about_and_its_answers_with_their_keys() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED._replace(detail="a.py [/b]\n- old \x1b[31m\n+ new")
        await settle(pilot)
        text = screen_of(app)
        for part in (ASKED.title, "a.py [/b]", "- old ␛[31m", "+ new", "y allow once", "n not now", "Esc: not now"):
            assert part in text
        assert "a key answers" not in text


@pytest.mark.parametrize("typed", ["yes please", "n", "sv"])
async def test_what_is_typed_when_it_appears_goes_into_the_composer_and_answers_nothing(typed: str) -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        assert app.pane.box.has_focus
        await pilot.press(*typed.replace(" ", "_"))
        await settle(pilot)
        assert answers(app) == []
        assert app.pane.composer.text == typed.replace(" ", "_")
        assert app.pane.composer.has_focus


async def test_a_draft_keeps_the_focus_and_tab_goes_to_the_question() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"half a th")
        app.question = ASKED
        await settle(pilot)
        await pilot.press(*"ought")
        assert app.pane.composer.text == "half a thought"
        assert answers(app) == []
        await pilot.press("tab")
        await settle(pilot)
        assert app.pane.box.awake
        assert "a key answers" in screen_of(app)
        await pilot.press("y")
        assert answers(app) == [(7, "once")]
        app.question = None
        await settle(pilot)
        assert app.pane.composer.has_focus
        assert app.pane.composer.text == "half a thought"


@pytest.mark.parametrize(
    ("wake", "key", "answer"),
    [("tab", "y", "once"), ("enter", "s", "session"), ("down", "v", "never"), ("up", "enter", "no")],
)
async def test_it_wakes_by_a_key_that_is_not_typing_and_then_a_key_answers(wake: str, key: str, answer: str) -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press(wake)
        assert answers(app) == []
        await pilot.press(key)
        assert answers(app) == [(7, answer)]


async def test_its_hint_follows_the_focus() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(100, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        assert "Tab or Enter, then a key; what you type goes on below" in screen_of(app)
        app.pane.composer.focus()
        await settle(pilot)
        assert "Tab, then a key" in screen_of(app)
        await pilot.press("tab")
        await settle(pilot)
        assert "a key answers" in screen_of(app)


async def test_the_lines_of_a_long_answer_begin_at_the_left() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(60, 30)) as pilot:
        await settle(pilot)
        never = AnswerChoice("v", "never", "never: run_command:printf " + "x" * 50)
        app.question = ASKED._replace(choices=(AnswerChoice("n", "no", "not now"), never), default="no")
        await settle(pilot)
        lines = screen_of(app).splitlines()
        begins = next(line.index("v never") for line in lines if "v never" in line)
        goes_on = next(line for line in lines if "xxxxx" in line)
        assert goes_on.index("x") <= begins


async def test_escape_gives_the_answer_that_changes_nothing() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.activity = Activity("waiting")
        app.question = ASKED
        await settle(pilot)
        await pilot.press("escape", "escape")
        assert answers(app) == [(7, "no")]
        assert app.posted(Interrupt) == []


async def test_the_next_question_is_not_answered_by_a_key_meant_for_the_first() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press("tab", "y")
        app.question = ASKED._replace(number=8)
        await settle(pilot)
        await pilot.press("y")
        await settle(pilot)
        assert answers(app) == [(7, "once")]
        assert app.pane.composer.text == "y"


async def test_arrows_choose_and_enter_gives_the_answer() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press("tab", "down", "right", "up", "left", "left", "enter")
        assert answers(app) == [(7, "session")]


async def test_an_answer_can_be_clicked() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.click("#question-answers > Button")
        await settle(pilot)
        assert answers(app) == [(7, "once")]


async def test_a_long_detail_scrolls_and_leaves_the_answers_in_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "MOST_DETAIL", 20)
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED._replace(detail="\n".join(f"+ line {number}" for number in range(30)))
        await settle(pilot)
        assert "+ line 0" in screen_of(app)
        assert "never: rm -rf build" in screen_of(app)
        await pilot.press("tab", *["pagedown"] * 12)
        await settle(pilot)
        assert "10 more lines" in screen_of(app)
        await pilot.press(*["pageup"] * 12)
        await settle(pilot)
        assert "+ line 0" in screen_of(app)
        await pilot.resize_terminal(80, 40)
        await settle(pilot)
        assert "+ line 6" in screen_of(app)


async def test_the_focus_comes_back_to_where_it_was() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab")
        app.question = ASKED
        await settle(pilot)
        await pilot.press("escape")
        app.question = None
        await settle(pilot)
        assert isinstance(app.focused, TranscriptView)


async def test_a_paste_is_never_an_answer() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press("tab")
        app.post_message(Paste("y"))
        await settle(pilot)
        assert answers(app) == []
        assert app.pane.composer.text == "y"
