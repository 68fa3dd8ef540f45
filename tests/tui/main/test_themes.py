"""Themes on the screen: chosen, reloaded while it runs, and told about when they are broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.play import SMALL, program, told, until
from workbench.session.services import Services
from workbench.tui import app
from workbench.tui.themes import COLOURS

pytestmark = pytest.mark.usefixtures("project")

MINE = 'name = "mine"\ndark = true\n' + "".join(f'{colour} = "#123456"\n' for colour in COLOURS)


@pytest.fixture
def themes(tmp_path: Path) -> Path:
    """The user's own, of which there is one, and a wish for it."""
    folder = tmp_path / "config" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(MINE)
    (tmp_path / "config" / "config.toml").write_text('theme = "mine"\n')
    return folder


async def test_a_theme_is_reloaded_while_the_screen_is_up(themes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "WATCH", 0.01)
    with Services() as services:
        async with program(services, SMALL) as (pilot, screen):
            assert pilot.app.theme == "mine"
            assert screen.styles.background.hex == "#123456"
            (themes / "mine.toml").write_text(MINE.replace('background = "#123456"', 'background = "#654321"'))
            await until(lambda: screen.styles.background.hex.startswith("#6"))  # Textual rounds
            (themes / "mine.toml").write_text("name =")
            await until(lambda: "mine.toml, line 1: expected TOML" in told(pilot.app))
            assert pilot.app.theme == "mine"


async def test_an_unknown_theme_is_told_and_another_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.WorkbenchApp, "NOTIFICATION_TIMEOUT", 600)  # a slow start must not outlast it
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('theme = "none"\n')
    with Services() as services:
        async with program(services, SMALL) as (pilot, _):
            assert "no theme named 'none'; expected one of" in told(pilot.app)
            assert pilot.app.theme == "ink"
