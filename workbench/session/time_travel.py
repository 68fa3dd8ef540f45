"""Time travel: the context as it was when a request was made. Lives in the session's thread."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from workbench.config.background import background
from workbench.config.errors import WorkbenchError
from workbench.context.plan import ContextPlan
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession, make_setup
from workbench.sources.requests import RequestMark
from workbench.sources.services import Services
from workbench.sources.source import Source, knobs_of, setting
from workbench.views.context_view import ContextView

REMEMBERED = 16
"""Plans of the past that are kept, for stepping to and fro."""


def place_after(marks: Sequence[RequestMark], here: int, by: int, *, alone: bool = False) -> int:
    """The place so many steps from here; behind the last request is the next one, which is not made yet.

    `alone`: side requests and sub-agents are no stops.
    """
    stops = [at for at, mark in enumerate(marks) if mark.purpose == "turn" or not alone]
    stops.append(len(marks))
    at = bisect_left(stops, here) + by if by < 0 else bisect_right(stops, here) - 1 + by
    return stops[max(0, min(at, len(stops) - 1))]


class Destination(NamedTuple):
    """A request to go to."""

    opened: OpenSession
    recorded: RecordedSession | None
    """The session as another agent recorded it, where one looks at that."""
    place: int


class TimeTravel:
    """Plans prefixes of a log, each under the policy and for the model that held then."""

    def __init__(self, services: Services, options: Options) -> None:
        self._services = services
        self._options = options
        self._plans: dict[int, ContextPlan] = {}
        self._wanted: Destination | None = None
        self._going = False
        self._view: ContextView | None = None
        """What was shown last."""

    def view(self, opened: OpenSession) -> ContextView | None:
        """The past request that is shown; None: now is."""
        return self._view if self.place(opened) is not None else None

    def place(self, opened: OpenSession) -> int | None:
        """The request that is shown; None: now is, also because what another agent recorded has gone on here."""
        wanted = self._wanted
        return wanted.place if wanted is not None and wanted.recorded is opened.recorded else None

    def home(self) -> None:
        """Back to now, perhaps of another session."""
        self._wanted = self._view = None
        self.forget()

    def forget(self) -> None:
        """Plans were made with what no longer holds; one that is being made is not kept either."""
        self._plans = {}

    async def go(self, opened: OpenSession, place: int, show: Callable[[ContextView], None]) -> None:
        """Show the context of a request. Of many that are asked for meanwhile, the last is shown for certain."""
        if not 0 <= place < len(opened.requests.marks):
            return
        self._wanted = Destination(opened, opened.recorded, place)
        if self._going:
            return  # whoever is on the way goes on to there
        self._going = True
        try:
            reached = None
            while (wanted := self._wanted) is not None and wanted is not reached:
                made = await self._shown(wanted.opened, wanted.place)
                reached = wanted
                if self._wanted is not None and self._wanted.opened is wanted.opened:
                    self._view = made
                    show(made)
        finally:
            self._going = False

    async def _shown(self, opened: OpenSession, place: int) -> ContextView:
        before = await self._plan(opened, place - 1) if place else None
        plan = await self._plan(opened, place)
        now, mark = opened.shown(), opened.requests.marks[place]
        return replace(
            now,
            plan=plan,
            policy=now.policy if now.view else plan.policy,
            events=mark.upto,
            at=place,
            before=before,
            fixed=now.fixed or "this is a past request; it cannot be changed",
            reported=mark.reported if now.view else None,
        )

    async def _plan(self, opened: OpenSession, place: int) -> ContextPlan:
        plans = self._plans
        if place not in plans:
            made = await asyncio.wrap_future(background(lambda: self._planned(opened, place)))
            if len(plans) >= REMEMBERED:
                plans.pop(next(iter(plans)))
            plans[place] = made
        return plans[place]

    def _planned(self, opened: OpenSession, place: int) -> ContextPlan:
        if opened.recorded is not None and opened.view == "recorded":
            return opened.recorded.plan(place)
        mark = opened.requests.marks[place]
        events = opened.events[: mark.upto]
        what_if = opened.recorded is not None
        model = (mark.model if what_if else setting(events, "model")) or opened.setup.model
        policy = (not what_if and setting(events, "policy")) or opened.policy
        knobs = (not what_if and knobs_of(events)) or opened.knobs
        source = Source(opened.name, list(events), model, policy, False, opened.session is None)
        try:
            setup = make_setup(self._services, self._options, source, policy, knobs, opened.recorded, place)
        except WorkbenchError:  # a policy of that time that is gone: the one of today stands in
            setup = opened.setup
        made = setup.plan(events)
        return made if what_if else made.as_reported(mark.reported)
