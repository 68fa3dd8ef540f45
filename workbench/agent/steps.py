"""The steps that a turn reports while it runs. The screen and the headless commands read the same stream of them."""

from __future__ import annotations

from typing import NamedTuple

from workbench.agent.reply import ReplyInProgress
from workbench.compaction.progress import CompactionProgress
from workbench.context.plan import ContextPlan
from workbench.log.events import Event, Failure
from workbench.models.reply_parts import ReplyPart
from workbench.models.retry import RetryWait


class RequestPlanned(NamedTuple):
    """A request is about to be made from this plan."""

    plan: ContextPlan
    iteration: int
    """The number of the request within its turn, from 1."""


class PartStreamed(NamedTuple):
    """A part of the reply arrived. It is not in the log yet."""

    part: ReplyPart
    reply: ReplyInProgress
    """Everything that has arrived so far; it continues to grow."""


class WaitingToRetry(NamedTuple):
    """The request will be tried again after a wait."""

    wait: RetryWait


class ModelSwitched(NamedTuple):
    """A fallback model is asked from now until the end of the turn. The failure that led to this is in the log."""

    model: str
    instead_of: str
    failure: Failure
    """Why the previous model did not answer."""


class CompactionRunning(NamedTuple):
    """A compaction has made progress."""

    progress: CompactionProgress


class EventAppended(NamedTuple):
    """An event was written to the log on disk."""

    event: Event


TurnStep = RequestPlanned | PartStreamed | WaitingToRetry | ModelSwitched | CompactionRunning | EventAppended
