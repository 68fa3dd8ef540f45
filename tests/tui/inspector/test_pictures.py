"""The pane as text, beside a picture of how it should be; and its colours, which a picture of text does not show.

Text and not SVG, because the SVG that Textual writes changes with its version, and no version is pinned.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.color import Color

from tui.inspector.host import SUMMARISED, Host, Model, host, press, screen_of, settle
from workbench.tui.inspector.rows import Rows
from workbench.tui.inspector.text_view import TextView
from workbench.tui.values import Live

PICTURES = Path(__file__).parent / "pictures"
SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 60)


async def compare(name: str, app: Host, size: tuple[int, int], keys: Sequence[str], tmp_path: Path) -> None:
    """Press keys and hold the screen against its picture; the message says how to renew it.

    `9:` is no key: it puts the cursor on event 9.
    """
    file = f"{name}-{size[0]}x{size[1]}.txt"
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        for key in keys:
            if key[:-1].isdigit():
                app.pane.show_event(int(key[:-1]))
            else:
                await press(pilot, key)
        await settle(pilot)
        is_now = screen_of(app)
    (tmp_path / file).write_text(is_now, "utf-8")
    assert is_now.count("\n") == size[1]
    path = PICTURES / file
    should = path.read_text("utf-8") if path.exists() else ""
    assert is_now == should, f"if this is meant: cp {tmp_path / file} {PICTURES}"


@pytest.mark.parametrize(
    ("name", "size", "keys"),
    [
        ("rows", SMALL, ["home"]),
        ("rows", MIDDLE, ["home"]),
        ("rows", LARGE, ["home"]),
        ("cut", SMALL, ["9:", "enter"]),
        ("cut", LARGE, ["9:", "enter"]),
        ("tokens", MIDDLE, ["7:", "4"]),
        ("edits", MIDDLE, ["12:", "5"]),
        ("json", MIDDLE, ["4:", "6"]),
        ("groups", MIDDLE, ["b", "b", "b", "home", "enter"]),
        ("largest", SMALL, ["s", "home"]),
        ("filter", SMALL, ["f", *"tool:r >9"]),
        ("mistake", SMALL, ["f", *"stat:m"]),
        ("search", SMALL, ["home", "slash", *"beta", "enter"]),
        ("range", MIDDLE, ["7:", "v", "down", "down"]),
        ("question", SMALL, ["9:", "p"]),
        ("question", LARGE, ["9:", "p"]),
        ("past", SMALL, ["[", "[", "["]),
        ("past", MIDDLE, ["[", "[", "["]),
        ("request", SMALL, ["w"]),
        ("curl", MIDDLE, ["w", "f"]),
        ("account", SMALL, ["a"]),
        ("account", MIDDLE, ["a", "t"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_pictures(name: str, size: tuple[int, int], keys: list[str], tmp_path: Path) -> None:
    await compare(name, host(), size, keys, tmp_path)


async def test_a_summary_in_place_of_what_it_stands_for(tmp_path: Path) -> None:
    await compare("summary", host(Model(SUMMARISED)), SMALL, ["home"], tmp_path)


async def test_an_answer_that_comes_in(tmp_path: Path) -> None:
    app = host()
    app.live = Live("1", text="The network is never touched: the fixture uses a file in memory")
    await compare("live", app, SMALL, [], tmp_path)


async def test_nothing_yet(tmp_path: Path) -> None:
    await compare("empty", host(Model([])), SMALL, [], tmp_path)


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
        for view in (app.query_one(Rows), app.query_one(TextView)):
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
