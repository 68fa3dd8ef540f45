"""Instructions and settings: what the screens show, and what they can change."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from support.requirements import requirement
from tui.play import Script, answer, program, settle, told, until
from tui.screens.looking import listed, look, narrowed, seen, values
from workbench.log.events import UserMessage
from workbench.sources.services import Services
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.commands.session import file_name
from workbench.tui.screens.settings import lines_of
from workbench.tui.widgets.text_dialog import TextDialog

pytestmark = pytest.mark.usefixtures("project")


@requirement("codex", "commands", "`/instructions` shows the loaded instructions")
async def test_each_file_of_instructions_is_shown_with_its_tokens_and_what_was_cut(
    services: Services, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "preferences.md").write_text("Answer [b]briefly.\n")
    (config / "AGENTS.md").write_bytes(b"Use \xff bytes.\n")
    (project / "AGENTS.md").write_text("Be careful.\n" * 5_000)
    Script(answer("yes")).play(monkeypatch)
    async with program(services, (140, 30)) as (pilot, screen):
        finder = await look(pilot, screen, "instructions")
        assert [Path(value).name for value in values(finder)[:3]] == ["AGENTS.md", "AGENTS.md", "preferences.md"]
        await seen(pilot, "in every request", "not used")
        await narrowed(pilot, "careful")
        await seen(pilot, "truncated: kept first", "Be careful.", "cut")
        await pilot.press("enter")
        await seen(pilot, "copied")
        assert pilot.app.clipboard == str(project / "AGENTS.md")
        await pilot.press("ctrl+y")
        await until(lambda: pilot.app.clipboard.startswith("Be careful."))
        await narrowed(pilot, "briefly")
        await seen(pilot, "Answer [b]briefly.", "memory: your preferences")
        await narrowed(pilot, "0xff")
        await seen(pilot, "expected UTF-8")
        await pilot.press("enter")
        assert pilot.app.clipboard == str(config / "AGENTS.md")


async def test_settings_show_what_holds_and_lead_to_the_commands_that_change_it(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    path = tmp_path / "config" / "config.toml"
    path.write_text('theme = "paper"\n[keys]\ntokens = "ctrl+l"\n[mcp.x]\ncommand = ["y"]\nenv = {TOKEN = "secret"}\n')
    with Services() as services:
        async with program(services, (140, 30)) as (pilot, screen):
            await look(pilot, screen, "settings")
            await seen(pilot, "paper", "rehearsal", "workbench", "keys.tokens", "ctrl+l", "file: ")
            await narrowed(pilot, "mcp")
            await seen(pilot, "(not shown)")
            await pilot.press("enter")
            await seen(pilot, "is changed in the file")
            await pilot.press("ctrl+y")
            assert pilot.app.clipboard == str(path)
            await narrowed(pilot, "policy")
            await pilot.press("enter")
            finder = await listed(pilot)
            await until(lambda: type(pilot.app.screen).__name__ == "PoliciesScreen")
            assert finder is not None


def test_without_a_file_every_setting_is_still_named(services: Services) -> None:
    names = {line.name for line in lines_of(services.settings, "m", "p", "t")}
    assert {"theme", "model", "policy", "fallback", "keys", "models", "mcp", "hooks"} <= names


@pytest.mark.parametrize(
    ("command", "typed", "comes"),
    [
        ("rename", "a better title", "a better title"),
        ("open", "the other", "the other"),
    ],
)
async def test_what_was_not_typed_behind_a_command_is_asked_for(
    services: Services, command: str, typed: str, comes: str
) -> None:
    for title in ("the other", "this one"):
        services.store.create([UserMessage(title)], title=title).close()
    async with program(services) as (pilot, screen):
        for keys in (["escape"], ["enter"]):
            screen.run_command(REGISTRY[command])
            await until(lambda: isinstance(pilot.app.screen, TextDialog))
            await pilot.pause()
            pilot.app.screen.query_one(Input).value = typed
            await pilot.press(*keys)
            await settle(pilot)
        await until(lambda: screen.model.state.title == comes)


async def test_an_export_asks_for_a_file_that_is_not_there_yet(services: Services, project: Path) -> None:
    services.store.create([UserMessage("kept")], title="Why? [b] & so").close()
    (project / "there.jsonl").touch()
    async with program(services) as (pilot, screen):
        screen.run_command(REGISTRY["export"])
        await until(lambda: isinstance(pilot.app.screen, TextDialog))
        await pilot.pause()
        field = pilot.app.screen.query_one(Input)
        assert field.value == "why-b-so.jsonl"
        field.value = "there.jsonl"
        await pilot.press("enter")
        await seen(pilot, "expected the name of a file that is not there yet")
        field.value = "new.jsonl"
        await pilot.press("enter")
        await settle(pilot)
        await until((project / "new.jsonl").exists)
        await until(lambda: "bytes written to" in told(pilot.app))


def test_a_title_without_letters_makes_a_file_name_too() -> None:
    assert file_name("???") == "session.jsonl"
    assert len(file_name("long " * 50)) < 50
