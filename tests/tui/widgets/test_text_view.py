"""A long text: there at once, wrapped, searched and copied."""

from __future__ import annotations

from functools import partial

import pytest
from textual.app import ComposeResult

from tui.inspector.host import lines_of, press, settle, type_in
from tui.small_app import SmallApp
from workbench.tui.compaction.source import HEAD
from workbench.tui.widgets.input_line import InputLine
from workbench.tui.widgets.reader import COPIED_MOST, TextReader
from workbench.tui.widgets.text_view import AT_ONCE, TextLine, TextPage, TextView, text_page

LONG = "".join(f"line {at} of a long text, in which the word needle stands {at} times\n" for at in range(20_000))


class One(SmallApp):
    """A text and nothing else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        yield TextReader()

    def on_mount(self) -> None:
        self.query_one(TextReader).show(partial(text_page, self.text), len(self.text))
        self.query_one(TextView).focus()

    @property
    def content(self) -> str:
        return self.query_one(TextReader).foot.content.plain


async def test_a_megabyte_shows_its_beginning_before_all_of_it_is_laid_out() -> None:
    assert len(LONG) > 1_000_000
    asked: list[int] = []

    def make(most: int) -> TextPage:
        asked.append(most)
        return text_page(LONG, most)

    app = One("")
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        reader = app.query_one(TextReader)
        reader.show(make, len(LONG))
        assert asked == [AT_ONCE], "no more than this is done in the screen's own thread"
        assert "line 0 of a long text" in lines_of(reader.view)[0]
        await settle(pilot)
        assert asked == [AT_ONCE, 0]
        assert app.content.startswith("20,001 lines")
        await press(pilot, "end")
        assert "line 19999" in "".join(lines_of(reader.view)[-4:])


async def test_what_is_selected_with_the_mouse_is_copied_as_the_lines_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    first = "a line of a tool's result that is longer than the window is wide, so that it is broken into several"
    app = One(f"{first}\nsecond")
    copied: list[str] = []
    monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
    async with app.run_test(size=(40, 12)) as pilot:
        await settle(pilot)
        assert "second" in lines_of(app.query_one(TextView))[3]
        await pilot.mouse_down(TextView, offset=(2, 0))
        await pilot.hover(TextView, offset=(3, 3))
        await pilot.mouse_up(TextView, offset=(3, 3))
        await settle(pilot)
        app.screen.action_copy_text()
        assert copied[0].splitlines()[0].strip() == first[2:]
        assert "second".startswith(copied[0].splitlines()[1])


async def test_keys_scroll() -> None:
    app = One("\n".join(map(str, range(200))))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        view = app.query_one(TextView)
        page = view.size.height - 1
        for key, top in {
            "down": 1,
            "j": 2,
            "k": 1,
            "up": 0,
            "pagedown": page,
            "pageup": 0,
            "end": 200 - page - 1,
        }.items():
            await press(pilot, key)
            assert view.scroll_offset.y == top, key
        await press(pilot, "g", "G", "home")
        assert view.scroll_offset.y == 0


async def test_lines_are_wrapped_to_the_width_and_the_place_is_kept() -> None:
    app = One("\n".join(f"{at} " + "word " * 40 for at in range(100)))
    async with app.run_test(size=(120, 20)) as pilot:
        await settle(pilot)
        await press(pilot, "pagedown", "pagedown")
        view = app.query_one(TextView)
        top = lines_of(view)[0]
        first = view.page.lines[view._wrap.line[view.scroll_offset.y]].text
        await pilot.resize_terminal(60, 20)
        await settle(pilot)
        assert view.page.lines[view._wrap.line[view.scroll_offset.y]].text == first
        assert all(len(line) == view.scrollable_content_region.width for line in lines_of(view))
        assert top


async def test_a_search_finds_marks_and_goes_around() -> None:
    app = One("\n".join(f"{'Needle' if at % 20 == 5 else 'hay'} {at}" for at in range(100)))
    async with app.run_test(size=(80, 12)) as pilot:
        await settle(pilot)
        await press(pilot, "slash", *"need")
        await press(pilot, "enter")
        view = app.query_one(TextView)
        assert app.focused is view
        assert app.content.startswith("match 1 of 5 for “need”")
        for key, number in (("n", 2), ("n", 3), ("N", 2), ("N", 1), ("N", 5)):
            await press(pilot, key)
            assert app.content.startswith(f"match {number} of 5")
            assert any(f"Needle {20 * number - 15}" in line for line in lines_of(view))
        await press(pilot, "slash")
        await type_in(pilot, "nowhere", "enter")
        assert app.content.startswith("no match for “nowhere”")
        await press(pilot, "n", "slash")
        assert app.query_one(InputLine).value == ""
        await press(pilot, "x", "escape")
        assert app.focused is view
        assert app.content.startswith("no match for “nowhere”")


async def test_a_match_that_is_wrapped_is_marked_in_both_lines() -> None:
    app = One("x" * 70 + "needle" + "y" * 70)
    async with app.run_test(size=(76, 12)) as pilot:
        await settle(pilot)
        await press(pilot, "slash")
        await type_in(pilot, "needle", "enter")
        view = app.query_one(TextView)
        marked = [
            [segment.text for segment in view.render_line(y) if segment.style and segment.style.bold] for y in (0, 1)
        ]
        assert "".join(marked[0]) + "".join(marked[1]) == "needle"


async def test_copying_says_how_much_and_what_was_left_out() -> None:
    app = One(LONG)
    async with app.run_test(size=(80, 12), notifications=True) as pilot:
        await settle(pilot)
        await press(pilot, "y")
        assert app.clipboard == LONG[:COPIED_MOST]
        await pilot.pause()
        told = " ".join(str(toast.render()) for toast in app.screen.query("Toast"))
        assert f"1,000,000 characters copied; the rest of {len(LONG):,} is left out" in told


async def test_there_may_be_nothing_to_copy() -> None:
    app = One("")
    async with app.run_test(size=(80, 12), notifications=True) as pilot:
        await settle(pilot)
        assert lines_of(app.query_one(TextView))[0].strip() == "(empty)"
        await press(pilot, "y")
        await pilot.pause()
        assert "nothing to copy" in " ".join(str(toast.render()) for toast in app.screen.query("Toast"))


@pytest.mark.parametrize("size", [(10, 3), (1, 1)])
async def test_a_small_place_is_survived(size: tuple[int, int]) -> None:
    app = One("some words in a small place\n" * 30)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "down", "slash", "w", "enter", "n", "end")


async def test_pieces_of_a_line_have_their_styles() -> None:
    app = One("")
    async with app.run_test(size=(40, 8)) as pilot:
        await settle(pilot)
        view = app.query_one(TextView)
        view.show(
            lambda most: TextPage([TextLine("onetwothree", "text", ((3, "token-0"), (6, "token-1"), (11, "quiet")))]),
            11,
        )
        await settle(pilot)
        assert [segment.text for segment in view.render_line(0)][:3] == ["one", "two", "three"]


async def test_a_line_may_go_on_under_its_beginning_and_is_copied_as_it_was() -> None:
    line = TextLine("kept   12  " + "many words of what it says " * 6, hang=11)
    app = One("")
    async with app.run_test(size=(60, 24)) as pilot:
        await settle(pilot)
        reader = app.query_one(TextReader)
        reader.show(lambda _: TextPage([line], line.text), 0)
        await settle(pilot)
        shown = [text.rstrip() for text in lines_of(reader.view) if text.strip()]
        assert len(shown) >= 3
        assert all(text.startswith(" " * 11 + "m") or text[11:].split()[0] in line.text for text in shown[1:])
        assert all(text[:11].isspace() for text in shown[1:])
        assert " ".join(" ".join(shown).split()) == " ".join(line.text.split())
        await pilot.resize_terminal(18, 24)
        await settle(pilot)
        assert not lines_of(reader.view)[2].startswith("   "), "where there is no room, there is no indent"


def test_the_rows_of_a_preview_hang_at_eighty_columns_too() -> None:
    assert TextLine("", hang=HEAD).indent(78) == HEAD
    assert TextLine("", hang=HEAD).indent(60) == 0
