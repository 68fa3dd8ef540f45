"""Dialogs for a line or a text; they show why a text is not accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.widgets import Input, Static, TextArea

from workbench.config.errors import WorkbenchError
from workbench.config.text import editable, edited, printable
from workbench.tui.text_areas import CleanTextArea
from workbench.tui.widgets.cells import one_line


class TextDialog(ModalScreen[str | None]):
    """Enter accepts a valid text; Escape cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel", id="asking.leave")]

    field = query_one(Input)
    wrong = query_one("#asking-wrong", Static)

    def __init__(self, title: str, text: str, about: str = "", check: Callable[[str], object] = str) -> None:
        """`text`: the initial text; `about`: what is expected; `check` raises WorkbenchError."""
        super().__init__()
        self._title = title
        self._text = text
        self._about = about
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="asking--box") as box:
            box.border_title = one_line(self._title)
            box.border_subtitle = "Enter accept · Esc cancel"
            if self._about:
                yield Static(Content.styled(printable(self._about), "$quiet"), markup=False)
            yield Input(printable(self._text), compact=True)
            yield Static(id="asking-wrong", markup=False)

    def on_mount(self) -> None:
        self.wrong.display = False

    @on(Input.Changed)
    def _typed(self) -> None:
        self.wrong.display = False

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.accept_text(event.value)

    def accept_text(self, text: str) -> None:
        """Close with the text, or show what is wrong with it."""
        try:
            self._check(text)
        except WorkbenchError as error:
            self.wrong.update(Content.styled(printable(str(error)), "bold $warning"))
            self.wrong.display = True
            return
        self.dismiss(text)


class EditDialog(TextDialog, inherit_bindings=False):
    """Edits a text of several lines; Ctrl+S accepts, Escape cancels."""

    BINDING_GROUP_TITLE = "Edit a text"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "accept", "accept", id="edit.accept", priority=True),
        Binding("escape", "dismiss(None)", "cancel", id="edit.leave"),
    ]

    area = query_one(TextArea)

    def compose(self) -> ComposeResult:
        with Vertical(classes="asking--box asking--long") as box:
            box.border_title = one_line(self._title)
            box.border_subtitle = "Ctrl+S accept · Esc cancel"
            yield CleanTextArea(editable(self._text), soft_wrap=True, show_line_numbers=False)
            yield Static(id="asking-wrong", markup=False)

    def on_mount(self) -> None:
        self.area.focus()

    def action_accept(self) -> None:
        """Accept after pending keys, which may still be on their way to the text area."""
        self.area.call_later(lambda: self.accept_text(edited(self._text, self.area.text)))
