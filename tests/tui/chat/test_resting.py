"""The cursor of a text area blinks while one types, and rests when nobody does."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Button

from tui.play import until
from workbench.tui.chat.resting import RestingArea


class Host(App[None]):
    """A text area and something else."""

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield RestingArea()
        yield Button()


async def test_the_cursor_rests_and_blinks_again_with_the_next_key() -> None:
    app = Host()
    async with app.run_test() as pilot:
        area = app.query_one(RestingArea)
        area.focus()
        await pilot.pause()
        assert app.query_one(RestingArea).cursor_blink
        area.rest()
        assert not app.query_one(RestingArea).cursor_blink
        await pilot.press("a")
        await until(lambda: area.cursor_blink)
        area.rest()
        await pilot.press("left")
        await until(lambda: area.cursor_blink)
        area.rest()
        await pilot.press("tab", "shift+tab")
        await until(lambda: area.cursor_blink)


async def test_it_rests_by_itself() -> None:
    app = Host()
    async with app.run_test() as pilot:
        area = app.query_one(RestingArea)
        area.focus()
        await pilot.pause()
        area._resting._interval = 0.01  # its clock runs fast
        await pilot.press("a")
        await until(lambda: not area.cursor_blink)
        assert area.text == "a"


async def test_a_cursor_that_rests_is_seen_also_where_it_was_just_away() -> None:
    app = Host()
    async with app.run_test() as pilot:
        area = app.query_one(RestingArea)
        area.focus()
        await pilot.pause()
        area._restart_blink()
        shown = area.render_line(0)
        area._toggle_cursor_blink_visible()
        assert area.render_line(0) != shown
        area.rest()
        assert area.render_line(0) == shown
