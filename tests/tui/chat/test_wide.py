"""A wide pane: prose keeps to a width that can be read, what is no prose takes the room it needs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content
from textual.geometry import Offset
from textual.selection import Selection

from tui.chat.host import Host, called, said, settle
from tui.small_app import screen_of
from workbench.tui.chat.blocks import CLOSED, GUTTER, draw_entry
from workbench.tui.chat.markdown import PROSE
from workbench.tui.chat.streaming import StreamingLines
from workbench.views.values import ChatEntry, LiveAnswer

OPEN = CLOSED._replace(is_open=True)
WIDE = 294
LONG = " ".join(f"word{number}" for number in range(120))
CODE = "x = " + "+".join(str(number) for number in range(60))
ROW = f"| {'a' * 90} | {'b' * 90} |"


def lines(kind: Any, text: str, width: int = WIDE) -> list[str]:
    [entry] = said((kind, text))
    return [line.plain.rstrip() for line in draw_entry(entry, None, width, OPEN).lines]


@pytest.mark.parametrize("kind", ["you", "ai", "reasoning", "summary", "failure", "notice", "system"])
@given(width=st.integers(20, 400))
def test_prose_is_never_wider_than_can_be_read_and_nothing_of_it_is_lost(kind: str, width: int) -> None:
    drawn = lines(kind, LONG, width)
    assert max(map(len, drawn)) <= min(width, GUTTER + PROSE)
    assert LONG.split() == [word for word in " ".join(drawn).split() if word.startswith("word")]


def test_code_tables_and_results_may_be_wider() -> None:
    drawn = lines("ai", f"{LONG}\n\n```\n{CODE}\n```\n\n{ROW}\n|---|---|\n{ROW}\n\n- {LONG}\n\n> {LONG}")
    assert any(line.endswith(CODE) for line in drawn)
    assert sum("a" * 90 in line and "b" * 90 in line for line in drawn) == 2
    result = [line.plain.rstrip() for line in draw_entry(called(1, "cat", "{}", CODE), None, WIDE, OPEN).lines]
    assert any(line.endswith(CODE) for line in result)


def test_the_ground_of_short_code_and_the_figures_of_a_call_are_not_at_the_other_end_of_the_screen() -> None:
    [entry] = said(("ai", "```\nshort\n```"))
    assert {line.cell_length for line in draw_entry(entry, None, WIDE).lines[1:]} == {GUTTER + PROSE}
    head = draw_entry(called(1, "run_command", '{"command": "make"}', "done", seconds=2.0), None, WIDE).lines[0]
    assert head.cell_length == GUTTER + PROSE
    assert head.plain.endswith("2.0 s")
    long = draw_entry(called(1, "run_command", f'{{"command": "{LONG[:180]}"}}', "done"), None, WIDE).lines[0]
    assert LONG[:180] in long.plain


def test_an_answer_that_comes_in_is_as_narrow_and_its_code_as_wide() -> None:
    growing = StreamingLines(WIDE, Content(), "")
    growing.feed(LONG)
    assert max(growing[line].cell_length for line in range(len(growing))) <= PROSE
    for end in range(len(LONG), len(LONG) + len(CODE) + 20, 7):
        growing.feed(f"{LONG}\n\n```\n{CODE}\n{CODE}\n"[:end])
    growing.feed(f"{LONG}\n\n```\n{CODE}\n{CODE}\n")
    assert sum(growing[line].plain.endswith(CODE) for line in range(len(growing))) == 2


async def test_heights_jumps_and_selection_agree_on_a_wide_screen() -> None:
    entries: list[ChatEntry] = said(*[("ai" if number % 2 else "you", f"n{number} {LONG}") for number in range(60)])
    app = Host(entries)
    async with app.run_test(size=(300, 30)) as pilot:
        await settle(pilot)
        view = app.pane.view
        app.pane.show_event(31)
        await settle(pilot)
        shown = screen_of(app).splitlines()
        assert any(f"n30 {LONG[:40]}" in line for line in shown)
        await pilot.press("home")
        for index in range(len(entries)):
            view.lines.drawn(index)
        each = [len(draw_entry(entry, None, view.lines.width).lines) for entry in entries]
        assert view.lines.total == sum(each)
        assert [view.lines.heights.top(index) for index in range(3)] == [0, each[0], each[0] + each[1]]
        top = view.lines.heights.top(1)
        found = view.get_selection(Selection(Offset(GUTTER, top + 1), Offset(-1, top + each[1] - 1)))
        assert found is not None
        assert " ".join(found[0].split()) == f"n1 {LONG}"
        await pilot.press("end")
        app.live = LiveAnswer("1", LONG, LONG)
        await settle(pilot)
        assert view.scroll_offset.y == view.max_scroll_y == view.lines.total - view.scrollable_content_region.height
