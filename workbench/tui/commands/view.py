"""Commands for the view."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from workbench.config.errors import WrongCall
from workbench.tui.main.timeline import FAR
from workbench.tui.themes import load_themes
from workbench.tui.widgets.chooser import Chooser, ChooserOption
from workbench.tui.widgets.command import Commands
from workbench.tui.widgets.main_screen_api import PANES, MainScreenApi, PaneName

COMMANDS = Commands("view")


def _add_pane(name: PaneName, key: str, text: str) -> None:
    @COMMANDS.register(f"view-{name}", f"go to the {name}", text, keys=(key,), slashes=())
    def go(host: MainScreenApi, argument: str) -> None:
        host.focus_pane(name)


_add_pane("chat", "f2", "the chat: to where you type")
_add_pane("context", "f3", "the context: what the model sees, item by item")
_add_pane("compaction", "f4", "the compaction: what was summarised and what comes next")


@COMMANDS.register("split", "split", "show all panes side by side, or one at a time; the choice is kept", keys=("f5",))
async def toggle_split(host: MainScreenApi, argument: str) -> None:
    layout = "split" if host.toggle_split() else "single"
    await host.in_background(partial(host.services.keep_setting, "layout", layout))


@COMMANDS.register("input", "back to the input", "leave the pane: back to the input", letters=("q",), slashes=())
def to_input(host: MainScreenApi, argument: str) -> None:
    host.focus_pane("chat")


@COMMANDS.register("timeline", "timeline", "go to the line of requests and walk along it", keys=("f6",))
def focus_timeline(host: MainScreenApi, argument: str) -> None:
    host.focus_timeline()


def _add_walk(name: str, letter: str, by: int, text: str) -> None:
    @COMMANDS.register(name, text, f"look at {text}", letters=(letter,), slashes=())
    def walk(host: MainScreenApi, argument: str) -> None:
        host.walk(by)


_add_walk("earlier", "left_square_bracket", -1, "the request before")
_add_walk("later", "right_square_bracket", 1, "the request after")
_add_walk("earliest", "left_curly_bracket", -FAR, "the first request")
_add_walk("newest", "right_curly_bracket", FAR, "the request that comes next: now")


@COMMANDS.register(
    "hide",
    "hide or show a pane",
    "hide a pane of the split or bring it back: chat, context, compaction, or the last two where none is named",
    keys=("ctrl+b",),
    argument="[PANE]",
    arguments=lambda: PANES,
)
def hide_pane(host: MainScreenApi, argument: str) -> None:
    name = next((pane for pane in PANES if pane == argument), None)
    if argument and name is None:
        raise WrongCall(f"{argument}: expected one of {', '.join(PANES)}")
    host.hide(name)


@COMMANDS.register(
    "side-requests",
    "side requests",
    "stop at side requests and sub-agents as well, or pass over them",
    letters=("comma",),
)
def side_requests(host: MainScreenApi, argument: str) -> None:
    host.toggle_side_requests()


def _add_resize(name: str, key: str, columns: int, lines: int, text: str) -> None:
    @COMMANDS.register(name, text, f"move the border between the panes: {text}", keys=(key,), slashes=())
    def resize(host: MainScreenApi, argument: str) -> None:
        host.resize(columns, lines)


_add_resize("chat-narrower", "alt+left", -1, 0, "a narrower chat")
_add_resize("chat-wider", "alt+right", 1, 0, "a wider chat")
_add_resize("context-lower", "alt+pageup", 0, -1, "a lower context")
_add_resize("context-higher", "alt+pagedown", 0, 1, "a higher context")


def theme_names() -> Iterable[str]:
    """The shipped themes, those of plug-ins, and the user's own."""
    return [theme.name for theme in load_themes(plugins=True).themes]


@COMMANDS.register("theme", "theme", "choose the colours, which are kept", argument="[NAME]", arguments=theme_names)
async def switch_theme(host: MainScreenApi, argument: str) -> None:
    names = [*theme_names()]
    if not argument:
        kinds = {theme.name: "dark" if theme.dark else "light" for theme in load_themes(plugins=True).themes}
        options = [
            ChooserOption(name, name, f"{kind}, now" if name == host.theme else kind) for name, kind in kinds.items()
        ]
        argument = await host.show_and_wait(Chooser("theme", options)) or ""
    if argument and argument not in names:
        raise WrongCall(f"{argument}: no such theme; expected one of {', '.join(names)}")
    if argument:
        host.theme = argument
        await host.in_background(partial(host.services.keep_setting, "theme", argument))
