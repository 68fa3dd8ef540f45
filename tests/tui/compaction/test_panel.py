"""The panel alone: what it shows at which size, and that every key and button asks for the right thing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.content import Content

from support.drafts import setup
from tui.compaction.long_talk import talk
from tui.compaction.views import Host, log, nested, screen_of, seen, settle
from workbench.compaction.values import Progress
from workbench.session.compaction_values import RunningCompaction
from workbench.tui.compaction.history import HistoryList
from workbench.tui.compaction.panel import BUTTONS, CompactionPanel, offered
from workbench.tui.compaction.plot import Plot
from workbench.tui.widgets.buttons import ButtonLine

KEYS = {
    "c": "compact",
    "p": "preview",
    "u": "peel",
    "r": "redo",
    "U": "undo-compactions",
    "d": "digest",
    "m": "mode",
    "P": "policy",
    "s": "compaction-status",
    "h": "compactions",
    "enter": "compactions",
    "x": "stop-compacting",
}


async def test_every_key_asks_for_its_command() -> None:
    app = Host(seen(log(talk(8))))
    async with app.run_test(size=(66, 12)) as pilot:
        await settle(pilot)
        for key, command in KEYS.items():
            await pilot.press(key)
            await settle(pilot)
            assert app.asked.pop() == (command, ""), key
    described = {each.key for each in CompactionPanel.BINDINGS}  # type: ignore[union-attr]  # all are bindings
    assert {key for keys in described for key in keys.split(",")} == set(KEYS)


@pytest.mark.parametrize("width", [30, 66, 120])
async def test_every_button_can_be_clicked_wherever_it_flows_to(width: int) -> None:
    app = Host(seen(log(talk(8))))
    async with app.run_test(size=(width, 14)) as pilot:
        await settle(pilot)
        line = app.query_one(ButtonLine)
        for button in line.buttons:
            lines = [each.plain for each in line.lines(line.content_size.width)]
            label = f"{button.key} {button.label}"
            [(y, x)] = [(y, each.index(label)) for y, each in enumerate(lines) if label in each]
            await pilot.click(ButtonLine, offset=(x + 1 + line.gutter.left, y))
            await settle(pilot)
            assert app.asked.pop() == (button.name, "")
        await pilot.click(ButtonLine, offset=(0, 0))
        assert not app.asked, "beside the buttons there is nothing to click"


async def test_a_few_lines_have_words_only_more_the_curve_and_many_everything() -> None:
    app = Host(seen(log(nested())))
    async with app.run_test(size=(66, 6)) as pilot:
        await settle(pilot)
        assert not app.query_one(Plot).display
        assert "▸ compacts at" in screen_of(app)
        await pilot.resize_terminal(66, 12)
        await settle(pilot)
        assert app.query_one(Plot).display
        assert app.query_one(Plot).size.height >= 4
        assert not app.query_one(HistoryList).region
        await pilot.resize_terminal(80, 22)
        await settle(pilot)
        assert app.query_one(Plot).size.height >= 4
        assert app.query_one(HistoryList).region
        assert "○ overflow" in screen_of(app)
        await pilot.resize_terminal(120, 20)
        await settle(pilot)
        assert app.query_one(HistoryList).region.x > 50, "beside the curve"


async def test_the_history_opens_on_the_compaction_under_the_mark() -> None:
    app = Host(seen(log(nested())))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        tree = app.query_one(HistoryList)
        tree.focus()
        await pilot.press("down", "down", "enter")
        await settle(pilot)
        assert tree.marked is not None
        assert app.asked == [("compactions", str(tree.marked.event.seq))]
        await pilot.press("c")
        assert app.asked[-1] == ("compact", ""), "the panel's keys work in it"


async def test_while_one_is_being_made_the_panel_says_how_far_it_is_and_how_to_stop_it() -> None:
    view = seen(log(talk(8)))
    app = Host(view)
    async with app.run_test(size=(66, 12)) as pilot:
        await settle(pilot)
        app.compaction = replace(view, running=RunningCompaction(Progress("summarising", 1, 3, 1_204), 0.0))
        await settle(pilot)
        assert "⟳ compacting: summarising part 1 of 3, 1,204" in screen_of(app)
        assert "x stop" in screen_of(app)
        app.compaction = view
        await settle(pilot)
        assert "▸ compacts at 16,000" in screen_of(app)
        assert "x stop" not in screen_of(app)


async def test_nothing_is_shown_before_anything_is_known() -> None:
    app = Host()
    async with app.run_test(size=(66, 12)) as pilot:
        await settle(pilot)
        assert screen_of(app).split() == ["─" * 66, "compaction"]


def test_what_can_do_nothing_now_is_quiet() -> None:
    def idle(view: object) -> set[str]:
        return {each.name for each in offered(view) if each.idle}  # type: ignore[arg-type]  # a view

    assert idle(seen(log(talk(8)))) == {"peel"}
    assert idle(seen([])) == {"compact", "preview", "digest", "peel"}
    assert idle(seen(log(nested()), fixed="a file")) == {"compact", "digest", "peel", "redo"}
    assert idle(seen(log(nested()))) == set()
    assert len(offered(seen([]))) == len(BUTTONS)


async def test_text_from_elsewhere_is_never_markup() -> None:
    view = replace(seen(log(talk(3))), policy="[/b][red]mine\x1b[31m")
    app = Host(view)
    async with app.run_test(size=(100, 14)) as pilot:
        await settle(pilot)
        assert "policy [/b][red]mine␛[31m" in screen_of(app)


async def test_a_read_only_session_and_a_policy_without_compaction_say_so() -> None:
    app = Host(seen(log(talk(8)), setup("layers"), fixed="a file can only be looked at"))
    async with app.run_test(size=(66, 12)) as pilot:
        await settle(pilot)
        text = screen_of(app)
        assert "mode off (never)" in text
        assert "read-only" in text
        assert "no automatic compaction" in text


def test_a_line_of_buttons_is_as_high_as_it_must_be() -> None:
    line = ButtonLine()
    line.set_reactive(ButtonLine.buttons, BUTTONS)
    for width in (20, 40, 80, 200):
        lines = line.lines(width)
        assert all(each.cell_length <= max(width, 20) for each in lines)
        assert Content(" ").join(lines).plain.count("preview") == 1
