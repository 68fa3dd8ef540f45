"""The application with its main screen from the first frame on, for whoever has imported everything already."""

from __future__ import annotations

from textual.screen import Screen

from workbench.session.options import Options
from workbench.session.services import Services
from workbench.tui.frame import SHEETS, Frame
from workbench.tui.main.screen import MainScreen


class WorkbenchApp(Frame):
    """The full screen over the services."""

    CSS_PATH = [*SHEETS]  # noqa: RUF012 - Textual types it as an instance's own

    def __init__(
        self, services: Services, options: Options | None = None, ref: str = "", *, warm: bool = False
    ) -> None:
        """`ref`: what to open first; nothing: the newest session, or a new one. `warm`: load litellm in the end."""
        main = MainScreen(services, options or Options(), ref, warm=warm)
        super().__init__(services.settings, lambda: lambda: main)
        self._main = main

    def get_default_screen(self) -> Screen[None]:
        """The one that everything else lies over."""
        assert self._main is not None
        return self._main
