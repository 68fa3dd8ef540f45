"""The screens as text, beside pictures of how they should be. They lie over the recorded session of the demo."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tui.play import program, shown, until
from tui.screens.looking import at_rest, look, narrowed, seen
from workbench.traces.desk import Desk
from workbench.tui.screens.finder import Finder

pytestmark = pytest.mark.usefixtures("project")

PICTURES = Path(__file__).parent / "pictures"
RECORDING = str(files("workbench") / "demo" / "session.jsonl")
SIZES = [(80, 24), (120, 40), (200, 60)]
SCREENS = [("policy", ""), ("knobs", "masking"), ("lab", ""), ("tools", "read")]


def box(finder: Finder[Any]) -> str:
    """What the screen shows inside its border; what lies behind it is another's picture."""
    region = finder.query_one(".finder--box").region
    lines = shown(finder.app).split("\n")[region.y : region.bottom]
    return "".join(f"{line[region.x : region.right].rstrip()}\n" for line in lines)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_screens_are_as_they_should_be(desk: Desk, size: tuple[int, int], tmp_path: Path) -> None:
    wrong = []
    async with program(desk, size, RECORDING) as (pilot, screen):
        for name, text in SCREENS:
            await look(pilot, screen, name)
            if text:
                await narrowed(pilot, text)
            pilot.app.clear_notifications()
            finder = await at_rest(pilot)
            file = f"{name}-{size[0]}x{size[1]}.txt"
            is_now = box(finder)
            (tmp_path / file).write_text(is_now, "utf-8")
            should = PICTURES / file
            if is_now != (should.read_text("utf-8") if should.exists() else ""):
                wrong.append(f"cp {tmp_path / file} {should}")
            await pilot.press("escape")
            await until(lambda: pilot.app.screen is screen)
    assert not wrong, "if this is meant: " + "; ".join(wrong)


@pytest.mark.parametrize("theme", ["ink", "paper"])
async def test_nothing_depends_on_colour_alone(desk: Desk, theme: str) -> None:
    """Signs say the same as colours: open, on, off, changed, fits."""
    async with program(desk, (160, 50), RECORDING) as (pilot, screen):
        pilot.app.theme = theme
        for name, signs in (("policy", "● workbench  now"), ("tools", "● on"), ("lab", "✓ fits")):
            await look(pilot, screen, name)
            await seen(pilot, signs)
            await pilot.press("escape")
            await until(lambda: pilot.app.screen is screen)
