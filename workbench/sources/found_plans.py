"""Finds the plan of a request in a source: as it was sent, or as another policy would send it."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from workbench.config.errors import WrongCall
from workbench.context.plan import ContextPlan
from workbench.context.policy_names import DEFAULT, RECORDED
from workbench.context.setup import Setup
from workbench.sources.options import Options
from workbench.sources.own_requests import OwnRequests
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source
from workbench.sources.source_setups import make_setup


class FoundPlan(NamedTuple):
    """A plan, and which request it is for."""

    plan: ContextPlan
    setup: Setup
    source: Source
    view: Literal["recorded", "what-if"]
    """recorded: what was sent, or what our session sends next; what-if: what another policy would send."""
    reported: int | None = None
    """The tokens that the provider reported for the recorded request, even if the plan is a what-if."""
    number: int | None = None
    """The number of the request in the source; None: the next one."""
    requests: int = 0
    body: dict[str, Any] | None = None
    """The body as it was sent, if it is in the log."""
    by_hand: bool = False
    """Whether a person answered it instead of the model."""
    recorded: RecordedSession | None = None
    """The requests of the source, if another agent recorded it and the plan is the recorded one."""


def find_plan(
    services: Services, source: Source, asked: Options, nth: int | None = None, at: int | None = None
) -> FoundPlan:
    """The plan of one request of a source.

    `nth`: which one; without it the last that was reported, or the next one of our own session. `at`: the request made
    from the log up to that event. Any option makes it a what-if.
    """
    wishes = bool(asked.knobs or asked.model or asked.window or asked.reserve or asked.policy not in ("", RECORDED))
    view: Literal["recorded", "what-if"] = "what-if" if wishes else "recorded"
    recorded = RecordedSession(services, asked, source)
    shown, place = source, None
    if at is not None:
        shown = _upto(source, at)
        place = recorded.place_of(at)
    elif nth is not None or (source.recorded and not source.decided):
        place = recorded.place(nth)
    mark = None if place is None else recorded.marks[place]
    number = None if place is None else place + 1
    if source.recorded and place is not None and mark is not None and not wishes:
        return FoundPlan(
            recorded.plan(place),
            recorded.setup(mark.model),
            source,
            view,
            mark.reported,
            number,
            len(recorded.marks),
            recorded.body(place),
            mark.by_hand,
            recorded,
        )
    shown = shown if mark is None else _upto(source, mark.upto)
    if not source.recorded and not wishes and shown is not source:
        own, length = OwnRequests(services, source.events), len(shown.events)
        setup = own.setup(length)
        made = own.plan_upto(length) if place is None or mark is None else own.plan(place, mark)
    elif not source.recorded:
        setup = services.set_up(asked, shown)
        made = setup.plan(shown.events, live=shown.live)
    else:
        model = asked.model or (mark.model if mark is not None else "") or source.model
        policy = asked.policy or source.policy or (services.settings.policy or DEFAULT if wishes else RECORDED)
        knobs = (*source.knobs, *asked.knobs)
        upto = at if mark is None else None
        setup = make_setup(services, asked, shown._replace(model=model), policy, knobs, recorded, place, upto)
        whole = mark is not None and mark.exact
        made = setup.plan(shown.events if mark is None or whole else recorded.made_from(mark), thinking=whole)
    return FoundPlan(made, setup, source, view, mark.reported if mark else None, number, len(recorded.marks))


def _upto(source: Source, seq: int) -> Source:
    last = source.events[-1].seq if source.events else 0
    if not 0 <= seq <= last:
        raise WrongCall(f"--at: expected a seq from 0 to {last}, got {seq}")
    return as_source(source.name, source.events[:seq], is_file=source.is_file)
