"""Every command of the registry is reached by its keys, from the palette and by its slash forms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from msgspec.structs import force_setattr
from textual.command import CommandPalette

from tui.play import SMALL, program, shown, told, typed, until
from workbench.sources.services import Services
from workbench.tui.commands.palette import CommandHits
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.main.screen import MainScreen

pytestmark = pytest.mark.usefixtures("project")

Ran = list[tuple[str, str]]


@pytest.fixture
def ran() -> Iterator[Ran]:
    """Which functions of the registry were called, with which argument; none of them does anything."""
    found: Ran = []

    def record(name: str, screen: MainScreen, argument: str) -> None:
        assert isinstance(screen, MainScreen)
        found.append((name, argument))

    functions = [(command, command.run) for command in REGISTRY.commands]
    for command, _ in functions:
        force_setattr(command, "run", partial(record, command.name))  # frozen for all but this
    yield found
    for command, function in functions:
        force_setattr(command, "run", function)


async def test_every_command_is_reached_by_key_palette_and_slash(services: Services, ran: Ran) -> None:
    async def only(name: str, argument: str = "") -> None:
        await until(lambda: bool(ran))
        await pilot.app.workers.wait_for_complete()
        assert ran == [(name, argument)]
        ran.clear()

    async with program(services, SMALL) as (pilot, screen):
        provider = CommandHits(screen)
        hits = [hit async for hit in provider.discover()]
        offered = [each for each in REGISTRY.commands if not each.needs_argument and each.name != "palette"]
        for hit, command in zip(hits, offered, strict=True):
            hit.command()
            await only(command.name)
            for found in [found async for found in provider.search(command.title)]:
                found.command()
            await until(lambda: bool(ran))
            await pilot.app.workers.wait_for_complete()
            assert (command.name, "") in ran
            ran.clear()
        for command in REGISTRY.commands:
            for key in command.keys:
                screen.chat.take_focus()
                await pilot.press(key)
                await only(command.name)
            for slash in command.slashes:
                argument = "something" if command.needs_argument else ""
                screen.chat.composer.text = f"/{slash} {argument}".rstrip()
                await pilot.press("enter")
                await only(command.name, argument)


async def test_a_command_is_found_in_the_open_palette_and_by_typing_and_a_wrong_one_is_refused(
    services: Services, ran: Ran
) -> None:
    async with program(services, SMALL) as (pilot, screen):
        pilot.app.action_command_palette()
        await until(lambda: isinstance(pilot.app.screen, CommandPalette))
        await pilot.press(*"ledger")
        await until(lambda: "the ledger" in shown(pilot.app))
        await pilot.press("enter")
        await until(lambda: ran == [("ledger", "")])
        await until(lambda: pilot.app.screen is screen)
        await typed(pilot, "/tokens")
        await until(lambda: ran == [("ledger", ""), ("tokens", "")])
        await typed(pilot, "/tokns")
        assert len(ran) == 2
        assert "did you mean /tokens?" in told(pilot.app)
