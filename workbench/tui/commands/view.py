"""Commands on what is seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.config.errors import WrongCall
from workbench.tui.main.layout import PANES, PaneName
from workbench.tui.themes import load_themes
from workbench.tui.widgets.chooser import Option, choose
from workbench.tui.widgets.command import Commands

if TYPE_CHECKING:
    from workbench.tui.main.screen import MainScreen

COMMANDS = Commands("view")


def _add_pane(name: PaneName, key: str, text: str) -> None:
    @COMMANDS.add(f"view-{name}", f"go to the {name}", text, keys=(key,), slashes=())
    def go(screen: MainScreen, argument: str) -> None:
        screen.focus_pane(name)


_add_pane("chat", "f2", "to where you type")
_add_pane("context", "f3", "to what the model sees, item by item")
_add_pane("compaction", "f4", "to what was summarised and what comes next")


@COMMANDS.add("maximise", "maximise", "show this pane alone, or all of them again", keys=("f5",))
def maximise(screen: MainScreen, argument: str) -> None:
    """The other panes follow the focus meanwhile."""
    screen.arrangement = replace(screen.arrangement, maximised=not screen.arrangement.maximised)


@COMMANDS.add(
    "hide",
    "hide or show a pane",
    "hide a pane or bring it back: chat, context, compaction, or the last two where none is named",
    keys=("ctrl+b",),
    argument="[PANE]",
    arguments=lambda: PANES,
)
def hide(screen: MainScreen, argument: str) -> None:
    """One pane always stays."""
    arrangement = screen.arrangement
    if not argument:
        screen.arrangement = arrangement.toggled_side()
        return
    name = next((pane for pane in PANES if pane == argument), None)
    if name is None:
        raise WrongCall(f"{argument}: expected one of {', '.join(PANES)}")
    screen.arrangement = replace(arrangement.toggled(name), maximised=False)


def _add_resize(name: str, key: str, columns: int, lines: int, text: str) -> None:
    @COMMANDS.add(name, text, f"move the border between the panes: {text}", keys=(key,), slashes=())
    def resize(screen: MainScreen, argument: str) -> None:
        screen.arrangement = screen.arrangement.resized(columns, lines)


_add_resize("chat-narrower", "alt+left", -1, 0, "a narrower chat")
_add_resize("chat-wider", "alt+right", 1, 0, "a wider chat")
_add_resize("context-lower", "alt+pageup", 0, -1, "a lower inspector")
_add_resize("context-higher", "alt+pagedown", 0, 1, "a higher inspector")


def theme_names() -> Iterable[str]:
    """The shipped ones and the user's."""
    return [theme.name for theme in load_themes().themes]


@COMMANDS.add("theme", "theme", "choose the colours", argument="[NAME]", arguments=theme_names)
async def theme(screen: MainScreen, argument: str) -> None:
    """By name, or chosen from a list."""
    names = [*theme_names()]
    if not argument:
        options = [Option(name, name, "now" if name == screen.app.theme else "") for name in names]
        argument = await choose(screen, "theme", options) or ""
    if argument and argument not in names:
        raise WrongCall(f"{argument}: no such theme; expected one of {', '.join(names)}")
    if argument:
        screen.app.theme = argument
