"""The first line: the open session and its folder, and the panes with their keys."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

from workbench.config.text import printable
from workbench.tui.main.layout import PaneLayout
from workbench.tui.messages import RunCommand
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.cells import fit_cells, fit_cells_end
from workbench.tui.widgets.key_names import key_name
from workbench.tui.widgets.main_screen_api import PANES
from workbench.views.values import FOLLOWING

KEYS = ("F2", "F3", "F4")
ROOM_FOR_NAMES = 60
"""From this width on, the names of the panes and of the program are shown."""
ROOM_FOR_FOLDER = 90


def held_key(screen: Screen[Any]) -> str:
    """The user's key that opens a held request."""
    bound = (key for key, each in screen.active_bindings.items() if each.binding.id == "held")
    return next((key_name(key) for key in bound), "/held")


class Header(Observing, Widget):
    """Folder, branch and title on the left; on the right the panes, with the focused one marked."""

    session_title = observed(lambda session: session.title)
    folder = observed(lambda session: session.folder)
    branch = observed(lambda session: session.branch)
    read_only = observed(lambda session: session.read_only)
    following = observed(lambda session: session.following)
    """The state of the followed file."""

    arrangement: reactive[PaneLayout] = reactive(PaneLayout())
    held: reactive[int] = reactive(0)
    """The number of other agents' requests that wait at a breakpoint."""

    def render(self) -> Content:
        """The title gets the room that the rest leaves."""
        width = self.size.width
        tabs = self._tabs(width)
        fixed = f"  {self.following or 'read-only'}" if self.following or self.read_only else ""
        waiting = f"  {self.held:,} held: {held_key(self.screen)}" if self.held else ""
        name = "Workbench" if width >= ROOM_FOR_NAMES else ""
        room = width - tabs.cell_length - len(fixed) - len(waiting) - len(name) - 3
        where = self._where(room // 2) if width >= ROOM_FOR_FOLDER else ""
        room -= len(where) + 3 if where else 0
        title = self._title(room)
        left = Content.assemble(
            (name, "bold $primary"),
            (f"  {where}" if where else "", "$quiet"),
            (f"  {title}" if title else "", "bold"),
            (fixed, "$success" if self.following == FOLLOWING else "$warning"),
        )
        left = Content("").join(
            [left, Content.styled(waiting, "bold $warning").stylize(Style.from_meta({"command": "held"}))]
        )
        return Content.assemble(left, " " * max(1, width - left.cell_length - tabs.cell_length), tabs)

    def _tabs(self, width: int) -> Content:
        parts = []
        for key, name in zip(KEYS, PANES, strict=True):
            style = "bold reverse" if name == self.arrangement.active else "$quiet"
            word = f" {key} {name.capitalize()} "
            parts.append(Content.styled(word, style).stylize(Style.from_meta({"command": f"view-{name}"})))
        if not self.arrangement.narrow:
            word = " F5 One pane " if self.arrangement.is_split else " F5 Split "
            parts.append(Content.styled(word, "$quiet").stylize(Style.from_meta({"command": "split"})))
        return Content("").join(parts)

    def _where(self, room: int) -> str:
        branch = f" ({printable(self.branch)})" if self.branch else ""
        return fit_cells_end(printable(self.folder) + branch, room) if self.folder and room > 8 else ""

    def _title(self, room: int) -> str:
        """The title; of a path the end is shown."""
        title = printable(self.session_title)
        if room <= 8:
            return ""
        return fit_cells_end(title, room) if title.startswith(("/", "~/")) else fit_cells(title, room).rstrip()

    def on_click(self, event: events.Click) -> None:
        """Run the command of the part under the mouse."""
        command = event.style.meta.get("command")
        if isinstance(command, str):
            self.post_message(RunCommand(command))
