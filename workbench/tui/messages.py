"""The messages that panes post. The main screen passes them to the session model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from textual.message import Message

from workbench.log.events import OverrideAction


class Send(Message):
    """Send this to the model; while the model works, the message is queued."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class EditAndResend(Message):
    """Send this instead of an earlier user message, in a fork that ends before it."""

    def __init__(self, seq: int, text: str) -> None:
        super().__init__()
        self.seq = seq
        self.text = text


class Retry(Message):
    """Ask the model again."""


class Interrupt(Message):
    """Stop the model; the answer so far is kept."""


class Withdraw(Message):
    """Remove a message from the queue; the composer already has its text."""

    def __init__(self, index: int, text: str) -> None:
        super().__init__()
        self.index = index
        self.text = text


class Drafting(Message):
    """The text in the composer changed."""

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
    """Pin, mask, exclude or restore events, both ends included; `joined`: one decision with the message before."""

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


class MarkEvent(Message):
    """Mark this event in another pane, without moving the focus."""

    def __init__(self, seq: int, pane: Literal["chat", "inspector"]) -> None:
        super().__init__()
        self.seq = seq
        self.pane = pane


class HintsChanged(Message):
    """The hints of this pane changed, although the focus did not."""


class Travel(Message):
    """Show the context of a past request; None: of the newest."""

    def __init__(self, place: int | None) -> None:
        super().__init__()
        self.place = place


class Walk(Message):
    """Show a request a number of steps before or after the selected one."""

    def __init__(self, by: int, alone: bool = False) -> None:
        """`alone`: skip side requests and sub-agents."""
        super().__init__()
        self.by = by
        self.alone = alone


class NeedsSession(Message):
    """Something needs a session, but a file is open; call `then` once a session was made from it."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.then = then


class Run(Message):
    """Run a command of the registry, as its key or the palette would."""

    def __init__(self, name: str, argument: str = "") -> None:
        super().__init__()
        self.name = name
        self.argument = argument
