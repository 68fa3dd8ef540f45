"""The screens as they should look, over the demo's recording; what lies behind them is another's picture."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.pilot import Pilot

from tui.compaction.long_talk import alone
from tui.play import program, until
from tui.screens.looking import look, narrowed, seen
from workbench.log.events import AssistantMessage, UserMessage
from workbench.models.local.discovery import FoundModel, LocalServer
from workbench.models.local.offers import offers
from workbench.models.model_routes import ModelRoutes
from workbench.session import opening
from workbench.session.services import Services
from workbench.tui.demo import recording
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Run
from workbench.tui.screens.lab import LabScreen

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]
pytestmark = pytest.mark.usefixtures("project")

RECORDING = str(files("workbench") / "demo" / "session.jsonl")
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
    with services.store.import_events(recording(), "demo") as session:
        return session.id


@asynccontextmanager
async def opened(
    services: Services, ref: str, command: str, text: str | None = None
) -> AsyncIterator[tuple[Pilot[Any], MainScreen]]:
    """A screen by its command, and what is typed there, over the compaction panel."""
    async with program(services, (80, 24), ref) as (pilot, main):
        await alone(pilot, "f4")
        main.post_message(Run(command))
        await until(lambda: pilot.app.screen is not main)
        if text is not None:
            await narrowed(pilot, text)
        yield pilot, main


@pytest.mark.parametrize(
    ("command", "text"),
    [("policy", ""), ("knobs", "masking"), ("lab", ""), ("tools", "read"), ("instructions", "")],
    ids=lambda value: value or "-",
)
async def test_what_is_said_of_the_session(services: Services, command: str, text: str, pictures: Pictures) -> None:
    async with opened(services, recorded(services), command, text) as (pilot, main):
        await pictures.compare(pilot, command, at_rest=lambda: main.model.is_settled)


@pytest.mark.parametrize(
    ("name", "keys"), [("lab-next-request", ["t"]), ("lab-misses", ["down", "m"]), ("lab-compared", ["down", "enter"])]
)
async def test_the_lab_more_closely(services: Services, name: str, keys: list[str], pictures: Pictures) -> None:
    async with opened(services, recorded(services), "lab", "") as (pilot, main):
        lab = pilot.app.screen
        assert isinstance(lab, LabScreen)
        await until(lambda: lab.is_done)
        await pilot.press(*keys)
        await until(lambda: pilot.app.screen is not lab)
        await pictures.compare(pilot, name, at_rest=lambda: main.model.is_settled)


@pytest.mark.parametrize(
    ("command", "text"),
    [("settings", ""), ("model", "bakery"), ("sessions", ""), ("rename", None), ("mode", None)],
    ids=lambda value: value or "-",
)
async def test_what_is_said_of_the_program(
    command: str, text: str | None, pictures: Pictures, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = LocalServer("ollama", "http://127.0.0.1:11434", (FoundModel("bakery:1b", 4_096),))
    monkeypatch.setattr(ModelRoutes, "all_offers", lambda self: offers([server]))
    monkeypatch.setattr(opening, "fill_slots", lambda opened: None)
    monkeypatch.setenv("OPENAI_API_KEY", "x" * 20)
    monkeypatch.setenv("WORKBENCH_CONFIG_DIR", "config")  # not in the test's own folder, whose path would be shown
    monkeypatch.setenv("WORKBENCH_DATA_DIR", "data")
    (project / "config").mkdir()
    (project / "config" / "config.toml").write_text(CONFIG, "utf-8")
    with Services() as services:
        for title, said in (("Rye or wheat?", "how long does rye rise?"), ("Soup [b]of the day", "more salt")):
            services.store.create([UserMessage(said), AssistantMessage(f"About {title}")], title=title).close()
        async with opened(services, recorded(services), command, text) as (pilot, main):
            await pictures.compare(pilot, command, at_rest=lambda: main.model.is_settled)


@pytest.mark.parametrize("theme", ["ink", "paper"])
async def test_nothing_depends_on_colour_alone(services: Services, theme: str) -> None:
    """Signs say the same as colours: open, on, off, changed, fits."""
    async with program(services, (160, 50), RECORDING) as (pilot, screen):
        pilot.app.theme = theme
        for name, signs in (("policy", "● workbench  now"), ("tools", "● on"), ("lab", "● workbench now")):
            await look(pilot, screen, name)
            await seen(pilot, signs)
            await pilot.press("escape")
            await until(lambda: pilot.app.screen is screen)
