"""A dialog to confirm something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.config.text import printable, printable_lines
from workbench.tui.widgets.buttons import Button, ButtonLine
from workbench.tui.widgets.cells import one_line


class ConfirmDialog(ModalScreen[bool]):
    """A question whose default changes nothing."""

    BINDING_GROUP_TITLE = "Sure?"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", id="sure.yes"),
        Binding("n,escape,enter,q", "answer(False)", "no", id="sure.no"),
    ]

    def __init__(
        self, title: str, text: str, yes: str, no: str, effect: Callable[[], Awaitable[str]] | None = None
    ) -> None:
        """`effect` computes what yes would do; the result is shown as soon as it is known."""
        super().__init__()
        self._title = title
        self._text = "\n".join(printable_lines(text))
        self._yes = yes
        self._no = no
        self._effect = effect

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = one_line(self._title)
            box.border_subtitle = one_line(f"Enter and Esc: {self._no}")
            yield Static(f"? {self._text}", classes="dialog--question", markup=False)
            yield ButtonLine()

    def on_mount(self) -> None:
        self.query_one(ButtonLine).buttons = (
            Button("n", "answer(False)", self._no),
            Button("y", "answer(True)", self._yes),
        )
        if self._effect is not None:
            self._work_out(self._effect)

    @work(description="work out")
    async def _work_out(self, effect: Callable[[], Awaitable[str]]) -> None:
        asked = self.query_one(".dialog--question", Static)
        asked.update(f"? {self._text} Working out what undoing it does…")
        asked.update(f"? {self._text} {printable(await effect())}")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
