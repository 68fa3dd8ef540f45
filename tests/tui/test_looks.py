"""What is asserted where no picture is kept: each check finds the fault that it is for."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from tui.contrast import faint_texts
from tui.snapshots import check_look, joined_grounds, sticking_out


class Faulty(App[None]):
    """A text, one that hardly stands out, one that is wider than its place, and one that scrolls."""

    CSS = """
    Screen { background: #000000; }
    #plain { color: #ffffff; }
    #faint { color: #202020; }
    #narrow { width: 10; height: 1; }
    #wide { width: 30; color: #ffffff; }
    #scrolled { height: 2; }
    #high { height: 9; color: #ffffff; }
    """

    def compose(self) -> ComposeResult:
        yield Static("plain words here", id="plain")
        yield Static("faint", id="faint")
        with Vertical(id="narrow"):
            yield Static("wide", id="wide")
        with VerticalScroll(id="scrolled"):
            yield Static("high", id="high")


async def test_missing_words_faint_texts_and_what_sticks_out_are_found() -> None:
    app = Faulty()
    async with app.run_test(size=(40, 12)) as pilot:
        assert [text.strip() for text, _ in faint_texts(app)] == ["faint"]
        assert [widget.id for widget, _ in sticking_out(app)] == ["wide"]
        with pytest.raises(AssertionError, match=r"other words.* not seen"):
            check_look(app, ["plain words", "other words"])
        app.query_one("#narrow").styles.width = 30
        await pilot.pause()
        check_look(app, ["plain words here"])


def test_pictures_with_the_same_colours_are_the_same_wherever_a_line_is_divided() -> None:
    def picture(*pieces: tuple[str, str, str]) -> str:
        return "".join(
            f'<rect fill="{colour}" x="{x}" y="1.5" width="{width}" height="24.65" shape-rendering="crispEdges"/>'
            for colour, x, width in pieces
        )

    whole = joined_grounds(picture(("#232b3a", "0", "36.6"), ("#dfe5f1", "36.6", "12.2")))
    divided = (("#232b3a", "0", "12.2"), ("#232b3a", "12.2", "24.4"), ("#dfe5f1", "36.6", "12.2"))
    assert joined_grounds(picture(*divided)) == whole
    assert joined_grounds(picture(*divided) + "<text>a</text>") != whole
    assert joined_grounds(picture(*divided[:2])) != whole
    assert joined_grounds(picture(divided[0], *divided[2:])) != whole
    assert joined_grounds(picture(("#232b3a", "0", "24.4"), ("#dfe5f1", "24.4", "24.4"))) != whole
