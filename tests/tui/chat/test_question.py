"""Questions in place: never answered by accident, never in the way of a draft."""

from __future__ import annotations

import pytest
from textual.events import Key, Paste

from tui.chat.host import ASKED, Host, said, settle
from tui.play import until
from tui.small_app import screen_of
from workbench.tui.chat import question
from workbench.tui.chat.transcript import TranscriptView
from workbench.tui.messages import Answered, Interrupt
from workbench.views.values import Activity, AnswerChoice


def answers(app: Host) -> list[tuple[int, str]]:
    return [(message.number, message.answer) for message in app.posted(Answered)]


async def test_a_question_shows_what_it_is_about_and_its_answers_with_their_keys() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED._replace(detail="a.py [/b]\n- old \x1b[31m\n+ new")
        await settle(pilot)
        text = screen_of(app)
        for part in (ASKED.title, "a.py [/b]", "- old ␛[31m", "+ new", "y allow once", "n deny once", "Esc: deny once"):
            assert part in text
        assert "c this command (this session), C always" in text
        assert "a key answers" in text


async def test_while_nothing_is_typed_a_key_answers() -> None:
    app = Host(said(("you", "go")))
    given = []
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for number, (key, answer) in enumerate(
            (("y", "once"), ("n", "no"), ("c", "session rm -rf build"), ("Y", "once"))
        ):
            app.question = ASKED._replace(number=number)
            await settle(pilot)
            assert app.pane.box.has_focus
            await pilot.press(key)
            given.append((number, answer))
            await until(lambda: answers(app) == given)
            assert app.pane.composer.text == ""
            app.question = None
            await settle(pilot)


@pytest.mark.parametrize(("key", "answer"), [("C", "always rm -rf build"), ("v", "never")])
async def test_an_answer_that_is_saved_needs_enter(key: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "PAUSE", 0.001)
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press(key)
        await settle(pilot)
        assert answers(app) == []
        assert "Enter saves this answer" in screen_of(app)
        assert ("▸ v never" if key == "v" else "(this session) ▸C always") in screen_of(app)
        await pilot.press("enter")
        assert answers(app) == [(7, answer)]


async def test_enter_after_a_key_gives_its_answer_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "PAUSE", 3600)
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press("y", "enter")
        assert answers(app) == [(7, "once")]


async def test_a_message_is_never_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "PAUSE", 3600)  # nobody types that slowly
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for message in ("Look at it first", "never mind", "can you", "very good", "Can you", "yes, but"):
            app.question = ASKED
            await settle(pilot)
            assert app.pane.box.has_focus
            await pilot.press(*({" ": "space", ",": "comma"}.get(char, char) for char in message))
            await settle(pilot)
            assert answers(app) == []
            assert app.pane.composer.text == message
            app.pane.composer.clear()
            app.question = None
            await settle(pilot)


@pytest.mark.long
async def test_the_chats_key_goes_to_the_question_while_nothing_is_typed() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press("tab")
        await until(lambda: not app.pane.box.has_focus)
        app.pane.take_focus()
        await until(lambda: app.pane.box.has_focus)
        await pilot.press("x", "backspace")
        await settle(pilot)
        await until(lambda: app.pane.box.has_focus)
        await pilot.press("y")
        await until(lambda: answers(app) == [(7, "once")])
        assert app.pane.composer.text == ""


async def test_whatever_is_no_answer_goes_into_the_composer() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press(*"try_synchronously")
        await settle(pilot)
        assert answers(app) == []
        assert app.pane.composer.text == "try_synchronously"
        assert app.pane.composer.has_focus


@pytest.mark.long
async def test_a_draft_keeps_the_focus_and_tab_goes_to_the_question() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"half a th")
        app.question = ASKED
        await settle(pilot)
        await pilot.press(*"ought by n")
        assert app.pane.composer.text == "half a thought by n"
        assert answers(app) == []
        assert "Tab, then a key answers" in screen_of(app)
        await pilot.press("tab")
        await settle(pilot)
        assert "a key answers · ↑ ↓ and Enter choose" in screen_of(app)
        await pilot.press("y")
        await until(lambda: answers(app) == [(7, "once")])
        app.question = None
        await settle(pilot)
        assert app.pane.composer.has_focus
        assert app.pane.composer.text == "half a thought by n"


async def test_a_key_from_before_the_question_could_be_seen_is_typing() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        early = Key("y", "y")
        app.question = ASKED
        await settle(pilot)
        app.pane.box.post_message(early)
        await settle(pilot)
        assert answers(app) == []
        assert app.pane.composer.text == "y"


async def test_a_long_answer_continues_below_its_label_and_in_another_size_too() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(45, 30)) as pilot:
        await settle(pilot)
        app.question = ASKED._replace(choices=(AnswerChoice("c", "yes", "word " * 12),))
        await settle(pilot)
        for width in (45, 70, 38):
            await pilot.resize_terminal(width, 30)
            await settle(pilot)
            lines = [line for line in screen_of(app).splitlines() if " word" in line]
            assert len({line.index("word") for line in lines}) == 1, lines
            assert sum(line.count("word") for line in lines) == 12


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


async def test_escape_over_a_draft_denies_first_and_then_stops_the_model() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("d")
        app.activity = Activity("waiting")
        app.question = ASKED
        await settle(pilot)
        await pilot.press("escape")
        assert answers(app) == [(7, "no")]
        app.question = None
        await settle(pilot)
        assert app.posted(Interrupt) == []
        await pilot.press("escape")
        assert len(app.posted(Interrupt)) == 1


@pytest.mark.parametrize(("held", "expected"), [(3600.0, [(7, "once")]), (0.0, [(7, "once"), (8, "once")])])
async def test_a_key_that_is_held_down_answers_one_question(
    held: float, expected: list[tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question, "HELD", held)
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press("y")
        await until(lambda: answers(app) == expected[:1])
        app.question = ASKED._replace(number=8)
        await settle(pilot)
        await pilot.press("y")
        if not held:
            await until(lambda: answers(app) == expected)
        await settle(pilot)
        assert answers(app) == expected
        assert app.pane.composer.text == ""
        await pilot.press("n")
        await until(lambda: answers(app)[1:] == [(8, "no" if held else "once")])


async def test_arrows_choose_and_enter_gives_the_answer() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await settle(pilot)
        await pilot.press("down", "right", "up", "left", "left", "enter")
        assert answers(app) == [(7, "once")]


async def test_an_answer_can_be_clicked() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED
        await until(lambda: bool(app.query("#question-answers > Button")))
        await settle(pilot)
        await pilot.click("#question-answers > Button")
        await settle(pilot)
        assert answers(app) == [(7, "once")]


@pytest.mark.long
async def test_a_long_detail_scrolls_and_leaves_the_answers_in_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "MOST_DETAIL", 20)
    app = Host(said(("you", "go")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.question = ASKED._replace(detail="\n".join(f"+ line {number}" for number in range(30)))
        await settle(pilot)
        assert "+ line 0" in screen_of(app)
        assert "never: rm -rf build" in screen_of(app)
        for _ in range(12):
            await pilot.press("pagedown")
            await pilot.pause()
        await until(lambda: "10 more lines" in screen_of(app))
        for _ in range(12):
            await pilot.press("pageup")
            await pilot.pause()
        await until(lambda: "+ line 0" in screen_of(app))
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
        app.post_message(Paste("y"))
        await settle(pilot)
        assert answers(app) == []
        assert app.pane.composer.text == "y"
