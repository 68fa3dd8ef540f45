"""The steps that a turn reports while it runs. The screen and the headless commands read the same stream of them."""

from __future__ import annotations

from typing import NamedTuple

from workbench.agent.reply import ReplyInProgress
from workbench.compaction.progress import Progress
from workbench.context.plan import ContextPlan
from workbench.log.events import Event, Failure
from workbench.models.reply_parts import Part
from workbench.models.retry import Wait


class Planned(NamedTuple):
    """A request is about to be made from this plan."""

    plan: ContextPlan
    iteration: int
    """The number of the request within its turn, from 1."""


class Streamed(NamedTuple):
    """A part of the reply arrived. It is not in the log yet."""

    part: Part
    reply: ReplyInProgress
    """Everything that has arrived so far; it continues to grow."""


class Waiting(NamedTuple):
    """The request will be tried again after a wait."""

    wait: Wait


class Switched(NamedTuple):
    """A fallback model is asked from now until the end of the turn. The failure that led to this is in the log."""

    model: str
    instead_of: str
    failure: Failure
    """Why the previous model did not answer."""


class Summarising(NamedTuple):
    """A compaction has made progress."""

    progress: Progress


class Appended(NamedTuple):
    """An event was written to the log on disk."""

    event: Event


Step = Planned | Streamed | Waiting | Switched | Summarising | Appended
