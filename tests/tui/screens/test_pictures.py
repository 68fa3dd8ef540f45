"""The screens as they should look, over the demo's recording; what lies behind them is another's picture."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from tui.compaction.long_talk import alone
from tui.play import full_screen, main_screen, settle, until
from tui.screens.looking import listed, narrowed
from workbench.log.events import AssistantMessage, UserMessage
from workbench.models.local.discovery import FoundModel, LocalServer
from workbench.models.local.offers import offers_of
from workbench.models.model_routes import ModelRoutes
from workbench.session import opening
from workbench.sources.services import Services
from workbench.tui.demo import recording_lines
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import RunCommand
from workbench.tui.screens.lab import LabScreen
from workbench.tui.widgets.finder import Finder

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]
pytestmark = pytest.mark.usefixtures("project")

SIZE = (120, 40)
CONFIG = """
theme = "ink"
[keys]
tokens = "ctrl+l"
[models."openai/bakery-large"]
window = 256000
input_price = 2.0
output_price = 8.0
[mcp.oven]
command = ["oven-server"]
env = {OVEN_TOKEN = "secret"}
"""


def recorded(services: Services) -> str:
    """The demo's session in the store: a file would show its path."""
    with services.store.import_events(recording_lines(), "demo") as session:
        return session.id


Said = tuple[str, str | None, tuple[str, ...]]
"""The command of a screen, what is typed there, and what is seen then: signs say the same as colours."""
OF_THE_SESSION: Sequence[Said] = (
    ("policy", "", ("● workbench now", "confirm Ask first: at 90 %", "Enter use this policy", "Esc close")),
    ("knobs", "masking", ("this session: 3,993 → 3,993 tokens", "masking.batch_tokens 20000", "Enter change")),
    ("tools", "read", ("524 tokens of definitions in every request", "read_file read built in 51 ● on")),
    ("instructions", "", ("…/bakery/AGENTS.md", "most general first", "Enter copy the path")),
)
OF_THE_PROGRAM: Sequence[Said] = (
    ("settings", "", ("The colours. Enter changes them", "policy workbench this session", "Enter change it")),
    ("model", "bakery", ("openai/bakery-large 256,000 key set", "ollama/bakery:1b 4,096 on this machine")),
    ("sessions", "", ("● A penny short: order 1042 open", "Soup [b]of the day", "Enter open", "Ctrl+R rename")),
    ("rename", None, ("The session's title.",)),
    ("mode", None, ("when to compact", "confirm asks first, now", "manual by hand only", "off never")),
)
LAB = (
    *("lab: this session under every policy", "● workbench now", "tokens by request", "request 25 of 25"),
    "Enter item by item",
)
CLOSER = (
    (
        "next-request",
        ("t",),
        ("request 3,993 of 16,000 tokens, as under workbench", "whole 31,999 tokens", "Enter use this policy"),
    ),
    ("misses", ("down", "m"), ("used #59 Of the 260 orders in November", "held #55", "Enter show where it was used")),
    ("compared", ("enter",), ("request 25: recorded 3,995 → codex 6,531 tokens (+2,536)", "Enter both texts")),
)
"""What the lab shows of a request: a name, the keys, and what is seen then."""


@asynccontextmanager
async def over_the_panel(services: Services) -> AsyncIterator[tuple[Pilot[Any], MainScreen]]:
    """The program with the compaction panel alone; what is said in the corner comes and goes, and is not shown."""
    async with full_screen(services, recorded(services)).run_test(size=SIZE) as pilot:
        await settle(pilot)
        await alone(pilot, "f4")
        yield pilot, main_screen(pilot.app)


async def opened(
    pilot: Pilot[Any], main: MainScreen, pictures: Pictures, command: str, text: str | None
) -> Screen[Any]:
    """A screen by its command, and what is typed there."""
    main.post_message(RunCommand(command))
    await until(lambda: pilot.app.screen is not main)
    if text is not None:
        await narrowed(pilot, text)
        await draw_again(pilot, pictures)
    return pilot.app.screen


async def draw_again(pilot: Pilot[Any], pictures: Pictures) -> None:
    """Rows and page as after another size: scrollbars leave them less room by now, or more."""
    await pictures.resize(pilot, pilot.app.size)
    Finder.on_resize(await listed(pilot))


async def back(pilot: Pilot[Any], screen: Screen[Any]) -> None:
    """Leave what lies over a screen."""
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is screen)


async def walk(pilot: Pilot[Any], main: MainScreen, pictures: Pictures, screens: Sequence[Said]) -> None:
    """All screens at one size, then at the next: to open one is drawn faster than to resize it."""
    for size in sorted(pictures.sizes, key=SIZE.__eq__):
        await pictures.resize(pilot, size)
        for command, text, words in screens:
            await opened(pilot, main, pictures, command, text)
            await pictures.compare_at(SIZE, pilot, command, words)
            await back(pilot, main)


async def test_what_is_said_of_the_session(services: Services, pictures: Pictures) -> None:
    async with over_the_panel(services) as (pilot, main):
        await walk(pilot, main, pictures, OF_THE_SESSION)


async def test_the_lab_in_all_sizes_and_more_closely(services: Services, pictures: Pictures) -> None:
    async with over_the_panel(services) as (pilot, main):
        await pictures.resize(pilot, (80, 24))
        lab = await opened(pilot, main, pictures, "lab", "")
        assert isinstance(lab, LabScreen)
        await until(lambda: lab.is_done)
        at = lab.found.highlighted
        for picture, size in (("narrow", (80, 24)), ("wide", (200, 60)), ("usual", SIZE)):
            await pictures.resize(pilot, size)
            await pictures.compare_now(pilot, picture, LAB)
            for name, keys, words in CLOSER if size in pictures.sizes else ():
                await closer(pilot, lab, pictures, keys)
                await pictures.compare_at(SIZE, pilot, name, words)
                await back(pilot, lab)
            lab.found.highlighted = at
        pilot.app.theme = "paper"
        await pictures.compare_now(pilot, "light", LAB)


async def closer(pilot: Pilot[Any], lab: LabScreen, pictures: Pictures, keys: Sequence[str]) -> None:
    """What the lab opens with these keys."""
    await pilot.press(*keys)
    await until(lambda: pilot.app.screen is not lab)
    await draw_again(pilot, pictures)


async def test_what_is_said_of_the_program(pictures: Pictures, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = LocalServer("ollama", "http://127.0.0.1:11434", (FoundModel("bakery:1b", 4_096),))
    monkeypatch.setattr(ModelRoutes, "all_offers", lambda self: offers_of([server]))
    monkeypatch.setattr(opening, "fill_slots", lambda opened: None)
    monkeypatch.setenv("OPENAI_API_KEY", "x" * 20)
    monkeypatch.setenv("WORKBENCH_CONFIG_DIR", "config")  # not in the test's own folder, whose path would be shown
    monkeypatch.setenv("WORKBENCH_DATA_DIR", "data")
    (project / "config").mkdir()
    (project / "config" / "config.toml").write_text(CONFIG, "utf-8")
    with Services() as services:
        for title, said in (("Rye or wheat?", "how long does rye rise?"), ("Soup [b]of the day", "more salt")):
            services.store.create([UserMessage(said), AssistantMessage(f"About {title}")], title=title).close()
        async with over_the_panel(services) as (pilot, main):
            await walk(pilot, main, pictures, OF_THE_PROGRAM)
