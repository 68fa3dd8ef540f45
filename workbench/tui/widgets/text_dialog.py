"""A dialog with an input line that shows errors."""

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
from textual.widgets import Input, Static

from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.tui.widgets.cells import one_line


def _anything(text: str) -> None:
    """Accept any text."""


class TextDialog(ModalScreen[str | None]):
    """Enter accepts a valid text; Escape cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "cancel", id="asking.leave")]

    field = query_one(Input)
    wrong = query_one("#asking-wrong", Static)

    def __init__(self, title: str, text: str, about: str = "", check: Callable[[str], object] = _anything) -> None:
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
        """Select the whole text, so that typing replaces it."""
        self.wrong.display = False
        self.field.select_all()

    @on(Input.Changed)
    def _typed(self) -> None:
        self.wrong.display = False

    @on(Input.Submitted)
    def _accept(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self._check(event.value)
        except WorkbenchError as error:
            self.wrong.update(Content.styled(printable(str(error)), "bold $warning"))
            self.wrong.display = True
            return
        self.dismiss(event.value)
