"""Commands on what is seen."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.config.errors import WrongCall
from workbench.tui.themes import load_themes
from workbench.tui.widgets.chooser import Chooser, Option
from workbench.tui.widgets.command import Commands
from workbench.tui.widgets.host import PANES, Host, PaneName

COMMANDS = Commands("view")


def _add_pane(name: PaneName, key: str, text: str) -> None:
    @COMMANDS.add(f"view-{name}", f"go to the {name}", text, keys=(key,), slashes=())
    def go(host: Host, argument: str) -> None:
        host.focus_pane(name)


_add_pane("chat", "f2", "to where you type")
_add_pane("context", "f3", "to what the model sees, item by item")
_add_pane("compaction", "f4", "to what was summarised and what comes next")


@COMMANDS.add("maximise", "maximise", "show this pane alone, or all of them again", keys=("f5",))
def maximise(host: Host, argument: str) -> None:
    """The other panes follow the focus meanwhile."""
    host.maximise()


@COMMANDS.add(
    "hide",
    "hide or show a pane",
    "hide a pane or bring it back: chat, context, compaction, or the last two where none is named",
    keys=("ctrl+b",),
    argument="[PANE]",
    arguments=lambda: PANES,
)
def hide(host: Host, argument: str) -> None:
    """One pane always stays."""
    name = next((pane for pane in PANES if pane == argument), None)
    if argument and name is None:
        raise WrongCall(f"{argument}: expected one of {', '.join(PANES)}")
    host.hide(name)


def _add_resize(name: str, key: str, columns: int, lines: int, text: str) -> None:
    @COMMANDS.add(name, text, f"move the border between the panes: {text}", keys=(key,), slashes=())
    def resize(host: Host, argument: str) -> None:
        host.resize(columns, lines)


_add_resize("chat-narrower", "alt+left", -1, 0, "a narrower chat")
_add_resize("chat-wider", "alt+right", 1, 0, "a wider chat")
_add_resize("context-lower", "alt+pageup", 0, -1, "a lower inspector")
_add_resize("context-higher", "alt+pagedown", 0, 1, "a higher inspector")


def theme_names() -> Iterable[str]:
    """The shipped ones and the user's."""
    return [theme.name for theme in load_themes().themes]


@COMMANDS.add("theme", "theme", "choose the colours", argument="[NAME]", arguments=theme_names)
async def theme(host: Host, argument: str) -> None:
    """By name, or chosen from a list."""
    names = [*theme_names()]
    if not argument:
        options = [Option(name, name, "now" if name == host.theme else "") for name in names]
        argument = await host.ask(Chooser("theme", options)) or ""
    if argument and argument not in names:
        raise WrongCall(f"{argument}: no such theme; expected one of {', '.join(names)}")
    if argument:
        host.theme = argument
