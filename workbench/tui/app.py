"""The application: one screen, and the themes."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from workbench.config.errors import WorkbenchError
from workbench.tui.bench import Bench
from workbench.tui.inspector.screen import Inspector
from workbench.tui.themes import VARIABLES, load_themes


class WorkbenchApp(App[WorkbenchError]):
    """The full screen. Its result is the error that ended it, if one did."""

    TITLE = "workbench"
    CSS_PATH = "inspector/inspector.tcss"  # here, because Textual does not load the sheet of a default screen
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (140, "-wide")]  # noqa: RUF012 - Textual types it as an instance's own
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "theme", "the next theme"),
        Binding("q,ctrl+q", "quit", "quit"),
    ]

    def __init__(self, bench: Bench | None, theme: str = "") -> None:
        """`bench` is None where there is nothing to show; `theme` is what the settings say."""
        super().__init__()
        self._bench = bench
        loaded = load_themes()
        self._problems = list(loaded.problems)
        self._names = [each.name for each in loaded.themes]
        for each in loaded.themes:
            self.register_theme(each)
        if theme and theme not in self._names:
            self._problems.append(f"no theme named {theme!r}; expected one of {', '.join(self._names)}")
        if self._names:
            self.theme = theme if theme in self._names else self._names[0]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The screen's own colours, for themes that do not name them."""
        return VARIABLES

    def get_default_screen(self) -> Screen[None]:
        """The one screen there is."""
        return Inspector(self._bench)

    def on_mount(self) -> None:
        """Tell what was wrong with a theme; the program runs all the same."""
        for problem in self._problems:
            self.notify(problem, title="theme", severity="warning", markup=False)

    def action_theme(self) -> None:
        """Switch to the next theme."""
        if self._names:
            at = self._names.index(self.theme) if self.theme in self._names else -1
            self.theme = self._names[(at + 1) % len(self._names)]
