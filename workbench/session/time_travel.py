"""Time travel: the context as it was when a request was made. Runs in the session's thread."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from workbench.config.background import in_background
from workbench.config.errors import WorkbenchError
from workbench.config.values import replace
from workbench.context.plan import ContextPlan
from workbench.context.policy_names import RECORDED
from workbench.context.setup import Setup
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.own_requests import OwnRequests
from workbench.sources.recorded import EARLIER
from workbench.sources.requests import RequestMark, is_main
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source
from workbench.sources.source_setups import make_setup
from workbench.views.compaction_values import PastOffer
from workbench.views.compaction_view import past_offer
from workbench.views.context_view import ContextView

if TYPE_CHECKING:
    from workbench.lab.replay.lab_source import LabSource

REMEMBERED = 16
"""Plans of past requests that are kept, for stepping back and forth."""


def place_after(marks: Sequence[RequestMark], here: int, by: int, *, alone: bool = False) -> int:
    """The request `by` steps from `here`. After the last request comes the next one, which is not made yet.

    `alone`: skip side requests and requests of sub-agents.
    """
    stops = [at for at, mark in enumerate(marks) if mark.purpose == "turn" or not alone]
    stops.append(len(marks))
    at = bisect_left(stops, here) + by if by < 0 else bisect_right(stops, here) - 1 + by
    return stops[max(0, min(at, len(stops) - 1))]


class Destination(NamedTuple):
    """A request to go to."""

    opened: OpenSession
    is_recorded: bool
    """Whether another agent recorded the request; else it is ours."""
    place: int


class TimeTravel:
    """Plans prefixes of a log, each with the policy and the model of that time."""

    def __init__(self, services: Services, options: Options) -> None:
        self._services = services
        self._options = options
        self._plans: dict[int, ContextPlan] = {}
        self._wanted: Destination | None = None
        self._going = False
        self._own: tuple[OpenSession, OwnRequests] | None = None
        self._replayed: tuple[OpenSession, tuple[int, str], LabSource] | None = None
        """The session of another agent that was replayed last, how many events it had, and the model."""
        self._view: ContextView | None = None
        """The past request that was shown last."""

    def view(self, opened: OpenSession) -> ContextView | None:
        """The past request on the screen; None: the screen shows the present."""
        return self._view if self.place(opened) is not None else None

    def place(self, opened: OpenSession) -> int | None:
        """The index of the past request on the screen; None: the screen shows the present.

        It is also None after another agent's session was continued here.
        """
        wanted = self._wanted
        is_recorded = opened.recorded is not None
        return wanted.place if wanted is not None and wanted.is_recorded == is_recorded else None

    def return_to_next(self) -> None:
        """Return to the present, perhaps of another session."""
        self._wanted = self._view = None
        self.forget()

    def forget(self) -> None:
        """Drop all plans, because the setup has changed, or the file of a policy. A plan that is being made is not kept
        either."""
        self._plans = {}
        if self._replayed is not None:
            self._replayed[2].forget_plan()

    async def show_request(self, opened: OpenSession, place: int, show: Callable[[ContextView], None]) -> None:
        """Show the context of a request. If more are asked for meanwhile, only the last is sure to be shown."""
        if not 0 <= place < len(opened.requests.marks):
            return
        self._wanted = Destination(opened, opened.recorded is not None, place)
        if self._going:
            return  # the call that runs already will show it
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
        plans = self._plans  # others take their place when something else is opened, or read again, meanwhile
        before = await self._plan(plans, opened, place - 1) if place else None
        plan = await self._plan(plans, opened, place)
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

    async def _plan(self, plans: dict[int, ContextPlan], opened: OpenSession, place: int) -> ContextPlan:
        if place not in plans:
            first = max(0, place - EARLIER) if self._begins_again(plans, opened, place) else place
            made = await in_background(self._planned_in_order, opened, range(first, place + 1))
            for at, plan in made.items():
                plans.pop(at, None)
                if len(plans) >= REMEMBERED:
                    plans.pop(next(iter(plans)))
                plans[at] = plan
        plans[place] = plans.pop(place)  # the one that was not asked for longest is dropped first
        return plans[place]

    def _begins_again(self, plans: dict[int, ContextPlan], opened: OpenSession, place: int) -> bool:
        """Whether the log would be gone through from its start, now and at the next step back."""
        if opened.recorded is None or place - 1 in plans:
            return False
        if opened.view == "recorded":
            return not opened.recorded.is_remembered(place)
        return place + 1 in plans  # another policy's plans take longer on the way

    def _planned_in_order(self, opened: OpenSession, places: Sequence[int]) -> dict[int, ContextPlan]:
        """The plans of requests, of which only the last was asked for: others that cannot be planned are left out."""
        made = {}
        for place in places[:-1]:
            with suppress(WorkbenchError):
                made[place] = self._planned(opened, place)
        return {**made, places[-1]: self._planned(opened, places[-1])}

    def _planned(self, opened: OpenSession, place: int) -> ContextPlan:
        mark, recorded = opened.requests.marks[place], opened.recorded
        if recorded is None:
            return self._own_requests(opened).plan(place, mark)
        if opened.view == "recorded":
            return recorded.plan(place)
        lab = self._lab(opened)
        number = lab.number_of(place + 1) if opened.policy != RECORDED else None
        if number is not None:
            return lab.plan_request(number, opened.policy, opened.knobs)
        events = opened.events[: mark.upto] if mark.exact else recorded.made_from(mark)
        return self._setup(opened, place).plan(events, thinking=mark.exact)

    def _lab(self, opened: OpenSession) -> LabSource:
        """The session to replay: a policy that is tried on a past request decides from the first request on."""
        from workbench.lab.replay.lab_source import LabSource  # late: only a what-if needs it

        known, model = self._replayed, opened.setup.model
        asked = (len(opened.events), model)
        if known is None or known[0] is not opened or known[1] != asked:
            source = as_source(opened.name, list(opened.events), is_file=opened.session is None)
            source = source._replace(model=model, recorded=True, knobs=())
            made = LabSource(self._services, replace(self._options, policy="", model=model, knobs=()), source)
            self._replayed = known = (opened, asked, made)
        return known[2]

    def _own_requests(self, opened: OpenSession) -> OwnRequests:
        known = self._own
        if known is None or known[0] is not opened:
            self._own = known = (opened, OwnRequests(self._services, opened.events))
        return known[1]

    def _setup(self, opened: OpenSession, place: int) -> Setup:
        """The setup of a request. For a recorded one: the setup of the policy that is tried on it."""
        mark, recorded = opened.requests.marks[place], opened.recorded
        if recorded is None:
            return self._own_requests(opened).setup(mark.upto)
        model, events = mark.model or opened.setup.model, list(opened.events[: mark.upto])
        source = Source(opened.name, events, model, opened.policy, False, opened.session is None)
        try:
            return make_setup(self._services, self._options, source, opened.policy, opened.knobs, recorded, place)
        except WorkbenchError:  # another model's window may not hold what the options ask for
            return opened.setup

    def offer(self, opened: OpenSession, shown: ContextView) -> tuple[PastOffer, Callable[[], PastOffer]] | None:
        """What could have been compacted at the request on the screen: a first value, and a function for the full one.

        None: the screen shows the present, or the newest request of another agent, which represents the present.
        """
        if shown.at is None or (shown.view and shown.is_newest):
            return None
        at, mark, main = shown.at, shown.requests[shown.at], is_main(shown.requests)
        past, events = PastOffer(at + 1, shown.plan.size), opened.events[: mark.upto]
        if not main(mark):
            past = past._replace(nothing="this is a side request, outside the conversation")
            return past, lambda: past
        return past, lambda: past_offer(past, self._setup(opened, at), events)
