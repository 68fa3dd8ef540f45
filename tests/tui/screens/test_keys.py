"""Keys of the screens: each has an id, none clashes on its screen, and all of them can be others."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.binding import Binding

from tui.play import program, told, until
from tui.screens.looking import listed, look, seen
from workbench.session.services import Services
from workbench.tui.commands.keys import over_the_panes
from workbench.tui.widgets.finder import Finder, bindings_of

pytestmark = pytest.mark.usefixtures("project")


def test_every_binding_has_an_id_and_a_description_and_no_screen_has_a_key_twice() -> None:
    found = [*over_the_panes()]
    assert all(binding.id and binding.description for binding in found)
    kinds = Finder.__subclasses__()
    assert len(kinds) == 8
    for kind in kinds:
        own = list(Binding.make_bindings(kind.BINDINGS))
        assert len({each.key for each in own}) == len(own)
        assert {each.key for each in bindings_of(kind)} >= {"enter", "escape", "f1", "up", "down"}
        assert kind.NAME


async def test_a_key_of_a_screen_can_be_another_and_is_shown_as_that(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[keys]\n"sessions.new" = "ctrl+l"\n"sessions.nwe" = "f3"\n')
    with Services() as services:
        async with program(services) as (pilot, screen):
            assert "keys.sessions.nwe: no such command; did you mean sessions.new?" in told(pilot.app)
            await look(pilot, screen, "sessions")
            await seen(pilot, "Ctrl+L new")
            await pilot.press("ctrl+n")
            assert pilot.app.screen is not screen
            await pilot.press("ctrl+l")
            await until(lambda: pilot.app.screen is screen)


async def test_by_key_palette_and_slash_the_screens_open(services: Services) -> None:
    async with program(services) as (pilot, screen):
        for slash in ("sessions", "model", "policy", "knobs", "lab", "tools", "instructions", "settings"):
            screen.say(f"/{slash}")
            await listed(pilot)
            await pilot.press("escape")
            await until(lambda: pilot.app.screen is screen)
        await pilot.press("ctrl+o")
        await listed(pilot)
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        await pilot.press("ctrl+p")
        await seen(pilot, "Search for commands")
        await pilot.press(*"editor")
        await seen(pilot, "policy editor")
        await pilot.press("escape")
