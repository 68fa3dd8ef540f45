"""Time travel: the context as it was when a request was made. Lives in the session's thread."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from workbench.config.background import background
from workbench.config.errors import WorkbenchError
from workbench.context.plan import ContextPlan
from workbench.session.context_view import ContextView
from workbench.session.open_session import OpenSession
from workbench.session.options import Options
from workbench.session.recorded import make_setup
from workbench.session.services import Services
from workbench.session.source import Source, knobs_of, setting

REMEMBERED = 16
"""Plans of the past that are kept, for stepping to and fro."""


class TimeTravel:
    """Plans prefixes of a log, each under the policy and for the model that held then."""

    def __init__(self, services: Services, options: Options) -> None:
        self._services = services
        self._options = options
        self._plans: dict[int, ContextPlan] = {}
        self._wanted: int | None = None

    @property
    def is_away(self) -> bool:
        """Whether something other than now is shown."""
        return self._wanted is not None

    def home(self) -> None:
        """Back to now, perhaps of another session."""
        self._wanted = None
        self._plans.clear()

    def forget(self) -> None:
        """Plans were made with what no longer holds."""
        self._plans.clear()

    async def shown(self, opened: OpenSession, place: int) -> ContextView | None:
        """The context of a request; None where another one was asked for meanwhile, or there is no such request."""
        if not 0 <= place < len(opened.requests.marks):
            return None
        self._wanted = place
        before = await self._plan(opened, place - 1) if place else None
        plan = await self._plan(opened, place)
        if self._wanted != place:
            return None
        now = opened.shown()
        return replace(
            now,
            plan=plan,
            policy=plan.policy,
            events=opened.requests.marks[place].upto,
            at=place,
            before=before,
            fixed="this is how it was; what was sent cannot be changed",
        )

    async def _plan(self, opened: OpenSession, place: int) -> ContextPlan:
        if place not in self._plans:
            made = await asyncio.wrap_future(background(lambda: self._planned(opened, place)))
            if len(self._plans) >= REMEMBERED:
                self._plans.pop(next(iter(self._plans)))
            self._plans[place] = made
        return self._plans[place]

    def _planned(self, opened: OpenSession, place: int) -> ContextPlan:
        if opened.recorded is not None:
            return opened.recorded.plan(place)
        mark = opened.requests.marks[place]
        events = opened.events[: mark.upto]
        model = setting(events, "model") or opened.setup.model
        policy = setting(events, "policy") or opened.policy
        source = Source(opened.name, list(events), model, policy, False, opened.session is None)
        try:
            setup = make_setup(self._services, self._options, source, policy, knobs_of(events) or opened.knobs)
        except WorkbenchError:  # a policy of that time that is gone: the one of today stands in
            setup = opened.setup
        return setup.plan(events).as_reported(mark.reported)
