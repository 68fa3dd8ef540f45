"""The application: the main screen, the themes and the keys."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from workbench.config.errors import WorkbenchError
from workbench.traces.desk import Desk
from workbench.tui.commands.keys import keymap
from workbench.tui.main.screen import MainScreen
from workbench.tui.themes import VARIABLES, ThemeFolder

if TYPE_CHECKING:
    from textual.command import Provider

SHEETS = [str(path) for path in sorted(Path(__file__).parent.rglob("*.tcss"))]
"""Each lies beside its pane. All of them, because Textual does not load the sheets of a default screen."""

DEFAULT = "ink"
"""The theme of those who wish for none."""

WATCH = 2.0
"""Seconds between two looks at the folder of themes."""


def _hits() -> type[Provider]:
    """Imported when the palette first opens: the first frame does not need it."""
    from workbench.tui.commands.palette import CommandHits

    return CommandHits


class WorkbenchApp(App[WorkbenchError]):
    """The full screen. Its result is the error that ended it, if one did."""

    TITLE = "workbench"
    CSS_PATH = [*SHEETS]  # noqa: RUF012 - Textual types it as an instance's own
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (140, "-wide")]  # noqa: RUF012 - as above
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_hits}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "quit", id="app.quit", show=False, priority=True),
        # Without it Textual binds a key of its own, before that of our command.
        Binding("f20", "command_palette", "command palette", id="app.palette", show=False),
    ]

    def __init__(self, desk: Desk, options: Namespace | None = None, ref: str = "", *, warm: bool = False) -> None:
        """`ref`: what to open first; nothing: the newest session, or a new one. `warm`: load litellm in the end."""
        super().__init__()
        self._main = MainScreen(desk, options or Namespace(), ref, warm=warm)
        self._keys = desk.settings.keys
        self._folder = ThemeFolder()
        self._choose_theme(desk.settings.theme)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The screen's own colours, for themes that do not name them."""
        return VARIABLES

    def get_default_screen(self) -> Screen[None]:
        """The one that everything else lies over."""
        return self._main

    def on_mount(self) -> None:
        """Tell what was wrong with a theme or a key; the program runs all the same."""
        self._warn("theme", self._problems)
        self.call_after_refresh(self._set_keys)  # when all panes, and so all bindings, are there
        self.set_interval(WATCH, self._look_at_themes)

    def _set_keys(self) -> None:
        keys = keymap(self._keys, self._main)
        self.set_keymap(keys.keymap)
        self._warn("keys", keys.problems)

    def _warn(self, title: str, problems: Iterable[str]) -> None:
        for problem in problems:
            self.notify(problem, title=title, severity="warning", markup=False)

    # Themes

    def _load_themes(self) -> list[str]:
        """Register all there are; the result is their names. One that broke stays as it was."""
        loaded = self._folder.load()
        self._problems = list(loaded.problems)
        for each in loaded.themes:
            self.register_theme(each)
        return [each.name for each in loaded.themes]

    def _choose_theme(self, wanted: str) -> None:
        names = self._load_themes()
        if wanted and wanted not in names:
            self._problems.append(f"no theme named {wanted!r}; expected one of {', '.join(names)}")
        self.theme = next((name for name in (wanted, DEFAULT) if name in names), self.theme)

    def _look_at_themes(self) -> None:
        """A theme that was changed on the disk shows at once."""
        if self._folder.changed():
            self._load_themes()
            self.mutate_reactive(WorkbenchApp.theme)
            self._warn("theme", self._problems)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """On the main screen, the command does it, whatever its key is."""
        return self.screen is not self._main if action == "leave" else True

    async def action_leave(self) -> None:
        """End the program from a screen that lies over the main one."""
        await self._main.close_model()
        self.exit()

    async def on_unmount(self) -> None:
        """However it ends, what came is kept."""
        await self._main.close_model()
