"""What the lab opens on a small screen: there is room for what matters, and no line is broken twice."""

from __future__ import annotations

import pytest

from tui.play import until
from tui.recorded.long_run import as_session
from tui.screens.lab_sample import lab_of
from tui.screens.looking import listed
from workbench.log.events import AssistantMessage, Body, Setting, ToolCall, ToolResult, UserMessage
from workbench.sources.services import Services
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


async def test_what_is_opened_fits_at_80_columns(services: Services) -> None:
    async with lab_of(services, (80, 24), as_session(services, log())) as (pilot, _, lab):
        await pilot.press("down", "down")
        await until(lambda: lab.marked == "layers")
        await pilot.press("m")
        await until(lambda: isinstance(pilot.app.screen, MissesScreen))
        misses = await listed(pilot)
        await until(lambda: misses.page.show_vertical_scrollbar)
        lines = str(misses.about.render()).splitlines()
        assert max(map(len, lines)) <= misses.page.scrollable_content_region.width
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is lab)
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, PolicyDiffScreen))
        diff = await listed(pilot)
        assert "read_file  some words that" in str(diff.found.options[0].prompt)
