"""What others wrote is shown as the characters that it has: in titles, lists, questions, answers and notices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from support.drawn import drawn_faults
from support.hostile_text import CLIPBOARD, CONTROLS, MARKS, MARKUP, SURROGATES
from support.terminal import Terminal
from tui.play import shown
from tui.recorded.long_run import as_file
from tui.recorded.long_run import run as recorded_run
from tui.small_app import SmallApp
from workbench.config.text import printable
from workbench.log.events import Setting, UserMessage
from workbench.tui.screens.replay import AnswerColumn
from workbench.tui.screens.text_blocks import paragraph
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.chooser import Chooser, ChooserOption
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.text_dialog import EditDialog, TextDialog

PIECES = (
    st.sampled_from([*MARKUP, *CONTROLS, *MARKS, *SURROGATES]) | st.text("[]/\\@=()'\" ab$#", max_size=12) | st.text()
)
TEXTS = st.lists(PIECES, min_size=1, max_size=3).map("".join)


@given(TEXTS)
def test_a_title_has_the_characters_of_the_text_and_no_style(text: str) -> None:
    for made in (one_line(text), paragraph(text)):
        assert made.plain == printable(text)
        assert made.spans == []
    box = Static(markup=False)
    box.border_title = box.border_subtitle = one_line(text)
    for title in (box._border_title, box._border_subtitle):  # the public names give markup
        assert isinstance(title, Content)
        assert title.plain == printable(text)
        assert title.spans == []


@given(TEXTS)
def test_text_that_is_put_into_a_widget_is_no_markup(text: str) -> None:
    made = Static(printable(text), markup=False).visual
    assert isinstance(made, Content)
    assert made.plain == printable(text)
    assert made.spans == []


DIALOGS: dict[str, Callable[[str], Screen[Any]]] = {
    "chooser": lambda text: Chooser(text, [ChooserOption(text, text, text), ChooserOption("other", "other", "")]),
    "question": lambda text: ConfirmDialog(text, text, "yes", "no"),
    "text": lambda text: TextDialog(text, text, text),
    "edit": lambda text: EditDialog(text, text),
}


@pytest.mark.long
@settings(max_examples=2)
@given(texts=st.lists(TEXTS.filter(str.strip), min_size=1, max_size=6))
def test_dialogs_show_them_too(texts: list[str]) -> None:
    async def show() -> None:
        app = SmallApp()
        async with app.run_test(size=(100, 30), notifications=True) as pilot:
            for text, dialog in product(texts, DIALOGS):
                app.push_screen(DIALOGS[dialog](text))
                app.notify(text, title=text)
                await pilot.pause()
                assert [*drawn_faults(app)] == [], dialog
                assert printable(text)[:20].rstrip() in shown(app), dialog
                app.pop_screen()
                await pilot.pause()

    asyncio.run(show())


@given(TEXTS)
def test_the_name_of_a_model_is_the_title_of_its_answer(text: str) -> None:
    title = AnswerColumn(text)._border_title
    assert title is not None
    assert title.plain == printable(text)


def test_nothing_of_a_hostile_session_reaches_a_real_terminal(tmp_path: Any) -> None:
    evil = "".join((*MARKUP, *CONTROLS, *MARKS))
    bodies = [*recorded_run(3), UserMessage(evil), Setting("title", evil), Setting("model", evil)]
    path = as_file(tmp_path, bodies)
    folders = {f"WORKBENCH_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CONFIG", "CACHE")}
    terminal = Terminal("open", path, cwd=tmp_path, **folders)
    terminal.wait_for("Context")
    terminal.rest()
    for keys in ("\x1bOR", "\x1bOS", "/lab\r", "\x1b", "/waste\r", "\x1b", "/policy\r", "\x1b", "/request\r", "\x1b"):
        terminal.press(keys)
        terminal.rest()
    terminal.press("\x11")
    assert terminal.end() == 0
    for acting in (CLIPBOARD, "\x1b]0;", "\x1b]8;", "\x1bPq", "\x1b_G", "\x9b", "\u202e", "\u2066", "\u200f", "\ufeff"):
        assert acting.encode() not in terminal.seen, repr(acting)
    assert "\u0301".encode() * 9 not in terminal.seen


async def test_half_a_character_is_copied_as_a_question_mark() -> None:
    app = SmallApp()
    async with app.run_test():
        app.copy_to_clipboard("a\ud800b")
        assert app.clipboard == "a?b"
