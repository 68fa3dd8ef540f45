"""Keys: none clash, none is swallowed, and all of them can be others."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.binding import Binding
from textual.widgets import TextArea

from tui.play import SMALL, program, settle, shown, told
from workbench.sources.services import Services
from workbench.tui.chat.composer import Composer
from workbench.tui.commands.keys import bindings_on_screen
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.command import Command

pytestmark = pytest.mark.usefixtures("project")

KEYS = [(key, command.name) for command in REGISTRY.commands for key in command.keys]
LATER = ("ctrl+g", "f8")
"""Keys of the compaction panel, which must reach it from the composer as well."""


def composer_keys() -> set[str]:
    """What the text area keeps for itself, its parents' keys included."""
    found: set[str] = set()
    for kind in Composer.__mro__:
        for binding in getattr(kind, "BINDINGS", ()) if issubclass(kind, TextArea) else ():
            found.update(each.key for each in Binding.make_bindings([binding]))
    return found


def test_no_two_commands_have_one_key() -> None:
    keys = [key for key, _ in KEYS]
    assert len(set(keys)) == len(keys)


def test_no_command_takes_a_key_that_one_types_with() -> None:
    assert all(len(key) > 1 and key not in ("enter", "tab", "space", "backspace") for key, _ in KEYS)


OVERRULED = {"f6", "f7"}
"""Keys of Textual's text area that select what is in it; ours have priority, as with all keys of commands."""


def test_the_text_area_swallows_none_of_the_global_keys() -> None:
    assert (composer_keys() & ({key for key, _ in KEYS} | {*LATER})) <= OVERRULED
    assert all(binding.priority for binding in REGISTRY.bindings() if binding.key in OVERRULED)


def test_no_two_letters_are_the_same_and_none_has_priority() -> None:
    letters = [letter for command in REGISTRY.commands for letter in command.letters]
    assert len(set(letters)) == len(letters)
    assert not any(binding.priority for binding in REGISTRY.bindings() if binding.key in letters)


@pytest.mark.long
async def test_every_binding_on_the_screen_has_an_id_and_none_clashes_with_a_command(services: Services) -> None:
    async with program(services, SMALL) as (_, screen):
        for binding in bindings_on_screen(screen):
            assert binding.id, f"{binding.key}: {binding.description}"
        commands = {key for key, _ in KEYS if key != "escape"} | {*LATER}
        for widget in screen.walk_children():
            keys = {each.key for each in Binding.make_bindings(type(widget).BINDINGS)}
            assert not keys & commands, type(widget).__name__


async def test_keys_can_be_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(
        'layout = "single"\n[keys]\n'
        'tokens = "ctrl+l"\ntokns = "f12"\nhelp = 3\nnew = "ctrl+l"\n"chat.copy" = "c"\n"palette" = "f11"\n'
    )
    ran: list[str] = []

    def run(self: MainScreen, command: Command, argument: str = "") -> None:
        ran.append(command.name)

    monkeypatch.setattr(MainScreen, "run_command", run)
    with Services() as services:
        async with program(services, (120, 30)) as (pilot, screen):
            await pilot.press("ctrl+l", "ctrl+t")
            await settle(pilot)
            assert ran == ["tokens"]
            foot = str(screen.chat._border_subtitle)  # Textual gives it as markup otherwise
            assert "F11 commands" in foot, "the keys in the border are those that work"
            assert "Ctrl+P" not in foot
            said = told(pilot.app)
            assert "keys.tokns: no such command; did you mean tokens?" in said
            assert "keys.help: expected text such as ctrl+g,f8, got 3" in said
            assert "keys.new: ctrl+l is the key of tokens already" in said
            assert "chat.copy" not in said


async def test_any_command_can_have_a_key_and_the_help_and_the_palette_show_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[keys]\nledger = "alt+l"\ntokens = "ctrl+l"\n')
    ran: list[str] = []
    with Services() as services:
        async with program(services, (120, 30)) as (pilot, screen):
            assert "keys." not in told(pilot.app)
            await pilot.press("f1", *"tokens")
            await settle(pilot)
            assert "Ctrl+L /tokens" in shown(pilot.app)
            assert "Ctrl+T" not in shown(pilot.app)
            await pilot.press("escape", "ctrl+p")
            await settle(pilot)
            assert "tokens  (Ctrl+L)" in shown(pilot.app)
            await pilot.press("escape")
            await settle(pilot)
            monkeypatch.setattr(type(screen), "run_command", lambda _, command, argument="": ran.append(command.name))
            await pilot.press("alt+l")
            await settle(pilot)
            assert ran == ["ledger"]


async def test_a_key_of_another_command_and_one_to_write_with_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    wanted = '[keys]\ntokens = "ctrl+g"\nledger = "x"\nlab = "space"\nhelp = "f12"\ncopy = "f1"\n"rows.pin" = "P"\n'
    (tmp_path / "config" / "config.toml").write_text(wanted)
    with Services() as services:
        async with program(services, (120, 30)) as (pilot, screen):
            said = told(pilot.app)
            assert "keys.tokens: ctrl+g is the key of compact already" in said
            assert "keys.ledger: x is needed to write with" in said
            assert "keys.lab: space is needed to write with" in said
            assert set(screen.own_keys) - {"rows.pin"} == {"help", "copy"}, "two may change places"
