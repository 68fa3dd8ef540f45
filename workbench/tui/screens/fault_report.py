"""The report of an unexpected error."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.foreign_files import read_regular_file
from workbench.config.text import printable
from workbench.tui.widgets.reader import FootLine, TextReader, TextScreen
from workbench.tui.widgets.text_view import text_page


class FaultReportScreen(TextScreen):
    """The file's path and text, to search and copy."""

    BINDING_GROUP_TITLE = "The error report"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "close", id="fault.close")]

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def compose(self) -> ComposeResult:
        head = FootLine()
        head.content = Content.styled(printable(str(self._path)), "bold $primary")
        yield head
        yield TextReader()

    def _fill(self) -> None:
        try:
            text = read_regular_file(self._path).decode("utf-8", "replace")
        except OSError as error:
            text = f"cannot be read: {error.strerror or error}"
        self.reader.show(partial(text_page, text), len(text))
