"""The steps that a turn reports, in order: the screen and the headless commands read the same stream."""

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


class Streamed(NamedTuple):
    """A part of the reply arrived. It is not in the log yet."""

    part: Part
    reply: ReplyInProgress
    """Everything that has arrived so far; it continues to grow."""


class Waiting(NamedTuple):
    """The request will be tried again after a wait."""

    wait: Wait


class Switched(NamedTuple):
    """Another model is asked from now until the end of the turn; the log says so, too."""

    model: str
    instead_of: str
    failure: Failure
    """Why the previous model did not answer."""


class Summarising(NamedTuple):
    """A compaction is being made."""

    progress: Progress


class Appended(NamedTuple):
    """An event is in the log, on disk."""

    event: Event


Step = Planned | Streamed | Waiting | Switched | Summarising | Appended
