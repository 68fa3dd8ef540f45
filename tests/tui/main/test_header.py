"""The first line: what is open, where, and the panes."""

from __future__ import annotations

import pytest

from tui.play import program, settle
from workbench.sources.services import Services
from workbench.tui.main.header import Header

pytestmark = pytest.mark.usefixtures("project")


PARTS = {
    160: ["Workbench  ~/src/bakery (main)  A penny short  read-only", " F2 Chat  F3 Context  F4 Compaction "],
    80: ["Workbench  A penny short  read-only", " F2 Chat  F3 Context  F4 Compaction "],
    50: ["F2 Chat  F3 Context  F4 Compaction "],
}
"""What is seen of the line at a width."""


async def test_the_title_gets_the_room_that_the_rest_leaves_and_of_a_path_the_end_is_kept(services: Services) -> None:
    async with program(services, (160, 24)) as (pilot, screen):
        for width, parts in PARTS.items():
            await pilot.resize_terminal(width, 24)
            screen.model.change_state(
                title="A penny short", read_only="it is a file", folder="~/src/bakery", branch="main"
            )
            await settle(pilot)
            line = str(screen.query_one(Header).render())
            assert all(part in line for part in parts), line
            assert len(line) <= width
        await pilot.resize_terminal(80, 24)
        screen.model.change_state(
            title="/home/somebody/.claude/projects/a-project/0b9c1f5e.jsonl", read_only="", folder="", branch=""
        )
        await settle(pilot)
        assert "0b9c1f5e.jsonl" in str(screen.query_one(Header).render())


async def test_a_click_goes_to_a_pane_or_splits(services: Services) -> None:
    async with program(services, (120, 30)) as (pilot, screen):
        line = str(screen.query_one(Header).render())
        for name in ("Context", "Compaction", "Chat"):
            await pilot.click(Header, offset=(1 + line.index(name), 0))
            await settle(pilot)
            assert screen.arrangement.active == name.lower()
        for word, is_split in (("F5 One pane", False), ("F5 Split", True)):
            line = str(screen.query_one(Header).render())
            await pilot.click(Header, offset=(1 + line.index(word), 0))
            await settle(pilot)
            assert screen.fitted.is_split == is_split
