"""The panel and its screens as text, beside pictures of how they should be.

Text and not SVG, because the SVG that Textual writes changes with its version, and no version is pinned. What costs
differs with the tools of the day is not in the pictures: the panel alone, over a log with a fixed policy.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.drafts import setup
from tui.compaction.long_talk import talk
from tui.compaction.views import Host, log, nested, screen_of, seen, settle
from workbench.compaction.values import Progress
from workbench.tui.compaction.view import CompactionView, Running

PICTURES = Path(__file__).parent / "pictures"
GROWN = log(nested())
FIRED = setup(sets=["compaction.threshold=0.25", "compaction.mode=manual"])

VIEWS: dict[str, tuple[CompactionView, tuple[int, int]]] = {
    "small-66x10": (seen(GROWN), (66, 10)),
    "low-66x6": (seen(GROWN), (66, 6)),
    "narrow-30x16": (seen(GROWN), (30, 16)),
    "tab-80x22": (seen(GROWN), (80, 22)),
    "wide-110x18": (seen(GROWN), (110, 18)),
    "empty-66x10": (seen([]), (66, 10)),
    "off-66x10": (seen(log(talk(8)), setup("layers"), fixed="a file can only be looked at"), (66, 10)),
    "held-66x10": (seen(log(talk(8)), FIRED), (66, 10)),
    "running-66x10": (
        replace(seen(log(talk(8))), running=Running(Progress("summarising", 2, 3, 1_204), float("inf"))),
        (66, 10),
    ),
}


@pytest.mark.parametrize(("name", "theme"), [*((name, "ink") for name in VIEWS), ("tab-80x22", "paper")])
async def test_the_panel(name: str, theme: str, tmp_path: Path) -> None:
    view, size = VIEWS[name]
    app = Host(view, theme)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        is_now = screen_of(app)
    (tmp_path / f"{name}.txt").write_text(is_now, "utf-8")
    should = (PICTURES / f"{name}.txt").read_text("utf-8")
    assert is_now == should, f"if this is meant: cp {tmp_path / f'{name}.txt'} {PICTURES}"
    assert len(is_now.splitlines()) == size[1]
