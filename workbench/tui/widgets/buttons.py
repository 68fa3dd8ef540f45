"""Buttons in a line, each with its key. They wrap over several lines, which Textual's buttons do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style

from workbench.tui.widgets.key_names import key_name
from workbench.tui.widgets.wrapped_lines import WrappedLines, flow_pieces


class Button(NamedTuple):
    """A button with its key."""

    key: str
    """The key as Textual names it in a `Binding`, for example `ctrl+s`."""
    name: str
    """Identifies the button in `ButtonPressed`."""
    label: str
    idle: bool = False
    """Whether it is dimmed: it cannot be used now, and pressing it shows why."""


class ButtonLine(WrappedLines):
    """A line of buttons. A click posts `ButtonPressed`. The keys are bound by the screen that contains the line."""

    @dataclass(eq=False)
    class ButtonPressed(Message):
        """A button was clicked."""

        name: str

    buttons: reactive[tuple[Button, ...]] = reactive((), layout=True)

    def lines(self, width: int) -> Sequence[Content]:
        return flow_pieces(map(_drawn, self.buttons), width)

    def on_click(self, event: Click) -> None:
        """Press the button under the mouse."""
        name = event.style.meta.get("button")
        if isinstance(name, str):
            event.stop()
            self.post_message(self.ButtonPressed(name))


def _drawn(button: Button) -> Content:
    made = Content.assemble(
        (f" {key_name(button.key)}", "$quiet" if button.idle else "bold $accent"),
        (f" {button.label} ", "$quiet" if button.idle else ""),
    )
    return made.stylize(Style.from_meta({"button": button.name})).stylize_before("on $surface")
