"""A report: a few lines to read, over the panes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.config.text import printable

Rows = Sequence[tuple[str, str]]


class Report(ModalScreen[None]):
    """What, and how much."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "close", id="report.close"),
        Binding("y", "copy", "copy the text", id="report.copy"),
    ]

    def __init__(self, title: str, rows: Rows) -> None:
        super().__init__()
        self._title = title
        self._rows = rows

    def compose(self) -> ComposeResult:
        """One text that scrolls where the terminal is low."""
        with VerticalScroll() as page:
            page.border_title = self._title
            page.border_subtitle = "y copies, escape closes"
            yield Static(self._content())

    def _content(self) -> Content:
        wide = max((len(name) for name, _ in self._rows), default=0)
        lines = []
        for name, value in self._rows:
            said = printable(value)
            lines.append(Content.assemble((name.ljust(wide), "bold"), f"  {said}") if name else Content(said))
        return Content("\n").join(lines)

    def action_copy(self) -> None:
        """As it stands there."""
        self.app.copy_to_clipboard(self._content().plain)
        self.notify("copied", markup=False)
