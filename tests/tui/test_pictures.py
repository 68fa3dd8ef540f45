"""The whole screen as text, beside a picture of how it should be.

Text and not SVG, because the SVG that Textual writes changes with its version, and no version is pinned.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.fakes import SAMPLE, FakeBench, app_of, plan_of, settle
from workbench.tui.app import WorkbenchApp

PICTURES = Path(__file__).parent / "pictures"


async def compare(name: str, app: WorkbenchApp, size: tuple[int, int], keys: list[str], tmp_path: Path) -> None:
    """Press keys and hold the screen against its picture; the message says how to renew it."""
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press(*keys)
        await settle(pilot)
        strips = app.screen._compositor.render_strips()  # the one place that knows the whole screen
    is_now = "".join(f"{strip.text.rstrip()}\n" for strip in strips)
    (tmp_path / f"{name}.txt").write_text(is_now, "utf-8")
    should = (PICTURES / f"{name}.txt").read_text("utf-8")
    assert is_now == should, f"if this is meant: cp {tmp_path / f'{name}.txt'} {PICTURES}"
    assert len(strips) == size[1]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_rows(size: tuple[int, int], tmp_path: Path) -> None:
    await compare(f"rows-{size[0]}x{size[1]}", app_of(), size, ["down"], tmp_path)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_detail_of_a_cut_result(size: tuple[int, int], tmp_path: Path) -> None:
    await compare(f"detail-{size[0]}x{size[1]}", app_of(), size, [*["down"] * 5, "enter"], tmp_path)


async def test_the_help(tmp_path: Path) -> None:
    await compare("help-120x40", app_of(FakeBench(plan_of(SAMPLE[:0]))), (120, 40), ["question_mark"], tmp_path)


async def test_nothing_to_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CONFIG_DIR", "/home/ann/.config/workbench")
    monkeypatch.setenv("WORKBENCH_DATA_DIR", "/home/ann/.local/share/workbench")
    await compare("nothing-80x24", WorkbenchApp(None), (80, 24), [], tmp_path)
