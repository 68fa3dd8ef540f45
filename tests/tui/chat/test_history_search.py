"""What was typed before is found again."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from textual.events import Paste

from tui.chat.host import Host, said, settle
from tui.small_app import screen_of
from workbench.tui.chat.history_area import HistorySearch
from workbench.tui.messages import Interrupt, Send

TALK = said(
    ("you", "fix the parser"),
    ("ai", "done"),
    ("you", "run the tests"),
    ("ai", "ok"),
    ("you", "fix the lexer"),
    ("ai", "ok"),
)


@given(st.lists(st.text("ab \n", max_size=4), max_size=8), st.text("ab", max_size=2), st.integers(0, 9))
def test_older_ones_come_in_order_and_each_once(inputs: list[str], query: str, steps: int) -> None:
    search = HistorySearch(inputs, "draft")
    search.type(query)
    for _ in range(steps):
        search.older()
    matching = [text for text in dict.fromkeys(inputs) if text.strip() and query in text]
    assert search.found == (matching[min(steps, len(matching) - 1)] if matching else None)


def test_no_more_is_looked_at_than_needed() -> None:
    looked = []

    def inputs() -> Iterator[str]:
        for number in range(1_000):
            looked.append(number)
            yield f"input {number}"

    search = HistorySearch(inputs(), "")
    assert search.found == "input 0"
    search.older()
    assert search.found == "input 1"
    assert len(looked) == 2
    search.type("7")
    assert search.found == "input 7"
    assert len(looked) == 8


def test_what_was_found_elsewhere_comes_behind() -> None:
    search = HistorySearch(["b"], "")
    search.add_older_inputs(["a", "b", "c"])
    search.older()
    search.older()
    assert search.found == "c"
    search.erase()
    assert search.found == "b"


async def test_ctrl_r_searches_the_newest_first_and_enter_takes_what_was_found() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"draft", "ctrl+r")
        assert app.pane.composer.text == "fix the lexer"
        await pilot.press(*"fix")
        await settle(pilot)
        assert "history: fix" in screen_of(app)
        assert "Ctrl+R older" in screen_of(app)
        await pilot.press("ctrl+r")
        assert app.pane.composer.text == "fix the parser"
        await pilot.press("enter")
        assert app.pane.composer.text == "fix the parser"
        assert app.posted(Send) == []
        await pilot.press("!", "enter")
        assert [message.text for message in app.posted(Send)] == ["fix the parser!"]


async def test_escape_brings_the_draft_back_and_any_other_key_goes_on_with_what_was_found() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"draft", "ctrl+r", *"run")
        assert app.pane.composer.text == "run the tests"
        await pilot.press("escape")
        assert app.pane.composer.text == "draft"
        assert app.posted(Interrupt) == []
        await pilot.press("ctrl+r", *"runs", "backspace", "left", "X")
        assert app.pane.composer.text == "run the testXs"


async def test_what_is_not_found_is_said() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("ctrl+r", *"nothing like it")
        await settle(pilot)
        assert "nothing found" in screen_of(app)


async def test_what_is_pasted_into_a_search_is_searched_for() -> None:
    app = Host(list(TALK))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*"draft", "ctrl+r", "f")
        app.post_message(Paste("ix the p\x1b[31m\r\n"))
        await settle(pilot)
        assert app.pane.composer.text == "fix the parser"
        assert "history: fix the p" in screen_of(app)
        await pilot.press("a")
        assert app.pane.composer.text == "fix the parser"
        await pilot.press("escape")
        assert app.pane.composer.text == "draft"
