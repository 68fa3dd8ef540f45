"""What stands around the rows, what a row opens into, and where one can go from it."""

from __future__ import annotations

import pytest
from textual.events import Key

from tui.inspector.host import BODIES, SUMMARISED, Host, Model, go_to, host, lines_of, press, settle
from tui.inspector.sample import SAMPLE, item, plan_of
from tui.small_app import screen_of
from workbench.context.budget import Limits
from workbench.context.plan import Verdict
from workbench.log.events import Body, ToolCall, ToolResult, UserMessage
from workbench.tui.inspector.account import AccountScreen
from workbench.tui.inspector.detail import ItemDetail
from workbench.tui.inspector.info_lines import VerdictLine
from workbench.tui.inspector.pages import TABS
from workbench.tui.inspector.request import RequestScreen
from workbench.tui.inspector.rows import RowsView
from workbench.tui.messages import Jump
from workbench.tui.widgets.input_line import InputLine
from workbench.tui.widgets.text_view import TextView
from workbench.views.context_view import ContextView

WIDE = (120, 40)


# What is shown around the rows


async def test_what_does_not_fit_says_so_with_its_warnings() -> None:
    plan = plan_of(
        SAMPLE,
        limits=Limits(5_000, "option", 2_000, 0),
        verdict=Verdict("too_large", "6,120 tokens + 2,000 reserve = 8,120, 3,120 over the window of 5,000"),
        warnings=("the system slot holds 100 tokens; 50 are advised",),
    )
    app = host()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        line = app.query_one(VerdictLine)
        assert not line.display, "that it fits is said once, in the usage line"
        app.shown = ContextView(plan, "layers", "", 10)
        await settle(pilot)
        assert str(line.render()).startswith("● too large 6,120 tokens")
        assert "! the system slot holds 100 tokens" in str(line.render())
        assert line.size.height == 3


async def test_a_hostile_name_is_shown_and_does_nothing() -> None:
    made = plan_of([item(1, tool="\x1b]0;owned\x07[/]")], model="[/b]\x1b[2J")
    app = Host(shown=ContextView(made, "[/b]", "[/]\x1b", 1))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        assert "␛]0;owned␇[/]" in "\n".join(lines_of(app.pane.rows))


# The detail


async def test_the_detail_opens_follows_and_closes() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await go_to(pilot, 9)
        assert not app.query_one(ItemDetail).display
        detail = app.pane.detail
        await press(pilot, "enter")
        assert detail.display
        assert detail.tab == "diff", "of a row that was cut one sees first what was cut"
        assert "-   16  def test_login_16" in "\n".join(lines_of(detail.reader.view))
        await press(pilot, "down")
        assert detail.tab == "original"
        assert "pytest -x" in lines_of(detail.reader.view)[0]
        await press(pilot, "space")
        assert not app.query_one(ItemDetail).display
        await press(pilot, "enter", "escape")
        assert not app.query_one(ItemDetail).display


@pytest.mark.long
async def test_each_way_to_look_has_a_key() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await go_to(pilot, 9)
        for number, tab in enumerate(TABS, 1):
            await press(pilot, str(number))
            assert app.pane.detail.tab == tab.key
            assert app.pane.detailed
        await press(pilot, "1", "down", "down", "down")
        assert app.pane.detail.tab == "original", "the user's choice holds from row to row"


@pytest.mark.long
async def test_the_detail_takes_the_focus_and_turns_its_pages() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await go_to(pilot, 9)
        await press(pilot, "enter", "tab")
        assert isinstance(app.focused, TextView)
        for key, tab in (("right", "tokens"), ("l", "edits"), ("left", "tokens"), ("h", "diff"), ("h", "sent")):
            await press(pilot, key)
            assert app.pane.detail.tab == tab
        await press(pilot, "1", "end")
        assert "399  def test_login_399" in "\n".join(lines_of(app.pane.detail.reader.view))
        await press(pilot, "home", "j", "k", "pagedown", "pageup", "G", "g")
        await press(pilot, "escape")
        assert isinstance(app.focused, RowsView)
        assert not app.pane.detail.display


async def test_a_new_plan_does_not_take_the_reader_from_his_place() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await go_to(pilot, 9)
        await press(pilot, "1", "tab", "pagedown")
        view = app.pane.detail.reader.view
        place = view.scroll_offset.y
        assert place > 0
        app.grow(UserMessage("and now?"))
        await settle(pilot)
        assert view.scroll_offset.y == place


@pytest.mark.parametrize(("size", "beside"), [((80, 24), False), ((120, 40), False), ((200, 60), True)])
async def test_the_detail_goes_where_there_is_room(size: tuple[int, int], beside: bool) -> None:
    app = host()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "enter")
        rows, detail = app.pane.rows.region, app.pane.detail.region
        assert (detail.x >= rows.right) == beside
        assert (detail.y >= rows.bottom) != beside
        assert detail.area > size[0] * size[1] / 5


# Around


@pytest.mark.long
async def test_jumping_to_the_chat_and_back() -> None:
    app = host(Model([*SUMMARISED]))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await go_to(pilot, 12)
        await press(pilot, "o")
        jumps = [(each.seq, each.pane) for each in app.asked if isinstance(each, Jump)]
        assert jumps == [(12, "chat")]
        await press(pilot, "f", "u", "s", "e", "r", "enter")
        await go_to(pilot, 21)
        assert app.list.wish.is_plain, "a filter that hides the row goes"
        assert app.pane.rows.lines is not None
        summary = next(at for at, row in enumerate(app.pane.rows.lines.plan.items) if row.kind == "summary")
        app.pane.rows.cursor = summary
        await press(pilot, "o")
        assert app.told == "! this row has no message in the chat"


async def test_copying_rows() -> None:
    app = host()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settle(pilot)
        await go_to(pilot, 27)
        await press(pilot, "shift+down", "y")
        assert app.clipboard == (
            "It must support Python 3.11, and never touch the network.\n\nUnderstood: Python 3.11, no network."
        )
        await pilot.pause()
        assert "95 characters copied" in " ".join(str(toast.render()) for toast in app.screen.query("Toast"))


@pytest.mark.parametrize(("key", "screen"), [("w", RequestScreen), ("a", AccountScreen)])
async def test_other_screens_open_and_close(key: str, screen: type) -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, key)
        assert isinstance(app.screen, screen)
        await press(pilot, "escape")
        assert not isinstance(app.screen, screen)


async def test_escape_goes_on_to_the_screen_where_there_is_nothing_to_leave() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert app.pane.check_action("back", ()) is False
        await press(pilot, "v")
        assert app.pane.check_action("back", ()) is True


@pytest.mark.parametrize(("opens", "typed"), [("f", "tool:read"), ("slash", "sorts and masks")])
async def test_keys_that_come_in_one_burst_with_the_filter_s_key_are_all_typed_into_it(opens: str, typed: str) -> None:
    app = host()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        order = app.list.wish
        app.post_message(Key(opens, "/" if opens == "slash" else opens))
        for letter in typed:
            app.post_message(Key(letter, letter))
        await settle(pilot)
        assert isinstance(app.focused, InputLine)
        assert app.focused.value == typed
        assert app.list.wish._replace(filter=order.filter) == order, "no letter reached the rows"
        assert app.pane.asked is None


@pytest.mark.long
async def test_no_sum_before_cuts_where_more_is_sent_than_was_said() -> None:
    empty: list[Body] = [
        UserMessage("run it"),
        ToolCall("c", "run_command", "{}", "r"),
        ToolResult("c", "", "run_command"),
    ]
    for bodies, cut in ((empty, False), (BODIES, True)):
        app = host(Model(bodies))
        async with app.run_test(size=(150, 40)) as pilot:
            await settle(pilot)
            assert app.shown is not None
            totals = app.shown.plan.totals
            assert (totals.original_tokens > totals.items) == cut
            text = screen_of(app)
            assert ("tokens before cuts" in text) == cut
            assert f"{totals.items:,} content + {totals.framing:,} message framing" in text
