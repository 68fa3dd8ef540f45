"""Sixteen colours or none: everything can be read, and nothing is told by colour alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color

from support.terminal import Terminal
from tui.play import program, settle, shown, until
from workbench.config.settings import Settings
from workbench.context.items import SIGNS
from workbench.sources.services import Services
from workbench.tui.app import WorkbenchApp
from workbench.tui.chat.transcript import TranscriptView
from workbench.tui.colours import SIXTEEN, NoColours, SixteenColours, contrast_ratio, nearest_colour, readable_colour
from workbench.tui.inspector.rows import RowsView
from workbench.tui.widgets.chooser import Chooser, ChooserOption
from workbench.views.values import WindowUse

F1, F3, F9, TOKENS, PALETTE, QUIT = "\x1bOP", "\x1bOR", "\x1b[20~", "\x14", "\x10", "\x11"
ATTRIBUTES = {0, 1, 2, 3, 4, 5, 7, 9, 21, 22, 23, 24, 25, 27, 29}
"""Codes that change how text looks, and not its colour."""
COLOURS = {*range(30, 38), *range(40, 48), *range(90, 98), *range(100, 108)}
"""Those that every terminal with colours has."""
BASE = Color.parse("#12161f")
triplets = st.tuples(*[st.integers(0, 255)] * 3)


# In a real terminal


def codes(seen: bytes) -> set[int]:
    """The numbers of all sequences that say how text looks."""
    found = re.findall(rb"\x1b\[([\d;]*)m", seen)
    return {int(number or 0) for each in found for number in each.split(b";")}


def walked(talk: Path, **environment: str) -> bytes:
    """All that a walk through the panes, the help, a report, a dialog and a warning wrote to the terminal."""
    terminal = Terminal(
        "open", str(talk), "--policy", "layers", "--window", "16000", **{"COLORTERM": "", **environment}
    )
    terminal.wait_for("The fixture opens")
    everything = b""
    for keys, text in (
        *((F3, "treemap"), (F1, "type to search"), (F1, "treemap"), (TOKENS, "counted by"), ("q", "treemap")),
        *(("p", "A file is read-only"), ("n", "treemap"), (PALETTE, "Search for commands")),
    ):
        terminal.rest()
        everything, terminal.seen = everything + terminal.seen, b""
        terminal.press(keys)
        terminal.wait_for(text)
    terminal.press(QUIT)
    assert terminal.end() == 0
    everything += terminal.seen
    assert b"\x1b[31mlogin" not in everything
    assert b"Traceback" not in everything
    return everything


def test_whoever_wants_no_colours_gets_none(talk: Path) -> None:
    found = codes(walked(talk, NO_COLOR="1"))
    assert found <= ATTRIBUTES
    assert 7 in found


def test_a_terminal_with_sixteen_colours_gets_no_others(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    found = codes(walked(talk, TERM="xterm"))
    assert found - ATTRIBUTES <= COLOURS
    assert len(found & COLOURS) > 6


# Told apart without colours


def plain(app: App[Any]) -> list[list[tuple[str, bool, bool]]]:
    """The lines of the screen as pieces of text, each with whether it is in reverse, and whether it is bold."""
    lines = []
    for strip in app.screen._compositor.render_strips():  # the one place that knows the whole screen
        assert all(style is None or style.color is style.bgcolor is None for _, style, _ in strip)
        lines.append([(text, bool(style and style.reverse), bool(style and style.bold)) for text, style, _ in strip])
    return lines


def reversed_text(app: App[Any]) -> str:
    """What stands in reverse on the screen."""
    return " ".join(text.strip() for line in plain(app) for text, reverse, _ in line if reverse and text.strip())


@pytest.fixture(params=["ink", pytest.param("paper", marks=pytest.mark.wide)])
def colourless(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """A user who wants no colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(f'theme = "{request.param}"\n')
    with Services() as services:
        yield services


async def test_focus_cursor_choice_and_warnings_are_seen_without_colours(colourless: Services, talk: Path) -> None:
    async with program(colourless, (120, 30), ref=str(talk)) as (pilot, screen):
        app = pilot.app
        assert "┏" in shown(app), "the composer has the focus"
        assert "F2 Chat" in reversed_text(app)
        await pilot.press("f3")
        await settle(pilot)
        assert "┏━ Context" in shown(app)
        assert "F3 Context" in reversed_text(app)
        await pilot.press("home")
        first = reversed_text(app)
        await pilot.press("down")
        second = reversed_text(app)
        assert "system" in first
        assert "system" not in second
        assert "user" in second
        assert screen.query_one(RowsView).cursor == 1
        screen.show_notice("be careful", "warning")
        await until(lambda: "warning" in shown(app))
        assert shown(app).count("┏") == 2, "the pane, and the warning"
        app.push_screen(Chooser("which", [ChooserOption("a", "the first", "x"), ChooserOption("b", "the second", "y")]))
        await until(lambda: isinstance(app.screen, Chooser))
        await settle(pilot)
        assert "the first" in reversed_text(app)
        await pilot.press("down")
        await settle(pilot)
        assert "the second" in reversed_text(app)
        assert "the first" not in reversed_text(app)
        await pilot.press("escape")
        screen.query_one(TranscriptView).focus()
        await settle(pilot)
        assert "▌" in shown(app), "the entry that keys speak of"


def test_states_and_levels_have_words_or_signs_of_their_own() -> None:
    assert len(set(SIGNS.values())) == len(SIGNS)
    words = [WindowUse(int(share * 1000), 1000).word for share in (0.2, 0.7, 0.9, 1.1)]
    assert words == ["OK", "high", "full", "does not fit"]


# Colours


@given(triplets, triplets)
def test_text_in_sixteen_colours_can_always_be_read(text: tuple[int, int, int], ground: tuple[int, int, int]) -> None:
    style = Style(bold=True) + Style.from_color(RichColor.from_rgb(*text), RichColor.from_rgb(*ground))
    [segment] = SixteenColours().apply([Segment("text", style)], BASE)
    assert segment.style is not None
    assert segment.style.bold
    colour, on = segment.style.color, segment.style.bgcolor
    assert colour is not None
    assert on is not None
    assert contrast_ratio(SIXTEEN[colour.number or 0], SIXTEEN[on.number or 0]) >= 3


def test_a_colour_keeps_its_hue_and_a_drawing_its_colours() -> None:
    for number, name in ((0, "#12161f"), (8, "#4a5468"), (15, "#fdfcf8"), (1, "#a40000"), (9, "#ff7b72")):
        assert nearest_colour(Color.parse(name).rgb) == number, name
    assert nearest_colour(Color.parse("#6ea8fe").rgb) in (4, 12)
    assert nearest_colour(Color.parse("#8ccf7e").rgb) in (2, 10)
    assert readable_colour(4, 0) == 12
    assert readable_colour(14, 15) == 0
    same = Style.from_color(RichColor.from_rgb(80, 80, 80), RichColor.from_rgb(85, 85, 85))
    drawn, read = SixteenColours().apply([Segment("▀▀ ", same), Segment("│", same)], BASE)
    assert drawn.style is not None
    assert drawn.style.color == drawn.style.bgcolor
    assert read.style is not None
    assert read.style.color != read.style.bgcolor


@given(triplets, triplets, st.booleans())
def test_without_colours_all_else_of_a_style_stays(
    text: tuple[int, int, int], ground: tuple[int, int, int], reverse: bool
) -> None:
    style = Style(italic=True, reverse=reverse) + Style.from_color(
        RichColor.from_rgb(*text), RichColor.from_rgb(*ground)
    )
    style += Style.from_meta({"offset": (3, 4)})
    [segment, bare] = NoColours(lambda: BASE).apply([Segment("text", style), Segment("text", None)], BASE)
    assert bare.style is None
    assert segment.style is not None
    assert (segment.style.color, segment.style.bgcolor) == (None, None)
    assert segment.style.italic
    assert segment.style.meta == {"offset": (3, 4)}
    assert segment.style.reverse == (contrast_ratio(text if reverse else ground, BASE.rgb) >= 2.5)


def test_with_many_colours_nothing_is_translated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    many = WorkbenchApp(Settings(), lambda: pytest.fail("not loaded"))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM", raising=False)
    few = WorkbenchApp(Settings(), lambda: pytest.fail("not loaded"))
    assert not any(isinstance(each, SixteenColours) for each in many.get_line_filters())
    assert any(isinstance(each, SixteenColours) for each in few.get_line_filters())


async def test_without_colours_the_pane_with_the_focus_has_a_heavy_border_all_around(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with program(services, (160, 30)) as (pilot, screen):
        for key in ("f3", "f4", "f2"):
            await pilot.press(key)
            await settle(pilot)
            for name, pane in screen.panes():
                sides = {side for side, _ in pane.styles.border}
                assert sides == ({"heavy"} if name == screen.active_pane else {"round"})
