"""The app that users get, over less than the main screen: for tests of one pane or one widget."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.screen import Screen

from workbench.config.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.main.screen import SHEETS, MainScreen


class SmallApp(WorkbenchApp):
    """Its sheets, themes, colours, keys and driver are those of the program; what it shows, a test composes."""

    CSS_PATH = [*SHEETS]  # noqa: RUF012 - Textual types it as an instance's own

    def __init__(self, theme: str = "ink") -> None:
        super().__init__(Settings(theme=theme), self._no_main_screen)

    def get_default_screen(self) -> Screen[None]:
        """Where `compose` puts what it yields."""
        return Screen(id="_default")

    def _begin(self) -> None:  # type: ignore[override]  # nothing is loaded behind the first frame
        pass

    def _few_colours(self) -> None:
        """As on a terminal that has them all, whatever the tester's own has."""

    def _no_main_screen(self) -> type[MainScreen]:
        raise AssertionError("a small app loads no main screen")


def screen_of(app: App[Any]) -> str:
    """The whole screen as text."""
    strips = app.screen._compositor.render_strips()  # the one place that knows the whole screen
    return "".join(f"{strip.text.rstrip()}\n" for strip in strips)
