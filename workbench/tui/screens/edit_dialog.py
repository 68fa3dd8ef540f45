"""A dialog for a text of several lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from workbench.config.errors import WorkbenchError
from workbench.config.text import editable, edited, printable
from workbench.tui.text_areas import CleanTextArea
from workbench.tui.widgets.cells import one_line


class EditDialog(ModalScreen[str | None]):
    """Edits a text of several lines; Ctrl+S accepts, Escape cancels."""

    BINDING_GROUP_TITLE = "Edit a text"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "accept", "accept", id="edit.accept", priority=True),
        Binding("escape", "dismiss(None)", "cancel", id="edit.leave"),
    ]

    area = query_one(TextArea)
    wrong = query_one("#asking-wrong", Static)

    def __init__(self, title: str, text: str, check: Callable[[str], object] | None = None) -> None:
        """`check` raises WorkbenchError for an invalid text."""
        super().__init__()
        self._title = title
        self._text = text
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="asking--box asking--long") as box:
            box.border_title = one_line(self._title)
            box.border_subtitle = "Ctrl+S accept · Esc cancel"
            yield CleanTextArea(editable(self._text), soft_wrap=True, show_line_numbers=False)
            yield Static(id="asking-wrong", markup=False)

    def on_mount(self) -> None:
        """Hide the error line."""
        self.wrong.display = False
        self.area.focus()

    def action_accept(self) -> None:
        """Accept after pending keys, which may still be on their way to the text area."""
        self.area.call_later(self._accept)

    def _accept(self) -> None:
        """Accept the text if it is valid."""
        text = edited(self._text, self.area.text)
        try:
            if self._check is not None:
                self._check(text)
        except WorkbenchError as error:
            self.wrong.update(Content.styled(printable(str(error)), "bold $warning"))
            self.wrong.display = True
            return
        self.dismiss(text)
