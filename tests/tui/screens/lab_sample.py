"""A session on which policies differ, and ways to look at it in the lab."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from tui.play import program, until
from tui.screens.looking import listed, look, values
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.values import PolicyRun
from workbench.log.events import AssistantMessage, Body, Setting, ToolCall, ToolResult, UserMessage
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.screens.lab import LabScreen

FACT = "ledger_of_rye"
"""In one result alone, and in the last answer: some policies have masked it by then."""
READS = 14


def reading() -> list[Body]:
    """An agent that reads many files, and then says a word out of the third."""
    made: list[Body] = [Setting("model", "gpt-4o"), UserMessage("look at all of them")]
    for number in range(READS):
        word = FACT if number == 2 else f"some words of {number}"
        made += [
            ToolCall(f"c{number}", "read_file", f'{{"path": "f{number}"}}', reply=f"r{number}"),
            ToolResult(f"c{number}", f"{word}\n" * 900, "read_file"),
        ]
    return [*made, AssistantMessage(f"It is {FACT} that is wrong.", "last")]


@asynccontextmanager
async def lab_of(
    services: Services, size: tuple[int, int] = (120, 40), ref: str = "", **options: Any
) -> AsyncIterator[tuple[Pilot[Any], MainScreen, LabScreen]]:
    """The lab, when every policy is replayed."""
    async with program(services, size, ref, **options) as (pilot, screen):
        yield pilot, screen, await opened_lab(pilot, screen)


async def opened_lab(pilot: Pilot[Any], screen: MainScreen) -> LabScreen:
    """The lab over the main screen, when every policy is replayed."""
    lab = await look(pilot, screen, "lab")
    assert isinstance(lab, LabScreen)
    await replayed(pilot, lab)
    return lab


async def replayed(pilot: Pilot[Any], lab: LabScreen) -> None:
    await until(lambda: lab.is_done)
    await pilot.pause()
    await listed(pilot)


async def choose(pilot: Pilot[Any], lab: LabScreen, policy: str) -> None:
    """Move the mark to a policy."""
    lab.found.highlighted = values(lab).index(policy)
    await pilot.pause()


def row(lab: LabScreen, policy: str) -> str:
    return next(str(option.prompt) for option in lab.found.options if option.id == policy)


def told(lab: LabScreen) -> str:
    return str(lab.about.render())


def replay(services: Services, policy: str, *knobs: str) -> PolicyRun:
    [info] = services.store.list()
    return LabSource(services, Options(), services.source(info.id)).run_policy(policy, knobs)
