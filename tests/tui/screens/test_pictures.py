"""The screens as they should look, over the demo's recording; what lies behind them is another's picture."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.pilot import Pilot

from tui.compaction.long_talk import alone
from tui.play import full_screen, main_screen, program, settle, until
from tui.screens.looking import look, narrowed, seen
from workbench.log.events import AssistantMessage, UserMessage
from workbench.models.local.discovery import FoundModel, LocalServer
from workbench.models.local.offers import offers_of
from workbench.models.model_routes import ModelRoutes
from workbench.session import opening
from workbench.sources.services import Services
from workbench.tui.demo import recording_lines
from workbench.tui.messages import RunCommand
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
    with services.store.import_events(recording_lines(), "demo") as session:
        return session.id


def compare(
    pictures: Pictures,
    services: Services,
    command: str,
    words: tuple[str, ...],
    text: str | None = None,
    size: tuple[int, int] = (120, 40),
    theme: str = "ink",
    then: Callable[[Pilot[Any]], Awaitable[None]] | None = None,
) -> None:
    """A screen by its command, and what is typed there, over the compaction panel."""

    async def show(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        await alone(pilot, "f4")
        main = main_screen(pilot.app)
        main.post_message(RunCommand(command))
        await until(lambda: pilot.app.screen is not main)
        if text is not None:
            await narrowed(pilot, text)
        if then is not None:
            await then(pilot)

    sizes = () if size == (120, 40) and theme == "ink" else (size,)
    pictures.compare(full_screen(services, recorded(services)), show, words=words, size=size, theme=theme, sizes=sizes)


LAB = ("lab: this session under every policy", "tokens by request", "request 25 of 25", "Enter item by item")


@pytest.mark.parametrize(
    ("command", "text", "words"),
    [
        ("policy", "", ("● workbench now", "confirm Ask first: at 90 %", "Enter use this policy", "Esc close")),
        ("knobs", "masking", ("this session: 3,965 → 3,965 tokens", "masking.batch_tokens 20000", "Enter change")),
        ("lab", "", LAB),
        ("tools", "read", ("496 tokens of definitions in every request", "read_file read built in 48 ● on")),
        ("instructions", "", ("…/bakery/AGENTS.md", "most general first", "Enter copy the path")),
    ],
    ids=["policy", "knobs", "lab", "tools", "instructions"],
)
def test_what_is_said_of_the_session(
    services: Services, command: str, text: str, words: tuple[str, ...], pictures: Pictures
) -> None:
    compare(pictures, services, command, words, text)


@pytest.mark.parametrize(
    ("size", "theme"), [((80, 24), "ink"), ((200, 60), "ink"), ((120, 40), "paper")], ids=["narrow", "wide", "light"]
)
def test_the_lab_in_other_sizes(services: Services, size: tuple[int, int], theme: str, pictures: Pictures) -> None:
    compare(pictures, services, "lab", LAB, "", size, theme)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (["t"], ("request 3,965 of 16,000 tokens, as under workbench", "whole 32,084 tokens", "Enter use this policy")),
        (["down", "m"], ("used #59 Of the 260 orders in November", "held #55", "Enter show where it was used")),
        (["down", "enter"], ("request 25: recorded 3,995 → codex 6,488 tokens (+2,493)", "Enter both texts")),
    ],
    ids=["next-request", "misses", "compared"],
)
def test_the_lab_more_closely(services: Services, keys: list[str], words: tuple[str, ...], pictures: Pictures) -> None:
    async def closer(pilot: Pilot[Any]) -> None:
        lab = pilot.app.screen
        assert isinstance(lab, LabScreen)
        await until(lambda: lab.is_done)
        await pilot.press(*keys)
        await until(lambda: pilot.app.screen is not lab)

    compare(pictures, services, "lab", words, "", then=closer)


@pytest.mark.parametrize(
    ("command", "text", "words"),
    [
        ("settings", "", ("The colours. Enter changes them", "policy workbench this session", "Enter change it")),
        ("model", "bakery", ("openai/bakery-large 256,000 key set", "ollama/bakery:1b 4,096 on this machine")),
        ("sessions", "", ("● A penny short: order 1042 open", "Soup [b]of the day", "Enter open", "Ctrl+R rename")),
        ("rename", None, ("The session's title.",)),
        ("mode", None, ("when to compact", "confirm asks first, now", "manual by hand only", "off never")),
    ],
    ids=["settings", "model", "sessions", "rename", "mode"],
)
def test_what_is_said_of_the_program(
    command: str,
    text: str | None,
    words: tuple[str, ...],
    pictures: Pictures,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
        compare(pictures, services, command, words, text)


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
