"""Keys that are pressed while the lab still fills: none is lost, and none counts from another row."""

from __future__ import annotations

import pytest

from tui.play import program, until
from tui.recorded.long_run import as_session
from tui.screens.looking import listed, look
from workbench.log.events import AssistantMessage, Body, Setting, UserMessage
from workbench.sources.services import Services
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.screens.lab import LabScreen

pytestmark = pytest.mark.usefixtures("project")
LOG: list[Body] = [Setting("model", "gpt-4o"), UserMessage("hello"), AssistantMessage("hi", "a")]


async def test_keys_before_the_first_row_is_marked_count_from_where_the_lab_begins(services: Services) -> None:
    async with program(services, (120, 40), as_session(services, LOG)) as (pilot, screen):
        screen.run_command(REGISTRY["lab"])
        await until(lambda: isinstance(pilot.app.screen, LabScreen))
        lab = pilot.app.screen
        assert isinstance(lab, LabScreen)
        lab.action_move(1)
        lab.action_move(1)
        await until(lambda: lab.is_done)
        await listed(pilot)
        assert lab.marked == "layers", "two below workbench"


async def test_a_key_between_the_question_and_its_answer_holds(services: Services) -> None:
    async with program(services, (120, 40), as_session(services, LOG)) as (pilot, screen):
        lab = await look(pilot, screen, "lab")
        assert isinstance(lab, LabScreen)
        await until(lambda: lab.is_done)
        await listed(pilot)
        assert lab.marked == "workbench"
        lab.refill()
        lab.action_move(1)
        await listed(pilot)
        assert lab.marked == "codex"
