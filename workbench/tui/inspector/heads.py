"""The names of the columns."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from workbench.context.compare import Mark
from workbench.tui.inspector.columns import heads, lay_out
from workbench.tui.inspector.rows import NO_MARKS
from workbench.tui.widgets.cells import fit


class Heads(Widget):
    """The line above the rows; it stands still while they scroll."""

    events_count: var[int] = var(0)
    marks: var[Mapping[str, Mark]] = var(NO_MARKS)

    def watch_events_count(self, old: int, new: int) -> None:
        """The first column may be wider."""
        if len(str(old)) != len(str(new)):
            self.refresh()

    def watch_marks(self) -> None:
        """There is one column more, or fewer."""
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The columns' names, where the rows have their columns."""
        width = self.size.width
        columns = lay_out(width - 1, self.events_count, bool(self.marks))
        return Strip([Segment(fit(f" {heads(columns)}", width), self.rich_style)], width)
