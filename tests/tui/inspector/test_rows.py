"""The list of rows: cursor, range, another plan, and the answer that comes in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from textual.strip import Strip

from tui.inspector.host import SEQS, Host, Model, host, lines_of, press, settle
from tui.inspector.sample import CountedRows, item, plan_of
from workbench.context.items import Item
from workbench.log.events import AssistantMessage, Override, UserMessage
from workbench.tui.inspector.rows import RowsView
from workbench.views.context_view import ContextView
from workbench.views.values import LiveAnswer, LiveCall

LAST = len(SEQS) - 1


def shown(rows: Sequence[Item], events: int = 10) -> ContextView:
    return ContextView(plan_of(rows), "layers", "", events)


async def test_the_cursor_moves_and_stays_in_view() -> None:
    app = Host(shown=shown([item(seq) for seq in range(1, 101)]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        rows = app.pane.rows
        height = rows.size.height
        assert rows.cursor == 99, "the newest row is what one wants to see first"
        walk = {"home": 0, "up": 0, "pageup": 0, "down": 1, "j": 2, "k": 1, "pagedown": height}
        walk |= {"end": 99, "g": 0, "G": 99}
        for key, cursor in walk.items():
            await press(pilot, key)
            assert rows.cursor == cursor, key
            seen = [line for line in lines_of(rows) if line.startswith("▌")]
            assert [line.lstrip("▌").split()[0] for line in seen] == [str(cursor + 1)]


@pytest.mark.long
async def test_a_click_puts_the_cursor_there_and_with_shift_ends_a_range() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.click(RowsView, offset=(5, 4))
        assert app.pane.rows.cursor == 4
        await pilot.click(RowsView, offset=(5, 6), shift=True)
        assert app.pane.rows.chosen == range(4, 7)
        await pilot.click(RowsView, offset=(5, 31))
        assert app.pane.rows.cursor == 6


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_every_row_has_its_place(size: tuple[int, int]) -> None:
    app = host()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "home")
        lines = lines_of(app.pane.rows)
        for seq, line in zip(SEQS, lines, strict=False):
            assert line.lstrip("▌ ").split()[0] == str(seq)
        row = lines[SEQS.index(9)]
        assert "t truncated" in row
        assert "1 def test_log" in row, "what it says"
        assert "7,281" in row or size[0] == 80, "and why it was cut, where there is room beside it"
        assert "␛[31mlogin" in lines[3] or size[0] == 80
        assert "\x1b" not in "".join(lines)


@pytest.mark.long
@pytest.mark.parametrize("size", [(40, 12), (20, 6), (1, 1)])
async def test_a_pane_that_is_too_small_is_survived(size: tuple[int, int]) -> None:
    app = host()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "home", "enter", "b", "s", "f", "escape", "[", "}", "v", "p", "escape")
        width = app.pane.rows.scrollable_content_region.width
        assert all(len(line) == width for line in lines_of(app.pane.rows))


async def test_a_pane_without_a_plan_does_no_harm() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await settle(pilot)
        for key in "pmxryo[wabsbssbbTT":
            await pilot.press(key)
        await press(pilot, "f", "x", "enter", "slash", "x", "enter", "n", "N", "z", "v", "1", "escape", "escape")
        assert app.pane.shown is None
        assert app.asked == []


async def test_an_empty_log_says_so() -> None:
    app = Host(Model([]))
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "no messages yet" in lines_of(app.pane.rows)[0]
        await press(pilot, "enter", "down", "end", "v", "p")
        assert not app.pane.detailed
        assert "there is no row here" in app.told


# The session goes on


async def test_who_stands_at_the_end_follows_and_who_does_not_stays() -> None:
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        rows = app.pane.rows
        assert rows.cursor == LAST
        app.grow(UserMessage("and now?"))
        await settle(pilot)
        assert rows.cursor == LAST + 1
        assert "and now?" in lines_of(rows)[-1]
        await press(pilot, "up")
        app.grow(AssistantMessage("so", "z"))
        await settle(pilot)
        assert rows.cursor == LAST


async def test_the_cursor_stays_on_its_item_when_others_come_before_it() -> None:
    rows = [item(seq) for seq in range(1, 9)]
    app = Host(shown=shown(rows))
    async with app.run_test() as pilot:
        await settle(pilot)
        await press(pilot, "home", "down", "down")
        app.shown = shown([item(0, "a notice", id="notice"), *rows])
        await settle(pilot)
        assert app.pane.rows.item is not None
        assert app.pane.rows.item.seq == 3
        app.shown = shown(rows[:2])
        await settle(pilot)
        assert app.pane.rows.cursor == 1


async def test_the_answer_that_comes_in_has_a_row_that_grows() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        rows = app.pane.rows
        app.live = LiveAnswer("1", reasoning="thinking about it")
        await settle(pilot)
        last = lines_of(rows)[LAST + 1]
        assert "▸ coming" in last
        assert "thinking about it" in last
        app.live = LiveAnswer("1", text="The answer is " + "long " * 100 + "and ends")
        await settle(pilot)
        last = lines_of(rows)[LAST + 1]
        assert "~131" in last, "a guess, and marked as one"
        assert last.rstrip().endswith("and ends"), "what came last is what one sees"
        app.live = LiveAnswer("1", calls=(LiveCall("c", "read_file", '{"path"', "writing"),))
        await settle(pilot)
        assert 'read_file {"path"' in lines_of(rows)[LAST + 1]
        await press(pilot, "end")
        assert rows.cursor == LAST, "there is nothing to do to it yet"
        app.live = None
        await settle(pilot)
        assert lines_of(rows)[LAST + 1].strip() == ""


async def test_only_the_lines_that_changed_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        drawn: list[int] = []
        rows = app.pane.rows
        draw: Callable[..., Strip] = rows.draw_line

        def counted(*given: object) -> Strip:
            drawn.append(1)
            return draw(*given)

        monkeypatch.setattr(rows, "draw_line", counted)
        app.live = LiveAnswer("1", text="a")
        await settle(pilot)
        app.live = LiveAnswer("1", text="ab")
        await settle(pilot)
        assert len(drawn) <= 3
        app.live = None
        await settle(pilot)
        drawn.clear()
        app.grow(Override("pin", 4, 4))
        await settle(pilot)
        assert len(drawn) <= 2


async def test_another_theme_shows_at_once() -> None:
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        before = app.pane.rows.render_line(0)
        app.theme = "paper"
        await settle(pilot)
        after = app.pane.rows.render_line(0)
        assert before.text == after.text
        assert [segment.style for segment in before] != [segment.style for segment in after]


# A range


@pytest.mark.long
async def test_a_range_shows_its_sum() -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "home", *["down"] * 5, "v", "down", "down")
        assert app.told.startswith("3 items chosen · 600 tokens · 7,302 before cuts")
        lines = lines_of(app.pane.rows)
        assert [line[0] for line in lines[5:8]] == ["┃", "┃", "▌"]
        await press(pilot, "v")
        assert "chosen" not in app.told
        await press(pilot, "shift+up")
        assert app.told.startswith("2 items chosen")
        await press(pilot, "shift+down", "shift+down")
        assert app.told.startswith("2 items chosen")
        await press(pilot, "shift+end")
        assert app.told.startswith(f"{len(SEQS) - 7} items chosen")
        await press(pilot, "shift+home")
        assert app.told.startswith("8 items chosen")
        await press(pilot, "escape")
        assert "chosen" not in app.told


async def test_the_sum_of_very_many_rows_comes_a_little_later() -> None:
    app = Host(shown=shown([item(1, tokens=2, original_tokens=3)] * 5_000))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "shift+home")
        assert app.told.startswith("5,000 items chosen · 10,000 tokens · 15,000 before cuts")


# A hundred thousand rows


async def test_a_hundred_thousand_rows_are_not_gone_through() -> None:
    rows = CountedRows()
    app = Host(shown=shown(rows, 100_000))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert 0 < rows.looks < 300
        rows.looks = 0
        await press(pilot, "home", "end", "up", "pageup")
        assert rows.looks < 600
        rows.looks = 0
        app.pane.rows.scroll_relative(y=-2, animate=False)
        await settle(pilot)
        assert rows.looks < 5, "only the rows that came into view"
        rows.looks = 0
        rows.length += 1
        app.shown = shown(rows, 100_001)
        await settle(pilot)
        assert rows.looks < 300
