"""Hostile text on every screen and dialog: markup, escape sequences, marks that turn and stack characters, huge names.

Sessions, files, held requests, tools, policies and themes carry it. A fault: a control or a link in what is drawn, a
line that is too long or too short, a string that Textual would read as markup, a fault report, the end of the program.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest.mock import patch

from textual import markup as textual_markup
from textual.pilot import Pilot

from hostile.tally import Tally
from proxy.conftest import called, claude, result, user
from support.drawn import drawn_faults
from support.hostile_text import TEXTS, hostile_text, poisoned
from tui.monkey_worlds import furnish
from tui.play import full_screen, main_screen, settle
from tui.recorded.long_run import as_file
from tui.recorded.long_run import run as recorded_run
from tui.screens.holding import between
from workbench.session.fault_reports import FaultReports
from workbench.sources.services import Services
from workbench.tui import textual_patches
from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.finder import Finder

PLACES: tuple[tuple[str, ...], ...] = (
    ("view-chat",), ("view-context",), ("view-compaction",), ("split",), ("view-context", "enter"),
    ("view-context", "w"), ("view-context", "slash"), ("timeline", "left"),
    ("instructions",), ("instructions", "enter"), ("tools",), ("tools", "enter"), ("request",), ("request", "f"),
    ("ledger",), ("ledger", "t"), ("tokens",), ("replay",), ("policy",), ("policy", "enter"), ("knobs",),
    ("knobs", "enter"), ("lab",), ("lab", "m"), ("lab", "e"), ("lab", "t"), ("lab", "t", "enter"), ("lab", "s"),
    ("free",), ("free", "o"), ("held",), ("compact",), ("compact", "d"), ("compactions",), ("compaction-status",),
    ("mode",),
    ("sessions",), ("sessions", "f2"), ("open",), ("continue",), ("rename",), ("export",), ("model",), ("theme",),
    ("settings",), ("break",), ("break", "enter"), ("break", "enter", "e"), ("report",), ("help",), ("palette",),
)  # fmt: skip
"""A command, and the keys that lead on from what it opens."""
SIZES = ((120, 40), (80, 24), (160, 50))
ROUNDS = 3
"""How often each place is looked at while it fills."""
AT_ONE_APP = 25
"""Places before the program is started again, with other texts."""

World = Callable[[Services, random.Random], Any]


@asynccontextmanager
async def _stored(services: Services, chance: random.Random) -> AsyncIterator[str]:
    with services.store.create(poisoned(recorded_run(6), chance), title=hostile_text(chance)) as session:
        yield session.id


@asynccontextmanager
async def _in_a_file(services: Services, chance: random.Random) -> AsyncIterator[str]:
    path = Path(as_file(Path.cwd(), poisoned(recorded_run(6), chance)))
    path.write_text(path.read_text("utf-8").replace("[/]", "[/]\\ud800"), "utf-8")
    yield str(path)


@asynccontextmanager
async def _held(services: Services, chance: random.Random) -> AsyncIterator[str]:
    """A request that waits at a breakpoint, beside a session of the store."""
    ask = claude(
        user(hostile_text(chance)), called("c1", path=hostile_text(chance)), result("c1", hostile_text(chance)),
        user(hostile_text(chance)),
    )  # fmt: skip
    ask |= {"model": chance.choice(TEXTS), "system": chance.choice(TEXTS)}
    async with between("every") as proxy, _stored(services, chance) as session:
        asking = proxy.ask(ask)
        while not proxy.gate.held and not asking.done():
            await asyncio.sleep(0.01)
        yield session
        asking.cancel()


WORLDS: tuple[World, ...] = (_stored, _held, _in_a_file)


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: places that are looked at."""
    tally = Tally("hostile text on screens")
    seen: set[str] = set()
    places, worlds = cycle(PLACES), cycle(WORLDS)
    with _project(folder):
        while tally.tries < tries:
            some = [next(places) for _ in range(min(AT_ONE_APP, tries - tally.tries))]
            with _watching(tally):
                asyncio.run(_look_at(tally, next(worlds), some, chance, seen))
    tally.told = f"{len(seen)} kinds of screens"
    return tally


@contextmanager
def _project(folder: Path) -> Iterator[None]:
    """A project and a home of its own, with strange names in them."""
    project, home = folder / "project", os.environ.get("HOME")
    (project / ".git").mkdir(parents=True)
    os.environ["HOME"] = str(folder / "home")
    os.chdir(project)
    try:
        furnish(project)
        yield
    finally:
        if home is not None:
            os.environ["HOME"] = home


@contextmanager
def _watching(tally: Tally) -> Iterator[None]:
    """Note fault reports, and strings that reach the wall against markup."""
    wall = textual_patches.text_as_it_is

    def report(_: FaultReports, error: BaseException) -> str:
        tally.fault(f"a fault report: {type(error).__name__}: {str(error)[:200]}")
        return ""

    def noted(markup: str, *more: Any, **named: Any) -> Any:
        if sys._getframe(2).f_globals["__name__"] not in ("textual.command", "textual.fuzzy"):  # the palette's
            tally.fault(f"a string that plain Textual reads as markup: {markup[:200]!r}")
        return wall(markup, *more, **named)

    key = (textual_markup, "to_content")
    with patch.object(FaultReports, "report", report), patch.dict(textual_patches.PATCHES, {key: noted}):
        yield


def _note(tally: Tally, place: tuple[str, ...], fault: str) -> None:
    tally.fault(f"{place}: {fault}")


async def _look_at(
    tally: Tally, world: World, places: list[tuple[str, ...]], chance: random.Random, seen: set[str]
) -> None:
    with Services() as services:
        async with world(services, chance) as ref:
            app = full_screen(services, ref)
            async with app.run_test(size=chance.choice(SIZES), notifications=True) as pilot:
                await settle(pilot)
                for place in places:
                    tally.tries += 1
                    await _visit(pilot, place, partial(_note, tally, place), seen)
                    if app._exit:
                        tally.fault(f"{place}: the program ended: {app.return_value}")
                        return


async def _visit(pilot: Pilot[Any], place: tuple[str, ...], fault: Callable[[str], None], seen: set[str]) -> None:
    """Go there, look at each screen on the way, and come back."""
    command, *keys = place
    main_screen(pilot.app).run_by_name(command)
    for step in (None, *keys):
        if step is not None:
            await pilot.press(step)
        for _ in range(ROUNDS):
            await pilot.pause()
            screen = pilot.app.screen
            if isinstance(screen, Finder) and screen.is_mounted:
                await _unless_left(screen.settled())
                await pilot.pause()
            seen.add(type(pilot.app.screen).__name__)
            for each in drawn_faults(pilot.app):
                fault(f"{type(pilot.app.screen).__name__}: {each[:300]}")
    while not isinstance(pilot.app.screen, MainScreen):
        pilot.app.screen.dismiss()
        await pilot.pause()


async def _unless_left(settled: Awaitable[None]) -> None:
    """A list that is left meanwhile never settles."""
    try:
        async with asyncio.timeout(5):
            await settled
    except TimeoutError:
        pass
