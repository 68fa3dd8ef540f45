"""One session under one policy, request by request.

The log is followed once, and each step costs only what it changes (`context/steps`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from workbench.compaction.compactor import DIGEST
from workbench.compaction.record import read_details
from workbench.compaction.values import FactKind
from workbench.config.errors import Refused
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.context.steps import SENT_STATES, CellChange, PlanStep, PlanSteps
from workbench.lab.caching import CacheUse, request_price
from workbench.lab.replay.available_facts import AvailableFacts
from workbench.lab.replay.compactions import LabCompactor, LabLog
from workbench.lab.replay.recorded_cache import RecordedCache
from workbench.lab.replay.replay_costs import ReplayCosts
from workbench.lab.replay.replayed_session import LabAnswer, ReplayedSession
from workbench.lab.replay.unattributed import Unattributed
from workbench.lab.values import LabCompaction, LabPoint, Miss, PolicyRun
from workbench.lab.waste.costs import WasteMeter
from workbench.log.events import Compaction, Event, Override, SlotContent, SystemMessage, UserMessage
from workbench.sources.requests import RequestMark

MASKED = "lab.mask"
"""The id of a mask that only the lab made."""

FactUse = tuple[int, FactKind, str]
"""The answer, the kind of a fact, and the fact that it uses."""


class RecordedFindings(NamedTuple):
    """What following the recorded session shows. It holds under every policy."""

    cache: RecordedCache
    known_otherwise: frozenset[FactUse]
    """Facts that its model used without having them in the request: known otherwise, put together, or guessed."""


class PolicyReplay:
    """Follows a session's requests under one policy."""

    def __init__(
        self,
        session: ReplayedSession,
        setup: Setup,
        events: Sequence[Event],
        findings: RecordedFindings | None = None,
        meter: WasteMeter | None = None,
        masked: tuple[int, Collection[int]] = (0, ()),
    ) -> None:
        """`findings`: None to follow the recorded session itself, which makes them. `meter`: measures its waste.

        `masked`: a request, and the events that are masked from it on.
        """
        self._session = session
        self._masked = masked
        self._setup = setup
        self._events = events
        self._meter = meter
        self._findings = findings
        self._log = LabLog(setup)
        self._steps = PlanSteps()
        self._compactor = LabCompactor(setup, self._log, session.services.catalogue, session.mentions, session.connect)
        self._compacts = self._compactor.active and findings is not None
        self._available = AvailableFacts(session.needs)
        self._costs = ReplayCosts(session, setup, findings.cache if findings is not None else None)
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
        self._extra = Unattributed()
        self._known: set[FactUse] = set()
        """What was used without being there, while the recorded session is followed."""

    def recorded_findings(self) -> RecordedFindings:
        """What was found, once the recorded session is replayed."""
        return RecordedFindings(
            RecordedCache(self._costs.reported, self._session.cache_minutes), frozenset(self._known)
        )

    @property
    def number(self) -> int:
        """The number of the request that it has come to."""
        return len(self._points)

    def plan(self, number: int) -> ContextPlan:
        for each in range(self.number + 1, number + 1):
            self._follow(each)
        plan = self._log.whole_plan()
        size = self._extra.request_size(plan.totals.tokens)
        if self._findings is None:
            return plan.as_reported(self._session.marks[number - 1].reported, size - plan.totals.tokens)
        return plan.counted_as(size)

    def _follow(self, number: int) -> None:
        """Continue to the next request."""
        if self._session.stopped:
            raise Refused("the replay was stopped")
        mark = self._session.marks[number - 1]
        self._add_events(mark.upto, number)
        if number == self._masked[0]:
            masks = (Override("mask", seq, seq) for seq in sorted(self._masked[1]))
            self._log.append_events([Event(mark.upto, MASKED, 0, mask) for mask in masks])
        self._extra = self._session.unattributed[number - 1]
        self._log.set_unattributed(self._extra.tokens)
        step = self._stepped()
        if self._compacts:
            step = self._compacted(step, number, turn_over=False)
        self._request(number, mark, step, self._session.answers[number - 1])

    def replay_session(self) -> PolicyRun:
        for number in range(1, len(self._session.marks) + 1):
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
            self._costs.total,
            self._invalid,
            self._compactor.summariser.model,
            self._costs.reread_tokens,
            self._costs.rereading,
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
        sizes = (meta.get(name, 0) for name in ("tokens_before", "tokens_after"))
        before, after = (size if isinstance(size, int) else 0 for size in sizes)
        made_by = read_details(meta).made_by or ""
        self._compactions.append(LabCompaction(number, before, after, 0, 0.0, made_by))

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
            self._costs.add_cost(cost)
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
        if self._findings is None:
            size = mark.reported if mark.reported is not None else size
            fits = size <= now.limits.window
        use = self._costs.add_request(number, mark, size, self._same, self._extra, answer)
        self._same = now.tokens
        misses = self._find_misses(answer, number)
        self._misses += misses
        self._costs.add_rereading(mark, size, {miss.held for miss in misses})
        self._points.append(LabPoint(number, mark.upto, size, fits, use.read, use.written, len(misses)))
        if self._meter is not None:
            self._meter.note_request(number, mark.upto, size, use)

    def _find_misses(self, answer: LabAnswer, number: int) -> list[Miss]:
        """What the answer needed and the policy had removed. Where the recorded request lacked it too, the model had it
        from elsewhere, and no policy is to blame."""
        found = {(each.used, each.kind, each.fact): each for each in self._available.find_misses(answer.events, number)}
        if self._findings is None:
            self._known.update(found)
            return []
        return [each for use, each in found.items() if use not in self._findings.known_otherwise]
