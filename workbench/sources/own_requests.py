"""The requests of our own session as they were sent: each planned with the settings of its time.

Requests that another agent recorded before the session continued here are planned as they were recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from workbench.config.errors import WorkbenchError
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import Event
from workbench.sources.options import Options
from workbench.sources.planned_under import PlannedUnder, planned_under
from workbench.sources.recorded import ListedRequest, RecordedSession
from workbench.sources.requests import RequestMark
from workbench.sources.services import Services
from workbench.sources.source import as_source, recorded_end


class OwnRequests:
    """Plans past requests for the screen, `plan --nth` and `requests`."""

    def __init__(self, services: Services, events: Sequence[Event]) -> None:
        """`events` may grow."""
        self._services = services
        self._events = events

    @cached_property
    def _recorded(self) -> RecordedSession | None:
        """The part that another agent recorded; None if there is none."""
        source = as_source("", list(self._events[: recorded_end(self._events)]))
        return RecordedSession(self._services, Options(), source) if source.recorded else None

    def _was_recorded(self, upto: int) -> RecordedSession | None:
        """The recording that contains the request made from the log up to an event."""
        recorded = self._recorded
        return recorded if recorded is not None and upto < len(recorded.events) else None

    def setup(self, upto: int) -> Setup:
        """The setup at the time when the log ended with an event. A policy of that time that is gone is not used."""
        events = list(self._events[:upto])
        source = as_source("", events)
        under = planned_under(events) or PlannedUnder(source.policy, source.knobs)
        asked = Options(policy=under.policy, knobs=under.knobs, reserve=under.reserve)
        plain = source._replace(model=source.model or self._services.default_model, policy="", knobs=())
        try:
            return self._services.set_up(asked, plain)
        except WorkbenchError:
            return self._services.set_up(Options(), plain)

    def plan(self, place: int, mark: RequestMark) -> ContextPlan:
        """The plan of a request, by its index among all requests."""
        recorded = self._was_recorded(mark.upto)
        if recorded is not None and place < len(recorded.marks):
            return recorded.plan(place)
        return self.setup(mark.upto).plan(self._events[: mark.upto]).as_reported(mark.reported)

    def plan_upto(self, upto: int) -> ContextPlan:
        """The plan of the request that the log up to an event would give."""
        recorded = self._was_recorded(upto)
        return self.setup(upto).plan(self._events[:upto]) if recorded is None else recorded.plan_upto(upto)

    def listed(self, marks: Sequence[RequestMark]) -> Sequence[ListedRequest]:
        """All requests with our count of each: as recorded when it was made, else counted again."""
        before = self._recorded.listed if self._recorded is not None else ()
        return [*before, *(self._listed(at, marks[at]) for at in range(len(before), len(marks)))]

    def _listed(self, place: int, mark: RequestMark) -> ListedRequest:
        tokens = mark.estimate or self.plan(place, mark).totals.tokens
        return ListedRequest(place + 1, mark, tokens, None if mark.reported is None else mark.reported - tokens)
