"""Inputs: one that filters a list, and one that is shown only while it is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


def has_words(shown: str, typed: str) -> bool:
    """Whether a text has all words of a filter, in any order and case."""
    lower = shown.lower()
    return all(word in lower for word in typed.lower().split())


class FilterField(Input):
    """An input in which a question mark opens the help while it is empty."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        return (character != "?" or bool(self.value)) and super().check_consume_key(key, character)


@dataclass(eq=False)
class _LineMessage(Message):
    """The text of the line, and its topic."""

    topic: str
    text: str


class InputLine(Input):
    """One line with its topic in the border; Enter submits and Escape cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "leave the line", id="ask.leave", show=False)]

    class Entered(_LineMessage):
        """The user typed this and pressed Enter."""

    class Edited(_LineMessage):
        """The text changed."""

    class Cancelled(_LineMessage):
        """The user cancelled; `text` is the text before."""

    def __init__(self) -> None:
        super().__init__(compact=True, select_on_focus=False)
        self.topic = ""
        self._before = ""
        self.display = False

    def open(self, topic: str, text: str, hint: str = "") -> None:
        """Ask for something; `text` is the initial text."""
        self.topic = topic
        self._before = text
        self.placeholder = hint or topic
        self.value = text
        self.cursor_position = len(text)
        self.display = True
        self.screen.set_focus(self)  # at once: the next key belongs here
        self.focus()  # and again, after any pending change of focus

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
        """Close the line and keep the text before."""
        self.display = False
        self.value = self._before
        self.post_message(self.Cancelled(self.topic, self._before))
