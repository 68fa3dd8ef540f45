"""The keys that speak of an entry."""

from __future__ import annotations

import re
from typing import Any

import pytest
from textual.binding import Binding

from tui.chat.host import Host, ListTranscript, LongTranscript, called, said, settle
from tui.play import until
from tui.small_app import screen_of
from workbench.tui.chat.composer import Composer
from workbench.tui.chat.pane import ChatPane
from workbench.tui.chat.question import QuestionBox
from workbench.tui.chat.transcript import TranscriptView
from workbench.tui.messages import EditAndResend, Interrupt, Jump, RunCommand
from workbench.views.values import Activity, EntryState

TALK = [
    *said(("you", "why does it fail?"), ("ai", "I will \x1b[31mlook\x1b[0m.")),
    called(3, "read_file", '{"path": "auth.py"}', "import os\n" * 50),
    *said(("reasoning", "so the fixture"), ("ai", "**The fixture.**"), ("you", "mend it"), first=5),
]


async def test_up_and_down_go_from_entry_to_entry() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab")
        view = app.pane.view
        assert view.has_focus
        assert view.cursor == 5
        await pilot.press("up", "k")
        assert view.cursor == 3
        await pilot.press("down", "j", "down", "down")
        assert view.cursor == 5
        await pilot.press("home")
        assert view.cursor == 0
        await pilot.press("up")
        assert view.cursor == 0
        await pilot.press("end")
        assert view.cursor == 5
        assert "▌" in screen_of(app)
        await pilot.press("escape")
        assert app.pane.composer.has_focus
        assert "▌" not in screen_of(app)


@pytest.mark.long
async def test_an_entry_taller_than_the_view_is_read_part_by_part() -> None:
    tall = "\n".join(f"line {number}" for number in range(60))
    app = Host(said(("you", "before"), ("you", tall), ("you", "after")))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "home", "down")
        seen = screen_of(app)
        for _ in range(10):
            await pilot.press("down")
            seen += screen_of(app)
        assert all(re.search(rf"line {number}\b", seen) for number in range(60))
        assert app.pane.view.cursor == 2
        seen = ""
        for _ in range(10):
            await pilot.press("up")
            seen += screen_of(app)
        assert all(re.search(rf"line {number}\b", seen) for number in range(60))
        assert app.pane.view.cursor == 0


async def test_pages_go_up_and_down_and_the_cursor_comes_along() -> None:
    app = Host(LongTranscript(200))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "pageup", "pageup")
        assert not app.pane.query_one(TranscriptView).following
        view = app.pane.view
        assert view.cursor is not None
        assert view._in_view(view.cursor)
        at = view.scroll_offset.y
        await pilot.press("pagedown", "pagedown", "pagedown")
        assert view.following
        assert view.scroll_offset.y > at


async def test_enter_unfolds_a_call_and_plus_shows_more_of_it() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "home", "down", "down", "enter")
        assert "31 more lines · + shows more" in screen_of(app)
        await pilot.press("plus")
        assert "more lines" not in screen_of(app)
        await pilot.press("space")
        assert "▸ Read auth.py" in screen_of(app)
        await pilot.press("plus")
        assert "▾ Read auth.py" in screen_of(app)


@pytest.mark.long
async def test_plus_shows_all_of_a_huge_message() -> None:
    app = Host(said(("ai", "word " * 10_000)))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "end")
        await until(lambda: "20,000 more characters" in screen_of(app))
        await pilot.press("plus", "end")
        await until(lambda: "more characters" not in screen_of(app))


async def test_a_click_chooses_unfolds_and_shows_more() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        await pilot.click(TranscriptView, offset=(12, 4))
        assert app.pane.view.cursor == 2
        assert "▾ Read auth.py" in screen_of(app)
        row = next(at for at, line in enumerate(screen_of(app).splitlines()) if "+ shows more" in line)
        await pilot.click(TranscriptView, offset=(12, row - app.pane.view.region.y))
        assert "more lines" not in screen_of(app)
        await pilot.click(TranscriptView, offset=(12, 38))


async def test_a_copy_has_the_text_without_control_characters() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "home", "down", "y", "down", "y")
        assert app.copied == ["I will look.", 'read_file {"path": "auth.py"}\n' + "import os\n" * 50]


async def test_o_shows_the_entry_in_the_inspector_and_of_a_call_its_result() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 40)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "home", "o", "down", "down", "o")
        assert [(jump.seq, jump.pane) for jump in app.posted(Jump)] == [(1, "inspector"), (4, "inspector")]


async def test_an_event_can_be_shown_and_is_marked() -> None:
    app = Host(LongTranscript(1_000))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.pane.show_event(321)
        await settle(pilot)
        assert app.pane.view.has_focus
        assert "▌you   message 321" in screen_of(app)


async def test_capital_r_asks_again_and_r_does_not() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "r")
        assert app.posted(RunCommand) == []
        await pilot.press("R")
        assert [each.name for each in app.posted(RunCommand)] == ["retry"]


async def test_a_message_of_the_user_is_edited_and_sent_into_a_fork() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settle(pilot)
        await pilot.press(*"draft", "shift+tab", "e")
        composer = app.pane.composer
        await settle(pilot)
        assert composer.has_focus
        assert composer.text == "mend it"
        assert "editing message 7: sends into a fork" in screen_of(app)
        await pilot.press("escape")
        assert composer.text == "draft"
        await pilot.press("shift+tab", "e")
        await pilot.press(*" now", "enter")
        await settle(pilot)
        [sent] = app.posted(EditAndResend)
        assert (sent.seq, sent.text) == (7, "mend it now")
        assert "editing" not in screen_of(app)
        await pilot.press("shift+tab", "home", "down", "e")
        await settle(pilot)
        assert "only your own messages can be edited" in screen_of(app)


async def test_nothing_is_edited_where_nothing_can_be_sent() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settle(pilot)
        app.refusal = "talk.json is a file"
        await pilot.press("shift+tab", "e")
        await settle(pilot)
        assert app.pane.composer.editing is None
        assert "talk.json is a file" in screen_of(app)


@pytest.mark.parametrize("kind", ["answering", "compacting"])
async def test_escape_leaves_the_transcript_first_and_stops_the_model_from_the_composer(kind: Any) -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("escape")
        assert app.posted(Interrupt) == []
        app.activity = Activity(kind)
        await settle(pilot)
        assert "Esc stop" in screen_of(app)
        await pilot.press("escape")
        assert len(app.posted(Interrupt)) == 1
        await pilot.press("shift+tab", "escape")
        assert app.pane.composer.has_focus
        assert len(app.posted(Interrupt)) == 1
        await pilot.press("escape")
        assert len(app.posted(Interrupt)) == 2


@pytest.mark.long
async def test_keys_do_nothing_where_there_is_nothing() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settle(pilot)
        await pilot.press(
            "shift+tab", "up", "down", "home", "end", "enter", "plus", "y", "e", "o", "pageup", "pagedown"
        )
        app.pane.show_event(3)
        await settle(pilot)
        assert app.asked == []
        assert app.copied == []


def test_every_key_has_an_id_and_a_description_and_no_two_of_a_widget_clash() -> None:
    ids = []
    for widget in (TranscriptView, Composer, QuestionBox, ChatPane):
        keys: list[str] = []
        for binding in widget.BINDINGS:
            assert isinstance(binding, Binding)
            ids.append(binding.id)
            assert binding.description
            keys += binding.key.split(",")
        assert len(set(keys)) == len(keys)
    assert all(ids)
    assert len(set(ids)) == len(ids)


async def test_a_state_can_change_under_an_entry() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        app.transcript = ListTranscript(TALK, {3: EntryState("masked", 14, 400, False, "result 3 of 9")})
        await settle(pilot)
        assert "m masked      14 t" in screen_of(app)
