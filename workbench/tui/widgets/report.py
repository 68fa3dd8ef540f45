"""A report over the panes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.wrapped_lines import FigureTable

Rows = Sequence[tuple[str, str]]


class ReportScreen(ModalScreen[None]):
    """Names and values."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "dismiss", "close", id="report.close"),
        Binding("y", "copy", "copy the text", id="report.copy"),
    ]

    def __init__(self, title: str, rows: Rows) -> None:
        super().__init__()
        self._title = title
        self._table = FigureTable()
        self._table.rows = rows

    def compose(self) -> ComposeResult:
        with VerticalScroll() as page:
            page.border_title = one_line(self._title)
            page.border_subtitle = "y copies · Esc closes"
            yield self._table

    def action_copy(self) -> None:
        """Copy the report, with one line for each row."""
        self.app.copy_to_clipboard("\n".join(line.plain.rstrip() for line in self._table.lines(sys.maxsize)))
        self.notify("copied", markup=False)
