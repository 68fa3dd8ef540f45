"""The pane as it should look; and its colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from rich.color import Color

from tui.inspector.host import SUMMARISED, Host, Model, host, press, settle
from workbench.session.values import Live
from workbench.tui.inspector.rows import RowsView
from workbench.tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]


async def compare(pictures: Pictures, name: str, app: Host, keys: Sequence[str] = ()) -> None:
    """Press keys and look. `9:` is no key: it puts the cursor on event 9."""
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        for key in keys:
            if key[:-1].isdigit():
                app.pane.show_event(int(key[:-1]))
            else:
                await press(pilot, key)
        await pictures.compare(pilot, name)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("rows", ["home"]),
        ("cut", ["9:", "enter"]),
        ("tokens", ["7:", "4"]),
        ("edits", ["12:", "5"]),
        ("json", ["4:", "6"]),
        ("groups", ["b", "b", "b", "home", "enter"]),
        ("largest", ["s", "home"]),
        ("filter", ["f", *"tool:r >9"]),
        ("mistake", ["f", *"stat:m"]),
        ("search", ["home", "slash", *"beta", "enter"]),
        ("range", ["7:", "v", "down", "down"]),
        ("question", ["9:", "p"]),
        ("past", ["[", "[", "["]),
        ("request", ["w"]),
        ("curl", ["w", "f"]),
        ("account", ["a"]),
        ("turns", ["a", "t"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_the_pane(name: str, keys: list[str], pictures: Pictures) -> None:
    await compare(pictures, name, host(), keys)


async def test_a_summary_in_place_of_what_it_stands_for(pictures: Pictures) -> None:
    await compare(pictures, "summary", host(Model(SUMMARISED)), ["home"])


async def test_an_answer_that_comes_in(pictures: Pictures) -> None:
    app = host()
    app.live = Live("1", text="The network is never touched: the fixture uses a file in memory")
    await compare(pictures, "live", app)


async def test_nothing_yet(pictures: Pictures) -> None:
    await compare(pictures, "empty", host(Model([])))


def ratio(one: Color, other: Color) -> float:
    """The contrast of two colours as WCAG has it, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    parts = [part / 255 for part in colour.get_truecolor()]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


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
                assert ratio(style.color, style.bgcolor) >= 3.5, (theme, name)


async def test_nothing_is_told_by_colour_alone() -> None:
    """Every state has a letter, every token a border of style, every mark a sign."""
    app = host()
    async with app.run_test() as pilot:
        await settle(pilot)
        view = app.query_one(TextView)
        underlined = [view.get_component_rich_style(f"text-view--token-{at}").underline for at in range(4)]
        assert [bool(each) for each in underlined] == [False, True, False, True]
