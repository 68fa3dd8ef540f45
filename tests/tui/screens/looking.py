"""Ways to open a screen over the panes, and to wait for what it shows."""

from __future__ import annotations

import re
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from support.waiting import patiently
from tui.play import shown, until
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.main.screen import MainScreen
from workbench.tui.screens.lab_moment import LabMomentScreen
from workbench.tui.widgets.finder import Finder


async def look(pilot: Pilot[Any], screen: MainScreen, name: str, argument: str = "") -> Finder[Any]:
    """Run a command that opens a screen with a list, and wait for its rows."""
    screen.run_command(REGISTRY[name], argument)
    return await listed(pilot)


async def next_request(pilot: Pilot[Any], screen: MainScreen) -> LabMomentScreen:
    """The lab's look at the next request, when all policies are worked out."""
    await look(pilot, screen, "lab")
    await pilot.press("t")
    await until(lambda: isinstance(pilot.app.screen, LabMomentScreen))
    moment = await listed(pilot)
    assert isinstance(moment, LabMomentScreen)
    await until(lambda: "…" not in str(moment.found.options[-1].prompt))
    return moment


async def listed(pilot: Pilot[Any]) -> Finder[Any]:
    """The screen with a list that is open, when its rows are there."""
    await until(lambda: isinstance(pilot.app.screen, Finder) and pilot.app.screen.is_mounted)
    finder = pilot.app.screen
    assert isinstance(finder, Finder)
    async with patiently():
        await finder.settled()
    await pilot.pause()
    return finder


async def narrowed(pilot: Pilot[Any], text: str) -> Finder[Any]:
    """Type into the open screen, and wait for what that finds."""
    finder = await listed(pilot)
    finder.field.value = text
    await pilot.pause()
    return await listed(pilot)


async def seen(pilot: Pilot[Any], *texts: str) -> None:
    """Wait until all of these are on the screen."""
    now = ""

    def all_there() -> bool:
        nonlocal now
        now = shown(pilot.app)
        if not all(text in now for text in texts):
            now += _held(pilot)
        return all(text in now for text in texts)

    await until(all_there, lambda: f"not all of {texts} came:\n{now}")


def _held(pilot: Pilot[Any]) -> str:
    """What the widgets hold, also without line breaks: on the screen a long path may break a line anywhere."""
    held = "\n".join(str(each.render()) for each in pilot.app.screen.query(Static) if each.display)
    return held + re.sub(r"\n\s*", "", held)


def values(finder: Finder[Any]) -> list[str]:
    """The rows, by what is taken with them."""
    return [str(option.id) for option in finder.found.options]
