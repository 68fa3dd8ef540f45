"""The ways around Textual's and Rich's faults with texts and what is typed, each beside a test of the plain one."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Button, Input, OptionList, TextArea

from tui.play import until
from workbench.tui import text_areas
from workbench.tui.text_areas import CleanTextArea, RestingTextArea
from workbench.tui.textual_patches import TextualOriginals, patch_textual

# Terminals of a few columns


@pytest.mark.parametrize("width", [0, -3])
def test_plain_textual_cannot_wrap_in_no_column_and_ours_can(width: int) -> None:
    with pytest.raises(ValueError, match="must not be zero"):
        TextualOriginals.wrap(Content("word"), 0)
    patch_textual()
    assert Content("word").get_height({}, width) == 4


@pytest.mark.parametrize("is_plain", [True, False])
async def test_plain_textual_cannot_turn_a_page_in_a_list_without_room_and_ours_can(is_plain: bool) -> None:
    patch_textual()

    class Narrow(App[None]):
        def compose(self) -> ComposeResult:
            options = OptionList("one", "two")
            options.styles.width = 0
            yield options

    async with Narrow().run_test() as pilot:
        options = pilot.app.query_one(OptionList)
        options.highlighted = 0
        with pytest.raises(KeyError) if is_plain else nullcontext():
            (TextualOriginals.move_page if is_plain else OptionList._move_page)(options, 1)


class LowArea(App[None]):
    """A text area with room for a few lines."""

    CSS = "TextArea { height: 4; }"

    def __init__(self, area: type[TextArea]) -> None:
        super().__init__()
        self._area = area

    def compose(self) -> ComposeResult:
        """Nothing else."""
        yield self._area()


@pytest.mark.parametrize("is_plain", [True, False])
async def test_plain_textual_cannot_undo_more_lines_than_it_shows_and_ours_can(is_plain: bool) -> None:
    async with LowArea(TextArea if is_plain else CleanTextArea).run_test() as pilot:
        area = pilot.app.query_one(TextArea)
        area.insert("line\n" * 9)
        await pilot.pause()
        with pytest.raises(ValueError, match="out of bounds") if is_plain else nullcontext():
            area.undo()
        assert area.text == ""
        assert area.cursor_location == (0, 0) or is_plain


# Emoji of several parts

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
SIGNS = ["a", " ", "é", "字", FAMILY, "✔\ufe0f", "\u200d", "\ufe0f", "e\u0301", "👩"]


def test_plain_rich_cuts_an_emoji_between_its_parts_and_ours_does_not() -> None:
    patch_textual()
    assert cell_len(TextualOriginals.split_cells(Segment(f"about {FAMILY}"), 7)[0].text) == 8
    assert Segment(f"about {FAMILY}").split_cells(7) == (Segment("about  "), Segment(" "))


TEXTS = st.lists(st.sampled_from(SIGNS), min_size=1, max_size=12).map("".join)


@given(
    TEXTS.filter(lambda text: text[0] not in "\u200d\ufe0f"), st.integers(0, 30)
)  # what such a one joins is elsewhere
def test_what_is_cut_takes_as_many_columns_as_before(text: str, cut: int) -> None:
    patch_textual()
    before, after = Segment(text).split_cells(cut)
    width = cell_len(text)
    assert (cell_len(before.text), cell_len(after.text)) == (min(cut, width), max(width - cut, 0))


# What is cut and what is typed


@pytest.mark.parametrize("width", [-12, -1])
def test_plain_textual_cuts_nothing_to_fewer_columns_than_none_and_ours_cuts_all(width: int) -> None:
    patch_textual()
    text = Content("pin event 12")
    assert TextualOriginals.truncate(text, width, ellipsis=True).cell_length == width
    cut = text.truncate(width, ellipsis=True)
    assert (cut.plain, cut.cell_length) == ("", 0)


PASTED = "\x00\u202eback\x9b31m"


class _Lines(App[None]):
    def __init__(self, area: type[TextArea] = CleanTextArea) -> None:
        super().__init__()
        self._area = area

    def compose(self) -> ComposeResult:
        yield Input()
        yield self._area()


@pytest.mark.parametrize("is_own", [True, False], ids=["from the app's own clipboard", "from the terminal"])
@pytest.mark.parametrize("is_plain", [True, False])
async def test_plain_textual_keeps_the_controls_of_what_is_pasted_and_ours_does_not(
    is_plain: bool, is_own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_textual()
    if is_plain:
        monkeypatch.setattr(Input, "replace", TextualOriginals.input_replace)
    async with _Lines(TextArea if is_plain else CleanTextArea).run_test() as pilot:
        line, area = pilot.app.query_one(Input), pilot.app.query_one(TextArea)
        pilot.app._clipboard = PASTED
        for widget in (line, area):
            widget.focus()
            await pilot.pause()
            if is_own:
                widget.action_paste()
            else:
                pilot.app.post_message(events.Paste(PASTED))
            await pilot.pause()
        shown = PASTED if is_plain else "back31m"
        assert (line.value, area.text) == (shown, shown)


async def test_pasted_lines_and_tabs_stay_in_an_area_and_a_line_takes_the_first() -> None:
    patch_textual()
    async with _Lines().run_test() as pilot:
        line, area = pilot.app.query_one(Input), pilot.app.query_one(TextArea)
        for widget in (line, area):
            widget.focus()
            await pilot.pause()
            pilot.app.post_message(events.Paste("one\ttwo\r\nthree\rfour"))
            await pilot.pause()
        assert (line.value, area.text) == ("onetwo", "one\ttwo\nthree\nfour")


# Cursors


class Typing(App[None]):
    """A text area and something else."""

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield RestingTextArea()
        yield Button()


async def test_the_cursor_rests_and_blinks_again_with_the_next_key() -> None:
    app = Typing()
    async with app.run_test() as pilot:
        area = app.query_one(RestingTextArea)
        area.focus()
        await pilot.pause()
        assert app.query_one(RestingTextArea).cursor_blink
        area.rest()
        assert not app.query_one(RestingTextArea).cursor_blink
        await pilot.press("a")
        await until(lambda: area.cursor_blink)
        area.rest()
        await pilot.press("left")
        await until(lambda: area.cursor_blink)
        area.rest()
        await pilot.press("tab", "shift+tab")
        await until(lambda: area.cursor_blink)


async def test_it_rests_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_areas, "BLINKING", 0.01)
    app = Typing()
    async with app.run_test() as pilot:
        area = app.query_one(RestingTextArea)
        area.focus()
        await pilot.pause()
        await pilot.press("a")
        await until(lambda: not area.cursor_blink)
        assert area.text == "a"


async def test_a_cursor_that_rests_is_seen_also_where_it_was_just_away() -> None:
    app = Typing()
    async with app.run_test() as pilot:
        area = app.query_one(RestingTextArea)
        area.focus()
        await pilot.pause()
        area._restart_blink()
        shown = area.render_line(0)
        area._toggle_cursor_blink_visible()
        assert area.render_line(0) != shown
        area.rest()
        assert area.render_line(0) == shown


async def test_plain_textual_leaves_a_cursor_away_that_stops_blinking_there() -> None:
    class Blinking(App[None]):
        def compose(self) -> ComposeResult:
            yield TextArea()

    app = Blinking()
    async with app.run_test() as pilot:
        area = app.query_one(TextArea)
        area.focus()
        await pilot.pause()
        area._restart_blink()
        shown = area.render_line(0)
        area._toggle_cursor_blink_visible()
        area.render_line(0)
        area.cursor_blink = False
        assert area.render_line(0) != shown
