"""What the lab opens on a small screen: there is room for what matters, and no line is broken twice."""

from __future__ import annotations

import pytest

from tui.play import program, until
from tui.recorded.long_run import as_session
from tui.screens.looking import listed, look
from workbench.log.events import AssistantMessage, Body, Setting, ToolCall, ToolResult, UserMessage
from workbench.sources.services import Services
from workbench.tui.screens.lab import LabScreen
from workbench.tui.screens.lab_misses import MissesScreen
from workbench.tui.screens.policy_diff import PolicyDiffScreen

pytestmark = pytest.mark.usefixtures("project")

FACT = "ledger_of_rye"


def log() -> list[Body]:
    """A word out of the third result is needed in the end, amid many others."""
    around = "some words that stand around it and go on and on, " * 6
    made: list[Body] = [Setting("model", "gpt-4o"), UserMessage("look at all of them")]
    for number in range(14):
        said = f"{around}{FACT} {around}" if number == 2 else f"beginning of the text number {number} " * 200
        made += [
            ToolCall(f"c{number}", "read_file", f'{{"path": "f{number}"}}', reply=f"r{number}"),
            ToolResult(f"c{number}", said, "read_file"),
        ]
    return [*made, AssistantMessage(f"{around} It is {FACT} that is wrong. {around}", "last")]


@pytest.mark.parametrize("key", ["m", "enter"])
async def test_what_is_opened_fits_at_80_columns(services: Services, key: str) -> None:
    async with program(services, (80, 24), as_session(services, log())) as (pilot, screen):
        lab = await look(pilot, screen, "lab")
        assert isinstance(lab, LabScreen)
        await until(lambda: lab.is_done)
        await listed(pilot)
        await pilot.press("down", "down")
        await until(lambda: lab.marked == "layers")
        await pilot.press(key)
        wanted = MissesScreen if key == "m" else PolicyDiffScreen
        await until(lambda: isinstance(pilot.app.screen, wanted))
        opened = await listed(pilot)
        if key == "m":
            await until(lambda: opened.page.show_vertical_scrollbar)
            lines = str(opened.about.render()).splitlines()
            assert max(map(len, lines)) <= opened.page.scrollable_content_region.width
        else:
            assert "read_file  some words that" in str(opened.found.options[0].prompt)
