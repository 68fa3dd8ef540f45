"""Keys that are pressed while the lab still fills: none is lost, and none counts from another row."""

from __future__ import annotations

import pytest

from tui.play import SMALL, program, until
from tui.recorded.long_run import as_session
from tui.screens.lab_sample import opened_lab
from tui.screens.looking import listed
from workbench.log.events import AssistantMessage, Body, Setting, UserMessage
from workbench.sources.services import Services
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.screens.lab import LabScreen

pytestmark = pytest.mark.usefixtures("project")
LOG: list[Body] = [Setting("model", "gpt-4o"), UserMessage("hello"), AssistantMessage("hi", "a")]


async def test_a_key_counts_from_where_the_lab_begins_and_holds_between_a_question_and_its_answer(
    services: Services,
) -> None:
    async with program(services, SMALL, as_session(services, LOG)) as (pilot, screen):
        screen.run_command(REGISTRY["lab"])
        await until(lambda: isinstance(pilot.app.screen, LabScreen))
        lab = pilot.app.screen
        assert isinstance(lab, LabScreen)
        lab.action_move(1)
        lab.action_move(1)
        await until(lambda: lab.is_done)
        await listed(pilot)
        assert lab.marked == "layers", "two below workbench, although no row was marked before"
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        again = await opened_lab(pilot, screen)
        assert again.marked == "workbench"
        again.refill()
        again.action_move(1)
        await listed(pilot)
        assert again.marked == "codex"
