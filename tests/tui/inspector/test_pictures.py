"""The pane as it should look; and its colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from textual.pilot import Pilot

from tui.contrast import contrast
from tui.inspector.host import SUMMARISED, Host, Model, host, press, settle
from workbench.tui.inspector.rows import RowsView
from workbench.tui.widgets.text_view import TextView
from workbench.views.values import LiveAnswer

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]


def compare(
    pictures: Pictures,
    app: Host,
    keys: Sequence[str] = (),
    *,
    words: Sequence[str],
    size: tuple[int, int] = (80, 24),
    theme: str = "ink",
) -> None:
    """Press keys and look. `9:` is no key: it puts the cursor on event 9."""

    async def show(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        for key in keys:
            if key[:-1].isdigit():
                app.pane.show_event(int(key[:-1]))
            else:
                await press(pilot, key)

    sizes = () if size == (80, 24) else (size,)
    pictures.compare(app, show, words=words, size=size, theme=theme, sizes=sizes)


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


@pytest.mark.parametrize("name", STATES)
def test_the_pane(name: str, pictures: Pictures) -> None:
    keys, words = STATES[name]
    compare(pictures, host(), keys, words=words)


@pytest.mark.parametrize(
    ("name", "size", "theme"),
    [("rows", (200, 60), "ink"), ("rows", (120, 40), "paper"), ("cut", (200, 60), "ink")],
    ids=["rows-wide", "rows-light", "cut-wide"],
)
def test_the_pane_in_another_size_or_theme(name: str, size: tuple[int, int], theme: str, pictures: Pictures) -> None:
    keys, words = STATES[name]
    compare(pictures, host(), keys, words=words, size=size, theme=theme)


def test_a_summary_in_place_of_what_it_stands_for(pictures: Pictures) -> None:
    words = ("s summarised Why does [/b] the", "s summarised Bash pytest -x")
    compare(pictures, host(Model(SUMMARISED)), ["home"], words=words)


def test_an_answer_that_comes_in(pictures: Pictures) -> None:
    app = host()
    app.live = LiveAnswer("1", text="The network is never touched: the fixture uses a file in memory")
    compare(pictures, app, words=("… assistant ~16 ▸ coming", "uses a file in memory"))


def test_nothing_yet(pictures: Pictures) -> None:
    compare(pictures, host(Model([])), words=("no messages yet",))


@pytest.mark.parametrize("theme", ["ink", "paper"])
async def test_every_style_can_be_read(theme: str) -> None:
    app = host(theme=theme)
    async with app.run_test() as pilot:
        await settle(pilot)
        for view in (app.query_one(RowsView), app.query_one(TextView)):
            for name in sorted(view.COMPONENT_CLASSES):
                style = view.get_component_rich_style(name)
                assert style.color is not None
                assert style.bgcolor is not None
                assert contrast(style) >= 3.5, (theme, name)


async def test_nothing_is_told_by_colour_alone() -> None:
    """Every state has a letter, every token a border of style, every mark a sign."""
    app = host()
    async with app.run_test() as pilot:
        await settle(pilot)
        view = app.query_one(TextView)
        underlined = [view.get_component_rich_style(f"text-view--token-{at}").underline for at in range(4)]
        assert [bool(each) for each in underlined] == [False, True, False, True]
