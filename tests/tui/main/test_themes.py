"""Themes on the screen: chosen, reloaded while it runs, and told about when they are broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.installed import installed
from tui.play import SMALL, program, settle, shown, told, typed, until
from workbench.sources.services import Services
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


async def test_the_list_says_which_themes_are_light_and_notices_cover_no_message(services: Services) -> None:
    async with program(services, (80, 24)) as (pilot, screen):
        screen.run("theme")
        await until(lambda: "light" in shown(pilot.app) and "dark" in shown(pilot.app))
        await pilot.press("escape")
        await settle(pilot)
        screen.notify("a notice")
        await until(lambda: "a notice" in shown(pilot.app))
        lines = shown(pilot.app).splitlines()
        at = next(number for number, line in enumerate(lines) if "a notice" in line)
        assert 5 < at < screen.chat.composer.region.y - 4


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


@pytest.mark.long
async def test_an_unknown_theme_is_told_and_another_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.WorkbenchApp, "NOTIFICATION_TIMEOUT", 600)  # a slow start must not outlast it
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('theme = "none"\n')
    with Services() as services:
        async with program(services, SMALL) as (pilot, _):
            assert "no theme named 'none'; expected one of" in told(pilot.app)
            assert pilot.app.theme == "ink"


@pytest.mark.long
async def test_a_theme_that_is_chosen_is_there_at_the_next_start(tmp_path: Path) -> None:
    """Written into the user's file, of which nothing else changes."""
    file = tmp_path / "config" / "config.toml"
    file.parent.mkdir()
    file.write_text('# mine\npolicy = "layers"  # for now\n\n[keys]  # other keys\ntokens = "ctrl+l"\n')
    with Services() as services:
        async with program(services, SMALL) as (pilot, _):
            assert pilot.app.theme == "ink"
            await typed(pilot, "/theme paper")
            await until(lambda: "paper" in file.read_text())
    with Services() as services:
        async with program(services, SMALL) as (pilot, _):
            assert pilot.app.theme == "paper"
    text = file.read_text()
    assert all(
        part in text
        for part in ("# mine\n", 'policy = "layers"  # for now\n', '[keys]  # other keys\ntokens = "ctrl+l"\n')
    )
    assert services.settings.keys == {"tokens": "ctrl+l"}


@pytest.mark.long
async def test_a_plug_in_s_theme_can_be_chosen_and_a_broken_plug_in_is_a_notice(
    tmp_path: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "WATCH", 0.01)
    entries = {"soft": "support.plugin_parts:SOFT_THEME", "pale": "support.plugin_parts:PALE_THEME"}
    with installed(tmp_path / "site", {"themes": entries}, "on-screen"):
        async with program(services, SMALL) as (pilot, screen):
            await typed(pilot, "/theme soft")
            await until(lambda: pilot.app.theme == "soft")
            await until(lambda: screen.styles.background.hex == "#123456")
            await until(lambda: "plug-in pale of on-screen 1.2 (workbench.themes)" in told(pilot.app))


@pytest.mark.long
async def test_a_theme_that_cannot_be_kept_holds_for_now_and_says_so(tmp_path: Path, services: Services) -> None:
    (tmp_path / "config").write_text("a file where a folder should be")
    async with program(services, SMALL) as (pilot, _):
        await typed(pilot, "/theme paper")
        await until(lambda: "cannot be written" in told(pilot.app))
        assert pilot.app.theme == "paper"


async def test_the_first_model_that_is_chosen_is_kept_and_no_other(tmp_path: Path, services: Services) -> None:
    async with program(services, SMALL) as (pilot, screen):
        await typed(pilot, "/model gpt-4o")
        await until(lambda: "new sessions begin with gpt-4o from now on" in told(pilot.app))
        await typed(pilot, "/model gpt-4o-mini")
        screen.model.new_session()
        await settle(pilot)
        assert screen.model.state.status.model == "gpt-4o"
    assert 'model = "gpt-4o"' in (tmp_path / "config" / "config.toml").read_text()
