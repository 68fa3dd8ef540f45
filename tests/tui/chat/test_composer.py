"""Where one types: nothing typed is lost, and what it costs is told."""

from __future__ import annotations

import pytest
from textual.events import Paste

from tui.chat.host import ASKED, Host, LongTranscript, said, settle
from tui.play import told, until
from tui.small_app import screen_of
from workbench.tui.chat.activity_lines import QueuedMessages
from workbench.tui.chat.composer import LONG_LINE, cost_line
from workbench.tui.messages import DraftChanged, EditAndResend, Send, Withdraw
from workbench.tui.terminal_patches import KEYBOARD, MOST_PASTED
from workbench.views.values import Activity, DraftCost, LiveAnswer

TALK = said(("you", "first"), ("ai", "yes"), ("you", "second\nof two lines"), ("ai", "no"))


def texts(app: Host) -> list[str]:
    return [message.text for message in app.posted(Send)]


async def test_enter_sends_and_other_keys_make_new_lines() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("enter", *"  ", "enter")
        assert texts(app) == []
        await pilot.press("backspace", "backspace", "a", "shift+enter", "b", "ctrl+j", "c", "alt+enter", "d", "enter")
        assert texts(app) == ["a\nb\nc\nd"]
        assert app.pane.composer.text == ""
        assert app.posted(DraftChanged)[-1].text == ""


async def test_a_backslash_before_enter_makes_a_new_line() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"one", "backslash", "enter", *"two", "enter")
        assert texts(app) == ["one\ntwo"]
        await pilot.press(*"a", "backslash", *"b", "enter")
        assert texts(app)[1:] == ["a\\b"]


@pytest.mark.parametrize(("tells", "named"), [(False, "Ctrl+J"), (True, "Shift+Enter")])
async def test_only_keys_that_the_terminal_can_send_are_advertised(
    tells: bool, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KEYBOARD, "reports_modifiers", tells)
    app = Host([])
    async with app.run_test(size=(100, 24)) as pilot:
        await settle(pilot)
        assert (named, "new line") in app.pane.hints()
        app.set_keymap({"composer.newline": "ctrl+n,shift+enter"})
        assert app.pane.composer.newline_key == "Ctrl+N"
        app.set_keymap({"composer.newline": "shift+enter"})
        assert app.pane.composer.newline_key == ("Shift+Enter" if tells else "\\ Enter")


async def test_ctrl_c_copies_a_selection_clears_the_input_and_then_says_how_to_leave() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settle(pilot)
        await pilot.press(*"words", "shift+left", "shift+left", "ctrl+c")
        assert app.copied == ["ds"]
        assert app.pane.composer.text == "words"
        await pilot.press("end", "ctrl+c")
        assert app.pane.composer.text == ""
        assert texts(app) == []
        await pilot.press("up")
        assert app.pane.composer.text == "words"
        await pilot.press("ctrl+c", "ctrl+z")
        assert app.pane.composer.text == "words"
        await pilot.press("ctrl+c", "ctrl+c")
        assert app.is_running
        await pilot.press("up", "up")
        assert app.pane.composer.text == TALK[2].text, "behind it come the messages before"


async def test_every_change_is_told_so_that_it_can_be_counted() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("h")
        await pilot.press("i")
        assert [message.text for message in app.posted(DraftChanged)] == ["h", "hi"]
        app.draft_cost = DraftCost(212, 84_422, 47_578, free=43_578)
        await settle(pilot)
        assert "212 tokens, leaves 43,578" in screen_of(app)
        await pilot.press("backspace", "backspace")
        await settle(pilot)
        assert "212 tokens" not in screen_of(app)


def test_a_draft_that_does_not_fit_says_so_in_words() -> None:
    line = cost_line(DraftCost(9_000, 130_000, -2_000, exact=False))
    assert line.plain == "does not fit: 2,000 too many · about 9,000 tokens"
    assert "$error" in str(line.spans[-1].style)


async def test_the_composer_grows_to_a_third_of_the_screen() -> None:
    app = Host([])
    async with app.run_test(size=(80, 30)) as pilot:
        await settle(pilot)
        assert app.pane.composer.size.height == 1
        await pilot.press(*["ctrl+j"] * 4)
        await settle(pilot)
        assert app.pane.composer.size.height == 5
        await pilot.press(*["ctrl+j"] * 12)
        await settle(pilot)
        assert app.pane.composer.outer_size.height == 9


@pytest.mark.parametrize("text", ["a line of some words\n" * 5_000, "x y " * 25_000], ids=["many lines", "one line"])
async def test_a_huge_paste_stays_whole_and_editable(text: str) -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.post_message(Paste(text))
        await settle(pilot)
        await pilot.press("!")
        assert app.pane.composer.text == text + "!"
        assert app.pane.composer.soft_wrap == (max(map(len, text.split("\n"))) < LONG_LINE)
        await pilot.press("enter")
        assert texts(app) == [text + "!"]
        assert app.pane.composer.soft_wrap


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
async def test_pasted_lines_stay_lines_however_the_terminal_ends_them(end: str) -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.post_message(Paste(f"one{end}{end}  two{end}"))
        await settle(pilot)
        assert app.pane.composer.text == "one\n\n  two\n"


async def test_pasted_text_loses_what_a_terminal_would_act_on() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.post_message(Paste("a\x1b[31mb\x1b]0;t\x07c\r\nd\te\x00"))
        await settle(pilot)
        assert app.pane.composer.text == "abc\nd\te"


async def test_up_and_down_at_the_edges_go_through_the_users_messages() -> None:
    app = Host(TALK)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        composer = app.pane.composer
        await pilot.press(*"draft", "up")
        assert composer.text == "second\nof two lines"
        await pilot.press("up")
        assert composer.text == "second\nof two lines", "first within the message"
        await pilot.press("up")
        assert composer.text == "first"
        await pilot.press("up")
        assert composer.text == "first"
        await pilot.press("down")
        assert composer.text == "second\nof two lines"
        await pilot.press("down")
        assert composer.text == "draft"
        await pilot.press("down")
        assert composer.text == "draft"


async def test_a_message_of_the_past_that_was_changed_is_not_lost() -> None:
    app = Host(TALK)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        composer = app.pane.composer
        await pilot.press(*"draft", "up", "X", "up", "up")
        assert composer.text == "first"
        await pilot.press("down")
        assert composer.text == "second\nof two linesX"
        await pilot.press("down", "down")
        assert composer.text == "draft"
        await pilot.press("up", "Y", "enter")
        assert texts(app) == ["second\nof two linesXY"]
        assert composer.text == "draft"


async def test_the_draft_comes_back_when_an_earlier_message_is_sent() -> None:
    app = Host(TALK)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        composer = app.pane.composer
        await pilot.press(*"draft", "up", "!", "enter")
        assert texts(app) == ["second\nof two lines!"]
        assert composer.text == "draft"
        await pilot.press("ctrl+r", *"first", "enter", "enter")
        assert texts(app)[1:] == ["first"]
        assert composer.text == "draft"
        await pilot.press("ctrl+r", *"first", "end", "?", "down")
        assert composer.text == "draft", "it is behind what was found"
        await pilot.press("enter")
        assert texts(app)[2:] == ["draft"]
        assert composer.text == ""


async def test_the_draft_comes_back_when_an_edit_is_sent() -> None:
    app = Host(TALK)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        composer = app.pane.composer
        await pilot.press(*"draft")
        composer.edit_message(TALK[2])
        await pilot.press("X")
        composer.edit_message(TALK[0])
        await pilot.press("Y", "enter")
        assert [(sent.seq, sent.text) for sent in app.posted(EditAndResend)] == [(1, "firstY")]
        assert composer.text == "draft"
        composer.edit_message(TALK[2])
        assert composer.text == "second\nof two linesX", "as it was left"
        await pilot.press("escape")
        assert composer.text == "draft"
        composer.edit_message(TALK[2])
        assert composer.text == TALK[2].text, "Escape has dropped the edit"


async def test_a_draft_outlives_a_question() -> None:
    app = Host(TALK)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"draft", "up")
        app.question = ASKED
        await settle(pilot)
        await pilot.press("tab", "escape")
        app.question = None
        await settle(pilot)
        await pilot.press("down")
        assert app.pane.composer.text == "draft"


async def test_history_of_a_long_session_looks_at_few_entries() -> None:
    long = LongTranscript(10_000)
    app = Host(long)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        before = long.looks
        await pilot.press("up")
        assert "message 9999" in app.pane.composer.text
        assert long.looks - before < 10


async def test_a_draft_outlives_whatever_comes_in() -> None:
    app = Host(TALK)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"my dr")
        app.activity = Activity("answering")
        app.live = LiveAnswer("1", "", "some text")
        await pilot.press(*"aft")
        app.transcript = LongTranscript(30)
        app.live = None
        app.draft_cost = DraftCost(3, 4, 5)
        app.refusal = "for a moment"
        await settle(pilot)
        await pilot.press("x", "enter")
        app.refusal = ""
        await settle(pilot)
        assert app.pane.composer.text == "my draftx"
        assert app.pane.composer.has_focus
        assert texts(app) == []


async def test_read_only_says_why_keeps_the_message_and_sends_commands() -> None:
    app = Host(TALK)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settle(pilot)
        app.refusal = "another has it [/b] \u200fback"
        await settle(pilot)
        assert "read-only: another has it [/b] �back" in screen_of(app)
        await pilot.press("a", "ctrl+j", "b", "enter")
        await settle(pilot)
        assert app.pane.composer.text == "a\nb"
        assert texts(app) == []
        assert screen_of(app).count("another has it [/b]") == 2
        app.pane.composer.clear()
        await pilot.press(*"/lab x", "enter")
        await settle(pilot)
        assert texts(app) == ["/lab x"]


async def test_waiting_messages_are_shown_and_can_be_taken_back() -> None:
    app = Host(TALK)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        app.activity = Activity("answering")
        app.queue = ("one", "two", "three", "four [/b]")
        await settle(pilot)
        text = screen_of(app)
        assert "1 more wait before these" in text
        assert "waits 4: four [/b]  Alt+↑ edits it" in text
        await pilot.press(*"mine", "alt+up")
        await settle(pilot)
        assert app.pane.composer.text == "four [/b]\n\nmine"
        await pilot.click(QueuedMessages, offset=(8, 1))
        assert [(message.index, message.text) for message in app.posted(Withdraw)] == [(3, "four [/b]"), (1, "two")]
        app.queue = ()
        await settle(pilot)
        assert "waits" not in screen_of(app)
        await pilot.press("alt+up")
        assert len(app.posted(Withdraw)) == 2


async def test_pages_scroll_the_chat_while_one_types() -> None:
    app = Host(LongTranscript(100))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("a", "pageup", "b", "pageup", "pagedown", "c")
        assert app.pane.composer.text == "abc"
        assert not app.pane.view.following


async def test_what_could_not_be_sent_comes_back() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"/tokesn", "enter")
        assert texts(app) == ["/tokesn"]
        app.pane.give_back("/tokesn")
        await settle(pilot)
        assert app.pane.composer.text == "/tokesn"


async def test_of_a_huge_paste_the_beginning_is_taken_and_that_is_said() -> None:
    app = Host([])
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await settle(pilot)
        app.pane.composer.focus()
        app.pane.composer.post_message(Paste("word " * (MOST_PASTED // 5) + "more"))
        await until(lambda: len(app.pane.composer.text) == MOST_PASTED)
        assert "only the first 250,000 characters" in told(app)
