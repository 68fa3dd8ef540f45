"""The recorded view: another agent's session as it happened, request by request, to the token that was reported.

A request is planned under the policy `recorded`, which cuts nothing, from what the log held before its answer. What the
provider reported beyond our count is in no row but in `unattributed`, so that both add up to the report. The reports
also teach how to count (`models/calibration`): the rows carry counts as this session's provider makes them, and what
was not reported is estimated with what was learnt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from workbench.config.errors import WrongCall
from workbench.context.load import DEFAULT, RECORDED
from workbench.context.plan import ContextPlan, Verdict
from workbench.context.setup import Setup
from workbench.models.calibration import Calibration, Calibrator, ReportedSize
from workbench.models.families import tokenizer_factor
from workbench.session.options import Options
from workbench.session.request_plans import RequestPlans
from workbench.session.requests import RequestMark, RequestMarks, is_main, last_reported
from workbench.session.services import Services
from workbench.session.source import Source
from workbench.wire.requests import RequestBodies

BY_HAND = "answered by hand, so nothing was sent"


class ListedRequest(NamedTuple):
    """A request, and our count of it beside what was reported."""

    number: int
    mark: RequestMark
    tokens: int
    unattributed: int | None
    """None where nothing was reported."""
    changed: frozenset[str] = frozenset()
    """Of one that was sent in place of another: the hashes of the messages that it has in other words."""


class Lesson(NamedTuple):
    """What one report taught."""

    mark: RequestMark
    estimated: int | None
    """The estimate made from the reports before it; None where there were none for its model."""
    learnt: Calibration
    """What is known from here on."""


class RecordedSession:
    """The requests of a log that another agent wrote."""

    def __init__(self, services: Services, options: Options, source: Source) -> None:
        self._services = services
        self._options = options
        self._source = source
        self._setups: dict[str, Setup] = {}
        self._tried: tuple[Setup, int, tuple[int, ...]] | None = None
        """The setup under which sizes were asked for last, of how many events, and they."""
        self._next = (-1, 0)
        """Of how many events the size of the next request was asked for last, and it."""
        marks = RequestMarks()
        for event in source.events:
            marks.add(event)
        self.marks: Sequence[RequestMark] = [each._replace(model=each.model or source.model) for each in marks.marks]

    # Planning

    def setup(self, model: str) -> Setup:
        """For one of the session's models, with what its reports have taught."""
        learnt = self.calibration(model)
        return self._plain_setup(model).with_calibration(learnt, learnt.rest)

    def _plain_setup(self, model: str) -> Setup:
        if model not in self._setups:
            asked = replace(self._options, policy=RECORDED, knobs=(), model=model)
            self._setups[model] = self._services.set_up(asked, self._source._replace(knobs=())).plain
        return self._setups[model]

    def _calibrated_setup(self, model: str) -> Setup:
        """The same without an estimate of what is not in the log: of a request that was reported it is known."""
        return self._plain_setup(model).with_calibration(self.calibration(model), 0)

    def plan(self, at: int) -> ContextPlan:
        """A request as it was sent, by its place among the marks."""
        mark = self.marks[at]
        made = self._plans.plan(mark)
        self._plain_setup(mark.model).counter.flush()
        made = made.as_reported(mark.reported, self._rest(mark), whole=mark.exact)
        return replace(made, verdict=Verdict("fits", BY_HAND)) if mark.by_hand else made

    def _rest(self, mark: RequestMark) -> int:
        """What a request that was not reported had beside its rows, by the reports before it, else by the first."""
        before = next((each for each in reversed(self.lessons) if each.mark.upto <= mark.upto), None)
        return before.learnt.rest if before is not None else self.calibration(mark.model).fixed

    def unattributed(self, at: int | None) -> int:
        """What a request has beside the rows, whatever policy it is planned under; None: the next one."""
        if at is None:
            return self.calibration(self._source.model).rest
        return self.plan(at).unattributed

    def body(self, at: int) -> dict[str, Any] | None:
        """A request as it went over the wire, where the log has it."""
        mark = self.marks[at]
        return self._bodies.body(mark.request) if mark.exact else None

    @cached_property
    def _bodies(self) -> RequestBodies:
        return RequestBodies(self._source.events)

    @cached_property
    def _plans(self) -> RequestPlans:
        return RequestPlans(self._source.events, self._bodies, self._calibrated_setup)

    @property
    def newest(self) -> int | None:
        """The place of the last request of the conversation itself; None where none of them was reported."""
        main = is_main(self.marks)
        return None if self.place(None) is None else max(at for at, mark in enumerate(self.marks) if main(mark))

    def place(self, number: int | None, option: str = "--nth") -> int | None:
        """The place of the N-th request; without a number, of the last that was reported, else of the last exact one.

        `option`: where the number was given.
        """
        if number is None:
            main, last = is_main(self.marks), last_reported(self.marks)
            exact = (at for at in reversed(range(len(self.marks))) if self.marks[at].exact and main(self.marks[at]))
            return next(exact, None) if last < 0 else last
        if not 1 <= number <= len(self.marks):
            held = f"a number from 1 to {len(self.marks)}" if self.marks else "none: it holds no request"
            raise WrongCall(f"{option}: expected {held}, got {number}")
        return number - 1

    @cached_property
    def listed(self) -> Sequence[ListedRequest]:
        """All requests in order."""
        plans = RequestPlans(self._source.events, self._bodies, self._calibrated_setup, sizes=True)
        found, main = [], is_main(self.marks)
        for number, mark in enumerate(self.marks, 1):
            # Of what was asked beside the conversation, and neither written down nor reported, nothing is known.
            is_known = mark.exact or mark.reported is not None or main(mark)
            tokens = plans.plan(mark).totals.tokens if is_known else 0
            rest = None if mark.reported is None else mark.reported - tokens
            found.append(ListedRequest(number, mark, tokens, rest, self._changed(mark)))
        return found

    @property
    def spread(self) -> float | None:
        """How far nine of ten estimates were off at most, as a share; None: there were too few reports."""
        return self.calibration(self._source.model).spread

    def _changed(self, mark: RequestMark) -> frozenset[str]:
        if not mark.instead_of or not mark.exact:
            return frozenset()
        return frozenset(self._bodies.hashes(mark.request)).difference(self._bodies.hashes(mark.instead_of))

    @property
    def estimates(self) -> Mapping[int, int]:
        """Our count of each request that was reported, by the event of its report."""
        return {each.mark.usage: each.tokens for each in self.listed if each.mark.usage}

    @property
    def unreported(self) -> Mapping[int, int]:
        """About how large each request was that nobody reported, by its place."""
        found = ((at, each) for at, each in enumerate(self.listed) if each.mark.reported is None and each.tokens)
        return {at: each.tokens + self._rest(each.mark) for at, each in found}

    @cached_property
    def conversation(self) -> Sequence[RequestMark]:
        """The requests of the conversation itself that were reported."""
        return [mark for mark in self.marks if mark.reported and mark.purpose == "turn"]

    @property
    def next_size(self) -> int:
        """What the next request would have."""
        events = self._source.events
        if self._next[0] != len(events):
            self._next = (len(events), self.setup(self._source.model).plan(events).size)
        return self._next[1]

    def sizes_under(self, setup: Setup) -> tuple[int, ...]:
        """The sizes that the requests of the conversation, and the next one, would have under another setup."""
        events = self._source.events
        if self._tried is None or self._tried[0] is not setup or self._tried[1] != len(events):
            planner, sizes = setup.planner(), []
            for upto in (*(mark.upto for mark in self.conversation), len(events)):
                planner.extend(events[len(planner.events) : upto])
                sizes.append(planner.plan().size)
            setup.counter.flush()
            self._tried = (setup, len(events), tuple(sizes))
        return self._tried[2]

    # What the reports teach

    @cached_property
    def lessons(self) -> Sequence[Lesson]:
        """One for each report of the conversation itself, in order: the estimate made before it, and what it taught."""
        plans = RequestPlans(self._source.events, self._bodies, self._plain_setup, sizes=True)
        learners: dict[str, Calibrator] = {}
        found = []
        main = is_main(self.marks)
        for mark in self.marks:
            if mark.reported and main(mark):
                totals = plans.plan(mark).totals
                learner = learners.setdefault(mark.model, Calibrator(mark.model, tokenizer_factor(mark.model)))
                before = learner.calibration
                learner.add(ReportedSize(totals.items, totals.framing, mark.reported))
                estimated = before.estimate(totals.items, totals.framing) if before.samples else None
                found.append(Lesson(mark, estimated, learner.calibration))
        return found

    @cached_property
    def _learnt(self) -> Mapping[str, Calibration]:
        return {lesson.mark.model: lesson.learnt for lesson in self.lessons}

    def calibration(self, model: str) -> Calibration:
        """What the reports for a model have taught. Of one without any, the fixed part is that of the others."""
        found = self._learnt.get(model)
        if found is not None:
            return found
        fixed = self.lessons[-1].learnt.fixed if self.lessons else 0
        return Calibration(model, tokenizer_factor(model), fixed, fixed)

    def estimate(self, upto: int) -> int | None:
        """What a request made from the log up to an event would have been, by the reports before it; None: none."""
        before = next((lesson for lesson in reversed(self.lessons) if lesson.mark.upto <= upto), None)
        if before is None:
            return None
        totals = self._plain_setup(before.mark.model).plan(self._source.events[:upto]).totals
        return before.learnt.estimate(totals.items, totals.framing)


def make_setup(
    services: Services,
    options: Options,
    source: Source,
    policy: str,
    knobs: Sequence[str],
    recorded: RecordedSession | None = None,
    at: int | None = None,
) -> Setup:
    """A setup for a source; what the command line says of the window holds for as long as the program runs.

    Where another agent recorded the source, its reports tell how to count, and what requests have beside the log; `at`:
    which of its requests is planned.
    """
    made = services.set_up(
        replace(options, policy=policy, knobs=tuple(knobs), model=source.model), source._replace(knobs=())
    )
    if policy == RECORDED:
        made = made.compacting_like(services.own_policy(source.model))
    if recorded is None:
        return made
    made = made.summarised_by(services.default_model)
    return made.with_calibration(recorded.calibration(source.model), recorded.unattributed(at))


def set_up(services: Services, options: Options, source: Source) -> Setup:
    """A setup for a source as the screen opens it: what another agent recorded is planned as it was recorded."""
    if not source.recorded:
        return services.set_up(options, source)
    source = source._replace(model=options.model or source.model)
    recorded, policy = RecordedSession(services, options, source), policy_for(services, options, source)
    return make_setup(services, options, source, policy, (*source.knobs, *options.knobs), recorded)


def policy_for(services: Services, options: Options, source: Source) -> str:
    """What a source is opened under: what the user asked for, what it says itself, or what it is."""
    default = RECORDED if source.recorded else services.settings.policy or DEFAULT
    return options.policy or source.policy or default
