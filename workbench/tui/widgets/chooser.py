"""A list to choose from, filtered by typing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from workbench.config.text import printable
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.input_line import FilterField, has_words

MOST = 200
"""The most options to show; typing filters them."""


class ChooserOption(NamedTuple):
    value: str
    label: str
    note: str = ""


class Chooser(ModalScreen[str]):
    """Type to filter; Enter chooses the marked option."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "cancel", id="choose.leave"),
        Binding("down", "move(1)", "the next", id="choose.down", show=False, priority=True),
        Binding("up", "move(-1)", "the one before", id="choose.up", show=False, priority=True),
    ]

    field = query_one(Input)
    found = query_one(OptionList)

    def __init__(self, title: str, options: Sequence[ChooserOption]) -> None:
        super().__init__()
        self._title = title
        self._options = options

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = one_line(self._title)
            box.border_subtitle = "Enter accept · Esc cancel"
            yield FilterField(placeholder="type to filter", compact=True)
            yield OptionList(markup=False, compact=True)

    def on_mount(self) -> None:
        self._narrow("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._narrow(event.value)

    def _narrow(self, text: str) -> None:
        matching = [
            option for option in self._options if has_words(f"{option.label} {option.note} {option.value}", text)
        ]
        self.found.clear_options()
        self.found.add_options(
            Option(Content.assemble(printable(option.label), ("  " + printable(option.note), "$quiet")), option.value)
            for option in matching[:MOST]
        )
        self.found.highlighted = 0 if matching else None

    def action_move(self, by: int) -> None:
        """Move the mark; the focus stays in the input."""
        if by > 0:
            self.found.action_cursor_down()
        else:
            self.found.action_cursor_up()

    @on(Input.Submitted)
    def _choose(self) -> None:
        at = self.found.highlighted
        if at is not None:
            self.dismiss(self.found.get_option_at_index(at).id or "")

    @on(OptionList.OptionSelected)
    def _click(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id or "")

    def action_leave(self) -> None:
        self.dismiss("")
