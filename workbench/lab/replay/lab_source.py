"""Replays a session under a policy, request by request.

The log is followed once per policy, and each step costs only what it changes (`context/steps`). What the session's own
agent removed or summarised counts only under `recorded`. Any other policy gets the whole past to decide about, and its
compactions are made where it would have made them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import zip_longest
from typing import NamedTuple

from workbench.compaction.compactor import DIGEST
from workbench.compaction.facts import Mentions
from workbench.compaction.record import read_details
from workbench.compaction.values import FactKind
from workbench.config.errors import Refused
from workbench.config.garbage import collector_paused
from workbench.context.load import RECORDED
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.context.steps import SENT_STATES, CellChange, PlanStep, PlanSteps
from workbench.lab.caching import CacheUse, cache_rules, minutes_kept, request_price
from workbench.lab.replay.available_facts import AvailableFacts
from workbench.lab.replay.compactions import Connect, LabCompactor, LabLog
from workbench.lab.replay.needs import Needs, text_for_model
from workbench.lab.replay.recorded_cache import RecordedCache, ReportedRequest, reported_use
from workbench.lab.replay.rewinding import undone_by
from workbench.lab.replay.unattributed import Unattributed, unattributed_tokens
from workbench.lab.values import LabCompaction, LabPoint, Miss, PolicyRun
from workbench.lab.waste.costs import WasteMeter, WasteReport
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Event,
    Override,
    Revert,
    SlotContent,
    SystemMessage,
    ToolCall,
    Usage,
    UserMessage,
)
from workbench.models.calibration import Calibration
from workbench.models.catalogue import ModelInfo
from workbench.models.tokens import TokenCounter
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.requests import RequestMark, is_main, not_sent
from workbench.sources.services import Services
from workbench.sources.source import Source


class LabAnswer(NamedTuple):
    """The answer to a request. It is the same under every policy."""

    events: Sequence[Event]
    at: int
    """When it began; 0: no answer came."""
    report: Usage | None
    tokens: int
    """Tokens of the answer: as reported, or as counted if there is no report."""


MASKED = "lab.mask"
"""The id of a mask that only the lab made."""
LIMIT = "budget.max_input_tokens="
"""The knob that limits how much of the window a session may use."""


class LabSource:
    """A session to replay, read once for all policies."""

    def __init__(self, services: Services, options: Options, source: Source, *, summarise: bool = False) -> None:
        """`summarise`: ask a model for the summaries of compactions, which costs money."""
        self.services = services
        self.options = options
        self.source = source
        self.summarise = summarise
        self.recorded = RecordedSession(services, options, source)
        self.mentions = Mentions(remember=True)
        self._counter: TokenCounter | None = None
        """Shared by all policies, so that each text is counted and cut once."""
        self._planned: tuple[tuple[str, tuple[str, ...]], _Replay] | None = None
        """The replay of the request that was planned last, which later requests continue."""
        self.stopped = False
        """Set this to stop replays that run in other threads."""
        main = is_main(self.recorded.marks)
        unsent = not_sent(self.recorded.marks)
        self.marks: Sequence[RequestMark] = [
            mark for mark in self.recorded.marks if main(mark) and mark.seq not in unsent
        ]
        """The requests of the conversation itself."""
        self.side_requests = sum(not main(mark) for mark in self.recorded.marks)
        """How many other requests the session made, for sub-agents and titles. No policy decides about them."""

    def number_of(self, listed: int) -> int | None:
        """The number of a request that `workbench requests` lists under another; None if it is not replayed."""
        mark = self.recorded.marks[listed - 1]
        return next((number for number, each in enumerate(self.marks, 1) if each is mark), None)

    @cached_property
    def needs(self) -> Needs:
        """The facts that its answers use."""
        return Needs(self.source.events)

    @cached_property
    def answers(self) -> Sequence[LabAnswer]:
        """The answer to each request."""
        events, count = self.source.events, self.setup(RECORDED).counter.count
        made: list[LabAnswer] = []
        for mark, following in zip_longest(self.marks, [mark.upto for mark in self.marks[1:]]):
            answers = [
                each for each in events[mark.upto : following] if isinstance(each.body, AssistantMessage | ToolCall)
            ]
            body = events[mark.usage - 1].body if mark.usage else None
            report = body if isinstance(body, Usage) else None
            reported = report.completion if report is not None else 0
            tokens = reported or sum(count(text).tokens for text in map(text_for_model, answers))
            made.append(LabAnswer(answers, answers[0].at if answers else 0, report, tokens))
        return made

    @cached_property
    def cache_minutes(self) -> int:
        """How many minutes its agent keeps the provider's cache. The same is assumed under every policy."""
        return minutes_kept(answer.report for answer in self.answers if answer.report is not None)

    @cached_property
    def without_decisions(self) -> Sequence[Event]:
        """The log without the decisions of its agent or its user that made room."""
        events = self.source.events
        undone = undone_by(events) if self.source.recorded else frozenset()
        decisions = (Compaction, Override, Revert)
        return [event for event in events if event.seq in undone or not isinstance(event.body, decisions)]

    @property
    def calibration(self) -> Calibration | None:
        """How the reports correct our counts, if another agent made the session."""
        return self.recorded.calibration(self.source.model) if self.source.recorded else None

    def setup(self, policy: str, knobs: Sequence[str] = ()) -> Setup:
        """The setup for one policy. The calibration and the session's own limit apply to every policy."""
        held = [each for each in self.source.knobs if each.startswith(LIMIT)] if self.options.window is None else []
        asked = replace(self.options, policy=policy, knobs=(*held, *knobs))
        made = self.services.set_up(asked, self.source._replace(knobs=()))
        self._counter = self._counter or made.counter
        made = replace(made, counter=self._counter)
        learnt = self.calibration
        return made.with_calibration(learnt, learnt.rest) if learnt is not None else made

    def run_policy(self, policy: str, knobs: Sequence[str] = ()) -> PolicyRun:
        """Replay all requests under one policy; `recorded` is what was sent."""
        with collector_paused():
            return self._as_recorded.run if policy == RECORDED else self._replay(policy, knobs).replay_session()

    def run_masked(self, number: int, masked: Collection[int]) -> PolicyRun:
        """Replay what was sent, with some events masked from a request (numbered from 1) on."""
        with collector_paused():
            return _Replay(self, self.setup(RECORDED), self.source.events, masked=(number, masked)).replay_session()

    def plan_request(self, number: int, policy: str, knobs: Sequence[str] = ()) -> ContextPlan:
        """Plan one request (numbered from 1) under a policy, after all that the policy did before it."""
        key, replay = self._planned or (None, None)
        asked = (policy, tuple(knobs))
        if replay is None or key != asked or replay.number > number:
            replay = self._replay(policy, knobs)
        self._planned = asked, replay
        return replay.plan(number)

    def _replay(self, policy: str, knobs: Sequence[str]) -> _Replay:
        if policy == RECORDED:
            return _Replay(self, self.setup(policy), self.source.events, WasteMeter(self.source.events))
        return _Replay(self, self.setup(policy, knobs), self.without_decisions)

    @property
    def connect(self) -> Connect | None:
        """Opens a connection to the model that summarises; None where no model is asked."""
        if not self.summarise:
            return None
        from workbench.sources.compactors import compactor_for  # late: it imports everything that a turn needs

        return partial(compactor_for, self.services, self.options)

    @property
    def waste(self) -> WasteReport:
        """What its requests carried without need."""
        return self._as_recorded.waste

    @property
    def known_otherwise(self) -> frozenset[_Use]:
        """Facts that its model used without having them in the request: known otherwise, put together, or guessed."""
        return self._as_recorded.known

    @property
    def recorded_cache(self) -> RecordedCache:
        """What its reports show of the provider's cache."""
        return self._as_recorded.cache

    @cached_property
    def _as_recorded(self) -> _AsRecorded:
        setup, meter = self.setup(RECORDED), WasteMeter(self.source.events)
        replay = _Replay(self, setup, self.source.events, meter)
        made = replay.replay_session()
        waste = meter.waste_report(setup.info, lambda text: setup.counter.count(text).tokens)
        return _AsRecorded(made, waste, RecordedCache(replay.reported, self.cache_minutes), frozenset(replay.known))

    @cached_property
    def unattributed(self) -> Sequence[Unattributed]:
        """The tokens of each request that are not in the log. They are the same under every policy."""
        setup = self.setup(RECORDED)
        if self.calibration is None:
            return [Unattributed(setup.limits.unattributed)] * len(self.marks)
        return unattributed_tokens(self.recorded, self.marks, setup, self.source.events)


_Use = tuple[int, FactKind, str]
"""The answer, the kind of a fact, and the fact that it uses."""


class _AsRecorded(NamedTuple):
    """What following the recorded session gives."""

    run: PolicyRun
    waste: WasteReport
    cache: RecordedCache
    known: frozenset[_Use]
    """The facts that answers used although no item of the recorded request held them."""


class _Replay:
    def __init__(
        self,
        lab: LabSource,
        setup: Setup,
        events: Sequence[Event],
        meter: WasteMeter | None = None,
        masked: tuple[int, Collection[int]] = (0, ()),
    ) -> None:
        """`meter`: measures waste while the recorded session is followed; None under any other policy.

        `masked`: a request, and the events that are masked from it on.
        """
        self._lab = lab
        self._masked = masked
        self._setup = setup
        self._events = events
        self._meter = meter
        self._recorded = recorded = meter is not None
        self._log = LabLog(setup)
        self._steps = PlanSteps()
        self._compactor = LabCompactor(setup, self._log, lab.services.catalogue, lab.mentions, lab.connect)
        self._compacts = self._compactor.active and not recorded
        self._available = AvailableFacts(lab.needs)
        self._at = 0
        self._touched: dict[str, set[int]] = {"truncated": set(), "masked": set(), "dropped": set()}
        self._changed: dict[int, str] = {}
        """The new states of items since the request before, by event. A compaction may change them before the next."""
        self._invalid = 0
        self._same = -1
        """How many tokens this request shares with the beginning of the one before. -1: nothing was sent yet."""
        self._points: list[LabPoint] = []
        self._misses: list[Miss] = []
        self._compactions: list[LabCompaction] = []
        self._cost: float | None = 0.0
        self._reread = 0
        self._reread_cost: float | None = 0.0
        self._sent_at = 0
        self._extra = Unattributed()
        self._ahead = 0
        """Tokens that the request before had in front of the log."""
        self._model = ""
        """The model of the request before."""
        self.reported: list[ReportedRequest | None] = []
        """What each report shows, while the recorded session is followed."""
        self.known: set[_Use] = set()
        """What was used without being there, while the recorded session is followed."""

    @property
    def number(self) -> int:
        """The number of the request that it has come to."""
        return len(self._points)

    def plan(self, number: int) -> ContextPlan:
        for each in range(self.number + 1, number + 1):
            self._follow(each)
        plan = self._log.whole_plan()
        size = self._extra.request_size(plan.totals.tokens)
        if self._recorded:
            return plan.as_reported(self._lab.marks[number - 1].reported, size - plan.totals.tokens)
        return plan.counted_as(size)

    def _follow(self, number: int) -> None:
        """Continue to the next request."""
        if self._lab.stopped:
            raise Refused("the replay was stopped")
        mark = self._lab.marks[number - 1]
        self._add_events(mark.upto, number)
        if number == self._masked[0]:
            masks = (Override("mask", seq, seq) for seq in sorted(self._masked[1]))
            self._log.append_events([Event(mark.upto, MASKED, 0, mask) for mask in masks])
        self._extra = self._lab.unattributed[number - 1]
        self._log.set_unattributed(self._extra.tokens)
        step = self._stepped()
        if self._compacts:
            step = self._compacted(step, number, turn_over=False)
        self._request(number, mark, step, self._lab.answers[number - 1])

    def replay_session(self) -> PolicyRun:
        for number in range(1, len(self._lab.marks) + 1):
            self._follow(number)
        if self._meter is not None:
            self._log.append_events(self._events[self._at :])
            self._meter.note_changes(self._steps.step(self._log.planner).changes)
        self._setup.counter.flush()
        return PolicyRun(
            self._setup.loaded.policy.name,
            self._setup.limits.window,
            tuple(self._points),
            tuple(self._compactions),
            tuple(self._misses),
            len(self._touched["truncated"]),
            len(self._touched["masked"]),
            len(self._touched["dropped"]),
            self._cost,
            self._invalid,
            self._compactor.summariser.model,
            self._reread,
            self._reread_cost,
            self._setup.limits.window_source == "guess",
        )

    # Up to the next request

    def _add_events(self, upto: int, number: int) -> None:
        """Add the events before a request. Where a turn ends, a compaction may be due."""
        fresh: list[Event] = []
        while self._at < len(self._events) and self._events[self._at].seq <= upto:
            event = self._events[self._at]
            self._at += 1
            body = event.body
            if isinstance(body, Compaction):
                self._note_recorded(event, number)
            if isinstance(body, SystemMessage | SlotContent):
                self._available.add_fixed_event(event.seq)
            if self._compacts:
                if isinstance(body, UserMessage) and self._points:
                    self._log.append_events(fresh)
                    fresh = []
                    self._compacted(self._stepped(), number, turn_over=True)
                self._compactor.note_event(event)
            fresh.append(event)
        self._log.append_events(fresh)

    def _note_recorded(self, event: Event, number: int) -> None:
        assert isinstance(event.body, Compaction)
        meta = event.body.meta
        sizes = [meta.get(name) if isinstance(meta.get(name), int) else 0 for name in ("tokens_before", "tokens_after")]
        made_by = read_details(meta).made_by or ""
        self._compactions.append(LabCompaction(number, sizes[0] or 0, sizes[1] or 0, 0, 0.0, made_by))

    def _compacted(self, step: PlanStep, number: int, *, turn_over: bool) -> PlanStep:
        made = self._compactor.compact_if_due(step.outline, turn_over=turn_over)
        info = self._compactor.summariser.info
        for draft in made:
            source, text = draft.preview.source_tokens, draft.text_tokens
            cost = None if draft.made_by == DIGEST else draft.cost
            cost = request_price(info.for_request(source), CacheUse(0, 0, source), text) if cost is None else cost
            before, after, lost = draft.preview.tokens_before, draft.tokens_after, len(draft.audit.lost)
            problem = "; ".join(draft.problems)
            self._compactions.append(LabCompaction(number, before, after, lost, cost, draft.made_by, problem))
            self._spend(cost)
        if not made:
            return step
        step = self._stepped()
        self._log.forget_summarised()
        return step

    def _stepped(self) -> PlanStep:
        step = self._steps.step(self._log.planner)
        self._same = step.same if self._same < 0 else min(self._same, step.same)
        self._changed.update((change.cell.seq, change.after) for change in step.changes)
        self._available.apply_changes(step.changes, step.outline.items.summaries)
        if self._meter is not None:
            self._meter.note_changes(step.changes)
        self._invalid += any(map(self._breaks_pair, step.changes))
        return step

    def _breaks_pair(self, change: CellChange) -> bool:
        cell = change.cell
        if cell.partner < 0 or cell.unit < 0:
            return False
        return (change.after in SENT_STATES) != (self._steps.state(cell.partner) in SENT_STATES)

    # One request

    def _request(self, number: int, mark: RequestMark, step: PlanStep, answer: LabAnswer) -> None:
        now = step.outline
        for seq, state in self._changed.items():
            if state in self._touched:
                self._touched[state].add(seq)
        self._changed.clear()
        size, fits = self._extra.request_size(now.tokens), now.fits
        if self._recorded:
            size = mark.reported if mark.reported is not None else size
            fits = size <= now.limits.window
        sent_at = answer.at or self._sent_at
        idle = sent_at - self._sent_at if self._sent_at else 0
        info = self._info(mark)
        same_model = mark.model == self._model or bool(self._lab.options.model)
        shared = self._shared(size)
        use = self._reported_use(number, size, shared, answer.report)
        if use is None:
            use = self._cache_use(info, mark.cached, size, shared, idle if same_model else None)
        self._sent_at, self._ahead, self._model = sent_at, self._extra.tokens, mark.model
        self._same = now.tokens
        misses = self._find_misses(answer, number)
        self._misses += misses
        self._price_rereading(misses, info, size)
        self._points.append(LabPoint(number, mark.upto, size, fits, use.read, use.written, len(misses)))
        if self._meter is not None:
            self._meter.note_request(number, mark.upto, size, use)
        self._spend(request_price(info.for_request(size), use, answer.tokens))

    def _find_misses(self, answer: LabAnswer, number: int) -> list[Miss]:
        """What the answer needed and the policy had removed. Where the recorded request lacked it too, the model had it
        from elsewhere, and no policy is to blame."""
        found = {(each.used, each.kind, each.fact): each for each in self._available.find_misses(answer.events, number)}
        if self._recorded:
            self.known.update(found)
            return []
        known = self._lab.known_otherwise
        return [each for use, each in found.items() if use not in known]

    def _price_rereading(self, misses: Sequence[Miss], info: ModelInfo, size: int) -> None:
        """Add what it costs to get the facts back: the request once more, from the cache, with the items behind it."""
        if not misses:
            return
        count, events = self._setup.counter.count, self._lab.source.events
        tokens = sum(count(text_for_model(events[seq - 1])).tokens for seq in {miss.held for miss in misses})
        self._reread += tokens
        more = request_price(info.for_request(size + tokens), CacheUse(size, tokens, 0), 0)
        self._reread_cost = None if more is None or self._reread_cost is None else self._reread_cost + more

    def _info(self, mark: RequestMark) -> ModelInfo:
        """The model that the request was for; the session's model where an option names one or no price is known."""
        known = self._lab.services.catalogue.find_model(mark.model)
        own = not self._lab.options.model and mark.model != self._setup.model and known.input_price is not None
        return known if own else self._setup.info

    def _shared(self, size: int) -> int:
        """How many tokens a request of this size shares with the beginning of the one before."""
        if not self._points:
            return 0
        ahead = min(self._extra.tokens, self._ahead)
        return min(size, Unattributed(ahead, self._extra.share).request_size(max(0, self._same)))

    def _reported_use(self, number: int, size: int, shared: int, report: Usage | None) -> CacheUse | None:
        """The use of the cache as far as there is a report; None where there is none."""
        if not self._recorded:
            cache = self._lab.recorded_cache
            return cache.use_of(number, size, shared) if cache.is_reported(number) else None
        use = reported_use(report, size) if report is not None and report.prompt is not None else None
        self.reported.append(ReportedRequest(use, shared) if use is not None else None)
        return use

    def _cache_use(self, info: ModelInfo, cached: int, size: int, shared: int, idle: int | None) -> CacheUse:
        """By the provider's rules. `idle`: milliseconds since the request before; None: that was for another model."""
        rules = cache_rules(info, self._lab.cache_minutes)
        if not self._points:  # another session of the agent may have cached the system prompt and the tools
            return rules.cache_use(size, min(cached, self._extra.tokens), 0)
        return rules.cache_use(size, shared, idle) if idle is not None else rules.cache_use(size, 0, 0)

    def _spend(self, cost: float | None) -> None:
        self._cost = None if cost is None or self._cost is None else self._cost + cost
