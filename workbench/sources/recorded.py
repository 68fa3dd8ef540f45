"""The recorded view: another agent's session as it happened, request by request, matching the reported tokens.

A request is planned with the policy `recorded`, which cuts nothing, from what the log held before its answer. What the
provider reported beyond our count is in no row but in `unattributed`, so that both add up to the report. The reports
also calibrate our counts (`models/calibration`): rows have the counts that this session's provider would make, and
requests without a report are estimated.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.garbage import collector_paused
from workbench.config.values import replace
from workbench.context.plan import ContextPlan, Totals, Verdict
from workbench.context.planner import Planner
from workbench.context.policy_names import RECORDED
from workbench.context.setup import Setup
from workbench.log.events import Event, Purpose
from workbench.models.calibration import NOTHING, Calibration, Calibrator, PastThinking, ReportedSize, TokensOutsideRows
from workbench.models.families import extra_framing, tokenizer_factor
from workbench.sources.options import Options
from workbench.sources.report_lessons import ReportLesson, first_learnt_from
from workbench.sources.request_plans import RequestPlans
from workbench.sources.requests import RequestMark, RequestMarks, is_main, last_reported
from workbench.sources.services import Services
from workbench.sources.source import Source, recorded_end
from workbench.sources.thinking import ThinkingSoFar
from workbench.wire.requests import RequestBodies

BY_HAND = "answered by hand, so nothing was sent"
NO_TOTALS = Totals(0, 0, 0, 0)
EARLIER = 8
"""Requests that are planned together with a later one: the log is gone through forwards, so that each step back would
begin at its start again."""


class ListedRequest(NamedTuple):
    """A request, with our count and the reported one."""

    number: int
    mark: RequestMark
    tokens: int
    unattributed: int | None
    """None if nothing was reported."""
    changed: frozenset[str] = frozenset()
    """For a request sent in place of another: the hashes of the messages that differ."""
    known_rest: TokensOutsideRows = NOTHING
    """The known part of `unattributed`: a system prompt and tools, thinking."""


class RecordedSession:
    """The requests of a log that another agent wrote."""

    def __init__(self, services: Services, options: Options, source: Source) -> None:
        self._services = services
        self._options = options
        self._source = source
        self.events = list(source.events)
        """A copy: what is decided here later does not change what was recorded."""
        self._setups: dict[str, Setup] = {}
        self._tried: tuple[Setup, int, tuple[int, ...]] | None = None
        """The last setup that sizes were asked for, the number of events then, and the sizes."""
        self.growing_marks = RequestMarks()
        """Marks that grow with the log; `marks` do not."""
        self.growing_marks.catch_up(source.events)
        found = self.growing_marks.marks
        self.marks: Sequence[RequestMark] = [
            each if each.model else each._replace(model=source.model) for each in found
        ]
        self._is_main = is_main(self.marks)
        self._unattributed: dict[int, int] = {}
        """Of the requests that were planned."""

    def with_model(self, model: str) -> RecordedSession:
        """The same session where its next request goes to another model, as when it is opened with that model."""
        made = RecordedSession(self._services, self._options, self._source._replace(model=model, events=self.events))
        made._source = made._source._replace(events=self._source.events)
        return made

    # Planning

    def setup(self, model: str) -> Setup:
        """The setup for one of the session's models, calibrated by its reports."""
        learnt = self.calibration(model)
        rest = self.unattributed(None) if model == self._source.model else learnt.rest
        return self._plain_setup(model).with_calibration(learnt, rest)

    def _plain_setup(self, model: str) -> Setup:
        if model not in self._setups:
            asked = replace(self._options, policy=RECORDED, knobs=(), model=model)
            self._setups[model] = self._services.set_up(asked, self._source._replace(knobs=())).plain
        return self._setups[model]

    def counted_together(self, setup: Setup) -> Setup:
        """A setup for one of the session's models that counts with our counter, which knows the texts already."""
        return replace(setup, counter=self._plain_setup(setup.model).counter)

    def _calibrated_setup(self, model: str) -> Setup:
        """Like `setup` without an estimate of what is not in the log: for a reported request that is known."""
        return self._plain_setup(model).with_calibration(self.calibration(model), 0)

    def plan(self, at: int) -> ContextPlan:
        """The plan of a request as it was sent, by its index among the marks."""
        mark = self.marks[at]
        if mark.exact or self.holds_contents(mark):
            made = self._plans.plan(mark)
        else:
            made = replace(self._calibrated_setup(mark.model).plan(()), totals=NO_TOTALS)
        self._plain_setup(mark.model).counter.flush()
        made = made.as_reported(mark.reported, self._rest(at, made.totals), self._outside_rows(mark), mark.exact)
        self._unattributed[at] = made.unattributed
        return replace(made, verdict=Verdict("fits", BY_HAND)) if mark.by_hand else made

    def holds_contents(self, mark: RequestMark) -> bool:
        """Whether the log has what a request was made from: not so for sub-agents' requests and for titles."""
        return self._is_main(mark) or mark.purpose == "compaction"

    def made_from(self, mark: RequestMark) -> Sequence[Event]:
        """The events that a request was made from, as far as the log has them."""
        return self.events[: mark.upto] if self.holds_contents(mark) else ()

    def plan_upto(self, upto: int) -> ContextPlan:
        """The plan of the request made from the log up to an event; if none was, of an estimated one."""
        place = self.place_of(upto)
        if place is not None:
            return self.plan(place)
        mark = self._next._replace(upto=upto)
        made = self._plans.plan(mark)
        if upto > self._recorded_next.upto:
            rest = self._next_unattributed
        else:
            counted = RequestPlans(self.events, self._bodies, self._plain_setup).plan(mark).totals
            rest = self._estimated(mark, counted) - made.totals.tokens if self.lessons else 0
        setup = self._plain_setup(mark.model).with_calibration(self.calibration(mark.model), rest)
        return replace(setup.plan(self.events[:upto]), known_rest=self._outside_rows(mark))

    def place_of(self, upto: int) -> int | None:
        """The index of the reported request of the conversation that was made from the log up to an event."""
        main = self._is_main
        return next(
            (at for at, mark in enumerate(self.marks) if mark.upto == upto and mark.reported and main(mark)), None
        )

    def _rest(self, at: int, totals: Totals) -> int:
        """Tokens of an unreported request outside its rows, estimated from the reports before it, else from all."""
        if self.marks[at].reported is not None or not self.lessons:
            return 0
        counted = self._counted.get(at) or self._counted_before.get(at)
        return 0 if counted is None else self._estimated(self.marks[at], counted) - totals.tokens

    def _estimated(self, mark: RequestMark, counted: Totals) -> int:
        """Tokens of a request, estimated from the reports before it. `counted`: without any factor."""
        before = self.lessons[: bisect_right(self.lessons, mark.upto, key=lambda each: each.mark.upto)]
        same = (each.learnt for each in reversed(before) if each.mark.model == mark.model)
        learnt = next(same, before[-1].learnt if before else self.calibration(mark.model))
        return learnt.estimate(counted.items, counted.framing, self._thought(mark))

    def _outside_rows(self, mark: RequestMark) -> TokensOutsideRows:
        """What is known about a request's content outside its rows."""
        if mark.exact or not self.lessons or not self._is_main(mark):
            return NOTHING
        return self.calibration(mark.model).tokens_outside_rows(self._thought(mark))

    def _thought(self, mark: RequestMark) -> PastThinking:
        """The thinking before a request that is in none of its rows."""
        return PastThinking() if mark.exact else self._thinking.before(mark.upto)

    @cached_property
    def _thinking(self) -> ThinkingSoFar:
        main = self._is_main
        reports = {mark.usage for mark in self.marks if main(mark)}
        counter, factor = self._plain_setup(self._source.model).counter, tokenizer_factor(self._source.model)
        return ThinkingSoFar(self.events, reports, lambda text: round(factor * counter.count(text).tokens))

    @cached_property
    def _next(self) -> RequestMark:
        """The request that would come next."""
        purpose: Purpose = next((mark.purpose for mark in self.marks if self._is_main(mark)), "turn")
        return RequestMark(len(self.events), 0, self._source.model, purpose=purpose)

    @cached_property
    def _recorded_next(self) -> RequestMark:
        """The request that would have come next if nothing had been decided here."""
        return self._next._replace(upto=recorded_end(self.events) or len(self.events))

    @cached_property
    def _first_learnt_from(self) -> Mapping[str, int]:
        return first_learnt_from(self.marks, self._is_main)

    @cached_property
    def _counted(self) -> Mapping[int, Totals]:
        """By index: our count of the requests of the conversation from the first that is learnt from, without factors;
        after the last one, that of a request with all that was recorded."""
        first = self._first_learnt_from
        counted = [at for at, mark in enumerate(self.marks) if at >= first.get(mark.model, 0)]
        return self._counts([*counted, len(self.marks)])

    @cached_property
    def _counted_before(self) -> Mapping[int, Totals]:
        """The same for requests without a report that come before those."""
        first = self._first_learnt_from
        marks = enumerate(self.marks)
        return self._counts(at for at, mark in marks if mark.reported is None and at < first.get(mark.model, 0))

    def _counts(self, places: Iterable[int]) -> dict[int, Totals]:
        plans, main = RequestPlans(self.events, self._bodies, self._plain_setup, sizes=True), self._is_main
        marks = (*self.marks, self._recorded_next)
        with collector_paused():
            return {at: plans.totals(marks[at]) for at in places if main(marks[at])}

    def unattributed(self, at: int | None) -> int:
        """The tokens of a request outside its rows, under any policy; None: the next request."""
        if at is None:
            return self._next_unattributed
        if at not in self._unattributed:
            steps_back = at + 1 in self._unattributed
            for each in range(max(0, at - EARLIER) if steps_back else at, at):
                with suppress(WorkbenchError):  # only the last is asked for
                    self.plan(each)
            self.plan(at)
        return self._unattributed[at]

    @cached_property
    def _next_unattributed(self) -> int:
        """Of what was recorded: decisions made here change the rows of the next request, and nothing else."""
        if not self.lessons:
            return 0
        self._keep_shown_first()
        counted = self._counted[len(self.marks)]
        return self._estimated(self._recorded_next, counted) - self._plans.totals(self._recorded_next).tokens

    @cached_property
    def next_size(self) -> int:
        """The tokens of the next request; never below 0, like a plan's."""
        rest = self._next_unattributed
        self._keep_shown_first()
        return max(0, self._plans.totals(self._next).tokens + rest)

    def _keep_shown_first(self) -> None:
        """Remember the requests that a screen begins with, before the plans go on to the end of the log."""
        for at in self._shown_first:
            if self.holds_contents(self.marks[at]):
                self._plans.keep_request(self.marks[at])

    def is_remembered(self, at: int) -> bool:
        """Whether a request can be planned without going through the log again."""
        return self._plans.is_kept(self.marks[at])

    @cached_property
    def _shown_first(self) -> range:
        """The newest request, with which a screen begins, and those before it, to which a user may step back."""
        newest = self.newest
        return range(0) if newest is None else range(max(0, newest - 1 - EARLIER), newest + 1)

    def planner(self, setup: Setup, *, live: bool) -> Planner:
        """A planner of the whole log. If it counts and cuts as the record does, nothing is counted again."""
        if not setup.counts_like(self._calibrated_setup(self._source.model)):
            return setup.planner(self.events, live=live)
        return self._plans.planner(self._next).planner_under(setup.loaded.policy, setup.limits, live=live)

    @cached_property
    def _all_totals(self) -> Sequence[Totals]:
        """Our calibrated count of each request."""
        found = self._calibrated_counts(range(len(self.marks)))
        return [found.get(at, NO_TOTALS) for at in range(len(self.marks))]

    def _calibrated_counts(self, places: Iterable[int]) -> dict[int, Totals]:
        """By index; of requests outside the conversation that were not written down, only the report is known."""
        plans, marks = RequestPlans(self.events, self._bodies, self._calibrated_setup, sizes=True), self.marks
        with collector_paused():
            return {at: plans.totals(marks[at]) for at in places if marks[at].exact or self.holds_contents(marks[at])}

    def body(self, at: int) -> dict[str, Any] | None:
        """A request as it went over the wire, if the log has it."""
        mark = self.marks[at]
        return self._bodies.body(mark.request) if mark.exact else None

    @cached_property
    def _bodies(self) -> RequestBodies:
        return RequestBodies(self.events)

    @cached_property
    def _plans(self) -> RequestPlans:
        return RequestPlans(self.events, self._bodies, self._calibrated_setup)

    @property
    def newest(self) -> int | None:
        """The index of the last reported request of the conversation itself; None if there is none."""
        main = self._is_main
        return None if self.place(None) is None else max(at for at, mark in enumerate(self.marks) if main(mark))

    def place(self, number: int | None, option: str = "--nth") -> int | None:
        """The index of the N-th request; without a number, of the last reported one, else of the last exact one.

        `option`: the option that the number was given with, for messages.
        """
        if number is None:
            main, last = self._is_main, last_reported(self.marks)
            exact = (at for at in reversed(range(len(self.marks))) if self.marks[at].exact and main(self.marks[at]))
            return next(exact, None) if last < 0 else last
        if not 1 <= number <= len(self.marks):
            held = f"a number from 1 to {len(self.marks)}" if self.marks else "none: it holds no request"
            raise WrongCall(f"{option}: expected {held}, got {number}")
        return number - 1

    @cached_property
    def listed(self) -> Sequence[ListedRequest]:
        """All requests in order."""
        found = []
        for number, (mark, totals) in enumerate(zip(self.marks, self._all_totals, strict=True), 1):
            rest = None if mark.reported is None else mark.reported - totals.tokens
            known_rest = NOTHING if mark.reported is None else self._outside_rows(mark)
            found.append(ListedRequest(number, mark, totals.tokens, rest, self._changed(mark), known_rest))
        return found

    @property
    def spread(self) -> float | None:
        """The largest error of nine of ten estimates, as a share; None: too few reports."""
        return self.calibration(self._source.model).spread

    def _changed(self, mark: RequestMark) -> frozenset[str]:
        if not mark.instead_of or not mark.exact:
            return frozenset()
        return frozenset(self._bodies.hashes(mark.request)).difference(self._bodies.hashes(mark.instead_of))

    def counts_by_report(self) -> Mapping[int, int]:
        """Our count of each reported request, by the event of its report."""
        return {each.mark.usage: each.tokens for each in self.listed if each.mark.usage}

    @property
    def unreported(self) -> Mapping[int, int]:
        """The approximate size of each unreported request, by its index."""
        found = self._calibrated_counts(at for at, mark in enumerate(self.marks) if mark.reported is None)
        return {at: totals.tokens + self._rest(at, totals) for at, totals in found.items() if totals.tokens}

    @cached_property
    def conversation(self) -> Sequence[RequestMark]:
        """The reported requests of the conversation itself."""
        return [mark for mark in self.marks if mark.reported and mark.purpose == "turn"]

    def sizes_under(self, setup: Setup) -> tuple[int, ...]:
        """The sizes of the conversation's requests, and of the next one, with another setup."""
        events = self._source.events
        if self._tried is None or self._tried[0] is not setup or self._tried[1] != len(events):
            planner, sizes = setup.planner(), []
            for upto in (*(mark.upto for mark in self.conversation), len(events)):
                planner.extend(events[len(planner.events) : upto])
                sizes.append(planner.plan().size)
            setup.counter.flush()
            self._tried = (setup, len(events), tuple(sizes))
        return self._tried[2]

    # Calibration

    @cached_property
    def lessons(self) -> Sequence[ReportLesson]:
        """One for each report of the conversation itself, in order."""
        main = self._is_main
        if not any(mark.reported and main(mark) for mark in self.marks):
            return []
        learners: dict[str, Calibrator] = {}
        numbers: Counter[str] = Counter()
        found: list[ReportLesson] = []
        for at, mark in enumerate(self.marks):
            totals = self._counted.get(at)
            if mark.reported and totals is not None:
                model = mark.model
                learner = learners.get(model)
                if learner is None:
                    learner = learners[model] = Calibrator(model, tokenizer_factor(model), extra_framing(model))
                learner.add_report(ReportedSize(totals.items, totals.framing, mark.reported, self._thought(mark)))
                numbers[model] += 1
                found.append(ReportLesson(mark, learner, numbers[model]))
        for learner in learners.values():
            learner.learn()  # rows are shown with the calibration of all reports together
        return found

    @cached_property
    def _last_lessons(self) -> Mapping[str, ReportLesson]:
        return {lesson.mark.model: lesson for lesson in self.lessons}

    def calibration(self, model: str) -> Calibration:
        """The calibration for a model. A model without reports gets the fixed part of the others."""
        last = self._last_lessons.get(model)
        if last is not None:
            return last.learnt
        fixed = self.lessons[-1].learnt.fixed if self.lessons else 0
        return Calibration(model, tokenizer_factor(model), fixed, extra_framing(model), rest=fixed)
