"""The pane as it should look; and its colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.pilot import Pilot

from tui.contrast import contrast
from tui.inspector.host import SUMMARISED, Host, Model, host, press, settle
from workbench.tui.inspector.rows import RowsView
from workbench.tui.widgets.input_line import InputLine
from workbench.tui.widgets.text_view import TextView
from workbench.views.values import LiveAnswer

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]


SMALL, USUAL, LARGE = (80, 24), (120, 40), (200, 60)
MOST_OPEN = 3
"""What Escape leaves one after the other: a line to type in, a question or a range, and an order of the rows."""


async def back(pilot: Pilot[Any], app: Host) -> None:
    """To all rows in order, with the cursor on the last."""
    if len(app.screen_stack) > 1:  # the request, or the account
        await app.pop_screen()
    for _ in range(MOST_OPEN):
        if isinstance(app.focused, InputLine) or app.pane.check_action("back", ()):
            await press(pilot, "escape")
    assert not app.pane.check_action("back", ()), "Escape leaves what is open"
    await press(pilot, "}", "end")


async def press_or_go(pilot: Pilot[Any], app: Host, keys: Sequence[str]) -> None:
    """Press keys. `9:` is no key: it puts the cursor on event 9."""
    for key in keys:
        if key[:-1].isdigit():
            app.pane.show_event(int(key[:-1]))
        else:
            await press(pilot, key)


STATES: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "rows": (["home"], ("# who tokens", "state what", "27 user 15", "9 hidden: 8 usage, 1 thinking · . shows them")),
    "cut": (
        ["9:", "enter"],
        ("truncated: 579 of 7,281 tokens", "[3 what was cut]", "- 16 def test_login_16", "/ search"),
    ),
    "tokens": (["7:", "4"], ("tool call · read_file · event 7 · sent:", "[4 tokens]", "9 tokens, as sent")),
    "edits": (["12:", "5"], ("m masked: 14 of 220 tokens", "[5 edits]", "share 1.1 % of the request's 1,289 tokens")),
    "json": (["4:", "6"], ("message · user · event 4 · sent: 20", "[6 JSON]", '"id": "e00004",')),
    "groups": (
        ["b", "b", "b", "home", "enter"],
        ("3 groups by state", "16 rows 43.0 % of the request", "▾ truncated 579"),
    ),
    "largest": (["s", "home"], ("largest first · Esc: all items, in order", "# who tokens▼")),
    "filter": (["f", *"tool:r >9"], ("12 of 20 items match · filter tool:r >9", "Esc: all items, in order")),
    "mistake": (["f", *"stat:m"], ("! no such key: stat: expected one of state:", "no row matches stat:")),
    "search": (["home", "slash", *"beta", "enter"], ("match 1 of 1 for beta",)),
    "range": (["7:", "v", "down", "down"], ("3 items chosen · 600 tokens · 7,302 before",)),
    "question": (["9:", "p"], ("pin event 9? · adds 6,702 tokens · invalidates", "Enter apply Esc cancel")),
    "past": (["[", "[", "["], ("+ 2 added (+360) · ± 1 changed (-286)", "15 ± run_command 14", "19 + read_file() 10")),
    "request": (["w"], ("the request as it will be sent · [JSON]", '"model": "gpt-4o"', "f shows it as curl")),
    "curl": (["w", "f"], ("the request as it will be sent · [curl]", "/v1}/chat/completions", "/ search")),
    "account": (["a"], ("the ledger · [by request]", "the context grows by +43 tokens a turn", "unattributed")),
    "turns": (["a", "t"], ("the context grows by +43 tokens a turn", "8 9,440 9,520 +80 4,720 640 10,160 $0.0243")),
}
"""The keys that lead to each, and what is then seen at every size."""


LIVE = LiveAnswer("1", text="The network is never touched: the fixture uses a file in memory")


async def test_the_pane(pictures: Pictures) -> None:
    app = host()
    async with app.run_test(size=SMALL) as pilot:
        await settle(pilot)
        for size in pictures.sizes:
            await pictures.resize(pilot, size)
            for name, (keys, words) in STATES.items():
                await press_or_go(pilot, app, keys)
                await pictures.compare_at(SMALL, pilot, name, words)
                await back(pilot, app)
            app.live = LIVE
            words = ("… assistant ~16 ▸ coming", "uses a file in memory")
            await pictures.compare_at(SMALL, pilot, "an-answer-that-comes-in", words)
            app.live = None
        await pictures.resize(pilot, LARGE)
        for name in ("cut", "rows"):
            keys, words = STATES[name]
            await press_or_go(pilot, app, keys)
            await pictures.compare_now(pilot, f"{name}-wide", words)
            await back(pilot, app)
        app.theme = "paper"
        await pictures.resize(pilot, USUAL)
        await press(pilot, "home")
        await pictures.compare_now(pilot, "rows-light", words)


async def test_other_sessions(pictures: Pictures) -> None:
    app = host(Model([]))
    async with app.run_test(size=SMALL) as pilot:
        for size in pictures.sizes:
            await pictures.resize(pilot, size)
            app.shown = Model([]).shown()
            await pictures.compare_at(SMALL, pilot, "nothing-yet", ("no messages yet",))
            app.shown = Model(SUMMARISED).shown()
            await press(pilot, "home")
            words = ("s summarised Why does [/b] the", "s summarised Bash pytest -x")
            await pictures.compare_at(SMALL, pilot, "a-summary-in-place-of-what-it-stands-for", words)


async def test_every_style_can_be_read_and_nothing_is_told_by_colour_alone() -> None:
    """Every state has a letter, every token a border of style, every mark a sign."""
    app = host()
    async with app.run_test() as pilot:
        await settle(pilot)
        rows, view = app.query_one(RowsView), app.query_one(TextView)
        underlined = [view.get_component_rich_style(f"text-view--token-{at}").underline for at in range(4)]
        assert [bool(each) for each in underlined] == [False, True, False, True]
        for theme in ("ink", "paper"):
            app.theme = theme
            await settle(pilot)
            for each in (rows, view):
                for name in sorted(each.COMPONENT_CLASSES):
                    style = each.get_component_rich_style(name)
                    assert style.color is not None
                    assert style.bgcolor is not None
                    assert contrast(style) >= 3.5, (theme, name)
