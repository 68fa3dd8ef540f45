"""Commands on the program itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.tui.widgets.command import Commands
from workbench.tui.widgets.help import Help

if TYPE_CHECKING:
    from workbench.tui.main.screen import MainScreen

COMMANDS = Commands("program")


@COMMANDS.add("help", "help", "all commands and keys, searchable", keys=("f1",))
def show_help(screen: MainScreen, argument: str) -> None:
    """Made from the registry, and from the keys of whoever has the focus."""
    screen.app.push_screen(Help(screen.registry, screen.active_keys()))


@COMMANDS.add("palette", "command palette", "find a command by a few letters", keys=("ctrl+p",), slashes=())
def palette(screen: MainScreen, argument: str) -> None:
    """All that can be done."""
    screen.app.action_command_palette()


@COMMANDS.add(
    "quit", "quit", "end the program; the session is on disk already", keys=("ctrl+q",), slashes=("quit", "exit")
)
async def leave(screen: MainScreen, argument: str) -> None:
    """What the model is saying is kept as far as it came."""
    await screen.close_model()
    screen.app.exit()
