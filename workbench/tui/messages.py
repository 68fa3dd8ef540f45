"""What the panes ask for. A pane posts one of these; the main screen hands it to the session model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from textual.message import Message

from workbench.log.events import OverrideAction


class Send(Message):
    """Say this to the model; while it works, the message waits its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class EditAndResend(Message):
    """Say this in place of an earlier message of the user's, in a fork that ends before it."""

    def __init__(self, seq: int, text: str) -> None:
        super().__init__()
        self.seq = seq
        self.text = text


class Retry(Message):
    """Ask the model again where its last answer failed, broke off or did not please."""


class Interrupt(Message):
    """Stop what the model is doing; what came so far is kept."""


class Withdraw(Message):
    """Take a waiting message out of the queue; the composer has its text already."""

    def __init__(self, index: int, text: str) -> None:
        super().__init__()
        self.index = index
        self.text = text


class Drafting(Message):
    """The text in the composer changed; an empty one costs nothing."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Answered(Message):
    """The user answered a question."""

    def __init__(self, number: int, answer: str) -> None:
        super().__init__()
        self.number = number
        self.answer = answer


class Decide(Message):
    """Pin, mask, exclude or restore events of the log, both ends included; `joined`: one decision with the last."""

    def __init__(self, action: OverrideAction, first: int, last: int, joined: bool = False) -> None:
        super().__init__()
        self.action = action
        self.first = first
        self.last = last
        self.joined = joined


class Jump(Message):
    """Show this event in the other pane."""

    def __init__(self, seq: int, pane: Literal["chat", "inspector"]) -> None:
        super().__init__()
        self.seq = seq
        self.pane = pane


class ShowBeside(Message):
    """Show this event in the other pane as well, and stay here."""

    def __init__(self, seq: int, pane: Literal["chat", "inspector"]) -> None:
        super().__init__()
        self.seq = seq
        self.pane = pane


class HintsChanged(Message):
    """Other keys matter in this pane now, though the focus is where it was."""


class Travel(Message):
    """Look at the context as it was when a request was made; None goes to the newest request."""

    def __init__(self, place: int | None) -> None:
        super().__init__()
        self.place = place


class Walk(Message):
    """Look at the request so many places before or after the one that is looked at, or was asked for last."""

    def __init__(self, by: int, alone: bool = False) -> None:
        """`alone`: pass over side requests and sub-agents."""
        super().__init__()
        self.by = by
        self.alone = alone


class NeedsSession(Message):
    """Something was asked for that cannot be done to a file; it is done once there is a session of it."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.then = then


class Run(Message):
    """Run a command of the registry, as its key, the palette or a slash would."""

    def __init__(self, name: str, argument: str = "") -> None:
        super().__init__()
        self.name = name
        self.argument = argument
