"""What a turn tells its readers, in order: the screen and the headless commands read the same stream."""

from __future__ import annotations

from typing import NamedTuple

from workbench.context.plan import ContextPlan
from workbench.log.events import Event
from workbench.models.parts import Part
from workbench.models.retry import Wait


class Planned(NamedTuple):
    """A request is about to be made from this plan."""

    plan: ContextPlan
    iteration: int


class Streamed(NamedTuple):
    """A part of the answer arrived. It is not in the log yet."""

    part: Part


class Waiting(NamedTuple):
    """The request is tried again in a while."""

    wait: Wait


class Appended(NamedTuple):
    """An event is in the log, on disk."""

    event: Event


Step = Planned | Streamed | Waiting | Appended
