"""A session long enough to be compacted, on the whole program, with a model that says what a test wants."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from support.drafts import work
from support.waiting import GIVE_UP
from tui.play import ONE_PANE, program, settle, until
from workbench.config.values import replace
from workbench.log.events import Body, Setting, Usage, UserMessage
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen

WINDOW = 20_000
WAITING = ("commands", "leave", "change")
"""Workers that may wait for the user: commands, and the questions before a loss and before an undo."""
SUMMARY = (
    "## Goal\nFix the bugs in src/app1.py to src/app8.py; never touch db/schema1.sql.\n\n## Decisions\n"
    "Port 9001 instead of 8001 (commit abc1231)."
)


def talk(turns: int, lines: int = 60, model: str = "scripted") -> list[Body]:
    """Finished turns with their usages, a steady growth from the first to the last."""
    found: list[Body] = [Setting("title", "mend the build"), Setting("model", model)]
    for at in range(1, turns + 1):
        found += work(1, lines, at)
        each = 14 * lines + 100
        found.append(Usage(model, each * at, each * at + 11, completion=30, upto=len(found)))
    return found


def stored(services: Services, turns: int = 8, **more: Any) -> str:
    """A session of the store; its id."""
    with services.store.create(talk(turns, **more)) as session:
        return session.id


@asynccontextmanager
async def on_screen(
    services: Services, size: tuple[int, int] = ONE_PANE, turns: int = 8, **options: Any
) -> AsyncIterator[tuple[Pilot[Any], MainScreen]]:
    """The program on such a session."""
    made = {"window": WINDOW, "reserve": 2_000, **options}
    async with program(services, size, stored(services, turns), **made) as found:
        yield found


@asynccontextmanager
async def panel(
    services: Services, size: tuple[int, int] = (110, 30), ref: str | None = None, **options: Any
) -> AsyncIterator[tuple[Pilot[Any], MainScreen]]:
    """The program on such a session, or another one, with the compaction panel alone on the main screen."""
    made = {"window": WINDOW, "reserve": 2_000, **options}
    async with program(services, size, stored(services) if ref is None else ref, **made) as (pilot, screen):
        pilot.app.NOTIFICATION_TIMEOUT = GIVE_UP  # type: ignore[misc]  # of this app alone
        await alone(pilot, "f4")
        yield pilot, screen


async def alone(pilot: Pilot[Any], key: str) -> None:
    """The pane of this key alone on the main screen, at any size: the others take long to draw."""
    screen = pilot.app.screen
    assert isinstance(screen, MainScreen)
    screen.arrangement = replace(screen.arrangement, split=False)
    await pilot.press(key)
    await rest(pilot)


async def rest(pilot: Pilot[Any]) -> None:
    """Wait until the model is at rest, and what the screens work out themselves is drawn."""
    for _ in range(2):
        await settle(pilot)
        await until(lambda: not any(each.is_running for each in pilot.app.workers if each.group not in WAITING))
    await pilot.pause()


def said(text: str) -> UserMessage:
    """A message of the user's."""
    return UserMessage(text)
