"""Keys of the screens: each has an id, none clashes on its screen, and all of them can be others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.binding import Binding
from textual.events import Paste
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Input, TextArea

from tui.play import SMALL, program, settle, told, until
from tui.screens.looking import listed, look, seen
from workbench.sources.services import Services
from workbench.tui.chat.composer import Composer
from workbench.tui.commands.keys import over_the_panes
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send
from workbench.tui.widgets.finder import Finder, bindings_of_class
from workbench.tui.widgets.help import HelpScreen
from workbench.tui.widgets.input_line import FilterField

pytestmark = pytest.mark.usefixtures("project")


def test_every_binding_has_an_id_and_a_description_and_no_screen_has_a_key_twice() -> None:
    found = [*over_the_panes()]
    assert all(binding.id and binding.description for binding in found)
    kinds = Finder.__subclasses__()
    assert len(kinds) >= 8
    for kind in kinds:
        own = list(Binding.make_bindings(kind.BINDINGS))
        assert len({each.key for each in own}) == len(own)
        assert {each.key for each in bindings_of_class(kind)} >= {"enter", "escape", "up", "down"}
        assert kind.NAME


@pytest.mark.long
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


OPENING = (
    *(
        "sessions",
        "model",
        "policy",
        "knobs",
        "lab",
        "tools",
        "instructions",
        "settings",
        "request",
        "ledger",
        "tokens",
    ),
    *(
        "compactions",
        "compaction-status",
        "judge",
        "goto",
        "theme",
        "rename",
        "export",
        "retry",
        "what-if",
        "digest",
        "continue",
    ),
    *("largest", "help"),
)
"""Commands that show something over the panes."""
LISTS = {"sessions", "model", "policy", "knobs", "lab", "tools", "instructions", "settings"}


@pytest.mark.long
async def test_in_each_list_dialog_and_window_question_mark_is_help_and_q_and_escape_leave(services: Services) -> None:
    kinds: set[str] = set()
    async with program(services, SMALL) as (pilot, screen):
        screen.send_or_run(Send("read the file nothing.txt"))
        await until(lambda: len(screen.model.state.transcript) > 2 and screen.model.is_settled)
        known = {command.name for command in screen.REGISTRY.commands}
        for name in (each for each in OPENING if each in known):
            for leave in ("q", "escape"):
                screen.send_or_run(Send(f"/{name}"))
                await settle(pilot)
                if name in LISTS:
                    await listed(pilot)
                if pilot.app.screen is screen:
                    break
                if leave == "q":
                    kinds.add(type(pilot.app.screen).__name__)
                    await _helps(pilot, name)
                was_left = pilot.app.screen is screen or await _leaves(pilot, name, leave)
                while pilot.app.screen is not screen:
                    await pilot.press("escape")
                    await settle(pilot)
                if was_left == "escape":  # q was text there
                    break
    assert len(kinds) >= 14, sorted(kinds)


async def _helps(pilot: Pilot[Any], name: str) -> None:
    app, over = pilot.app, pilot.app.screen
    await pilot.press("f1")
    await settle(pilot)
    if isinstance(over, HelpScreen):
        assert app.screen is not over
        return
    assert isinstance(app.screen, HelpScreen), name
    await pilot.press("escape")
    await until(lambda: app.screen is over)
    typed = over.focused
    if not isinstance(typed, Input | TextArea) or (isinstance(typed, FilterField) and not typed.value):
        await pilot.press("question_mark")
        await until(lambda: isinstance(app.screen, HelpScreen))
        await pilot.press("question_mark")
        await until(lambda: app.screen is over)


async def _leaves(pilot: Pilot[Any], name: str, leave: str) -> str:
    """Leave a screen with a key, or with Escape where the key is text; which it was."""
    app, over = pilot.app, pilot.app.screen
    if leave == "q" and isinstance(over.focused, Input | TextArea):
        await pilot.press("q")
        assert app.screen is over, f"{name}: q is text"
        leave = "escape"
    await pilot.press(leave)
    await until(lambda: app.screen is not over or (leave == "q" and isinstance(over.focused, Input | TextArea)))
    if app.screen is over:  # a field got the focus meanwhile, and the letter is text
        leave = "escape"
        await pilot.press(leave)
        await until(lambda: app.screen is not over)
    return leave


def test_every_screen_over_the_panes_is_left_with_escape() -> None:
    list(over_the_panes())  # imports them
    fresh: list[type] = [ModalScreen]
    kinds: set[type] = set()
    while fresh:
        kind = fresh.pop()
        kinds.add(kind)
        fresh += kind.__subclasses__()
    ours = [kind for kind in kinds if kind.__module__.startswith("workbench.") and not kind.__subclasses__()]
    assert len(ours) > 15
    for kind in ours:
        found = (each for base in kind.__mro__ for each in vars(base).get("BINDINGS", ()) if isinstance(each, Binding))
        assert "escape" in [key for each in found for key in each.key.split(",")], kind.__name__


async def test_a_question_mark_in_an_empty_input_is_help_keys_open_lists_and_the_palette_finds_commands(
    services: Services,
) -> None:
    async with program(services) as (pilot, screen):
        await a_question_mark_in_an_empty_input_is_help_and_anywhere_else_it_is_text(pilot, screen)
        await pilot.press("ctrl+o")
        await listed(pilot)
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        await pilot.press("ctrl+p")
        await seen(pilot, "Search for commands")
        await pilot.press(*"editor")
        await seen(pilot, "policy editor")
        await pilot.press("escape")


async def a_question_mark_in_an_empty_input_is_help_and_anywhere_else_it_is_text(
    pilot: Pilot[Any], screen: MainScreen
) -> None:
    composer = screen.query_one(Composer)
    assert composer.has_focus
    await pilot.press("question_mark")
    await until(lambda: isinstance(pilot.app.screen, HelpScreen))
    await pilot.press("question_mark")
    await until(lambda: pilot.app.screen is screen)
    assert composer.text == ""
    await pilot.press("space", "question_mark")
    await settle(pilot)
    assert composer.text == " ?"
    assert pilot.app.screen is screen
    composer.clear()
    pilot.app.post_message(Paste("?"))
    await settle(pilot)
    assert composer.text == "?"
