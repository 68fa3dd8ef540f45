"""A line to type in, which is there only while it is needed."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class _Told(Message):
    """What stands in the line, and what it was asked for."""

    def __init__(self, topic: str, text: str) -> None:
        super().__init__()
        self.topic = topic
        self.text = text


class InputLine(Input):
    """One line: what is asked for stands in its border, Enter says it and Escape leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave the line", id="ask.leave", show=False)]

    class Entered(_Told):
        """The user typed this and pressed Enter."""

    class Edited(_Told):
        """The text changed."""

    class Cancelled(_Told):
        """The user does not want to after all; `text` is what stood there before."""

    def __init__(self) -> None:
        super().__init__(compact=True, select_on_focus=False)
        self.topic = ""
        self._before = ""
        self.display = False

    def open(self, topic: str, text: str, hint: str = "") -> None:
        """Ask for something; `text` stands there already."""
        self.topic = topic
        self._before = text
        self.placeholder = hint or topic
        self.value = text
        self.cursor_position = len(text)
        self.display = True
        self.screen.set_focus(self)  # at once: what is typed next belongs here
        self.focus()  # and again, behind whatever was asked to take the focus just before

    @on(Input.Changed)
    def _changed(self, message: Input.Changed) -> None:
        message.stop()
        if self.display:
            self.post_message(self.Edited(self.topic, self.value))

    @on(Input.Submitted)
    def _submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.display = False
        self.post_message(self.Entered(self.topic, self.value))

    def action_leave(self) -> None:
        """Close the line; what stood in it before holds."""
        self.display = False
        self.value = self._before
        self.post_message(self.Cancelled(self.topic, self._before))
