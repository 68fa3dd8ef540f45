"""The messages that panes post. The main screen passes them to the session model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from textual.message import Message

from workbench.log.events import OverrideAction


@dataclass(eq=False)
class Send(Message):
    """Send this to the model; while the model works, the message is queued."""

    text: str


@dataclass(eq=False)
class EditAndResend(Message):
    """Send this instead of an earlier user message, in a fork that ends before it."""

    seq: int
    text: str
    within: str = ""
    """The session of that message, as in `SessionState.opened`."""


class Interrupt(Message):
    """Stop the model; the answer so far is kept."""


@dataclass(eq=False)
class Withdraw(Message):
    """Remove a message from the queue; the composer already has its text."""

    index: int
    text: str


@dataclass(eq=False)
class DraftChanged(Message):
    """The text in the composer changed."""

    text: str


@dataclass(eq=False)
class Answered(Message):
    """The user answered a question."""

    number: int
    answer: str


@dataclass(eq=False)
class Decide(Message):
    """Pin, mask, exclude or restore events, both ends included; `joined`: one decision with the message before."""

    action: OverrideAction
    first: int
    last: int
    joined: bool = False


@dataclass(eq=False)
class Jump(Message):
    """Show this event in the other pane."""

    seq: int
    pane: Literal["chat", "inspector"]


@dataclass(eq=False)
class MarkEvent(Message):
    """Mark this event in another pane, without moving the focus."""

    seq: int
    pane: Literal["chat", "inspector"]


class HintsChanged(Message):
    """The hints of this pane changed, although the focus did not."""


@dataclass(eq=False)
class Travel(Message):
    """Show the context of a past request; None: of the newest."""

    place: int | None


@dataclass(eq=False)
class Walk(Message):
    """Show a request a number of steps before or after the selected one."""

    by: int
    alone: bool = False
    """Skip side requests and sub-agents."""


@dataclass(eq=False)
class NeedsSession(Message):
    """Something needs a session, but a file is open; call `then` once a session was made from it."""

    then: Callable[[], None]


@dataclass(eq=False)
class RunCommand(Message):
    """Run a command of the registry, as its key or the palette would."""

    name: str
    argument: str = ""
