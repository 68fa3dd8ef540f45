"""Makes the compactions that a policy would have made, with the digest or with the model itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from workbench.compaction.compactor import Compactor
from workbench.compaction.facts import Mentions
from workbench.compaction.record import CATEGORY, read_record
from workbench.compaction.triggers import ATTEMPTS, compacts_at, decide_compaction, size_limit
from workbench.compaction.values import CompactionRefused, SummaryDraft, Trigger
from workbench.config.errors import WorkbenchError
from workbench.config.values import replace
from workbench.context.control import CONTROL, compaction_range
from workbench.context.outline import Outline
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.setup import Setup
from workbench.log.events import AssistantMessage, Compaction, Event, Failure, ToolCall, UserMessage
from workbench.models.catalogue import Catalogue
from workbench.sources.request_plans import names_of

Connect = Callable[[Setup], AbstractAsyncContextManager[Compactor]]
"""Opens a compactor that can ask the model of a setup."""
MADE = "lab.compaction"
"""The id of a compaction that only the lab made."""
_NO_ANSWER = ("model: ", "timeout: ")
"""How problems begin that the next summary would have as well."""


class LabLog:
    """A log under one policy, with the compactions that the policy makes.

    Events that a compaction covers are dropped from the planner, so that a long session costs no more than the sum of
    its parts. Each time, a check makes sure that this changes no size. A later event that refers to a dropped one
    brings all of them back.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._events: list[Event] = []
        self._names: set[str] = set()
        """Calls and replies that were dropped from the planner."""
        self._unattributed = setup.limits.unattributed
        self.planner = setup.planner()

    def set_unattributed(self, tokens: int) -> None:
        """Set how many tokens the requests have from here on that are not in the log."""
        self._unattributed = tokens
        self.planner.set_unattributed(tokens)

    def _planned_from_scratch(self) -> Planner:
        made = self._setup.planner(self._events)
        made.set_unattributed(self._unattributed)
        return made

    def append_events(self, events: Sequence[Event]) -> None:
        """Add events to the log."""
        self._events += events
        if self._names and any(not self._names.isdisjoint(names_of(event)) for event in events):
            self._names = set()
            self.planner = self._planned_from_scratch()
        else:
            self.planner.extend(events)

    def append_compaction(self, event: Event) -> None:
        """Add a compaction to the log."""
        self._events.append(event)
        self.planner.append_event(event)

    def forget_summarised(self) -> None:
        """Drop the events that the last compaction covers, but not those it keeps or that the next one reads again."""
        events = self.planner.events
        at = max(at for at, event in enumerate(events) if isinstance(event.body, Compaction))
        body = events[at].body
        assert isinstance(body, Compaction)
        first, last = compaction_range(events[at])
        users = [event.seq for event in events if isinstance(event.body, UserMessage)]
        kept = {*users[-1:], *(each.seq for each in body.kept)}
        end = self._read_no_more(users, last)
        gone = {
            event.seq
            for event in events
            if event.seq < end and event.seq >= first and event.seq not in kept and type(event.body) not in CONTROL
        }
        names: dict[bool, set[str]] = {True: set(), False: set()}
        for event in events:
            names[event.seq in gone].update(names_of(event))
        shorter = self.planner.without(gone) if names[True].isdisjoint(names[False]) else None
        if shorter is not None and _sizes(shorter) == _sizes(self.planner):
            self._names |= names[True]
            self.planner = shorter

    def _read_no_more(self, users: Sequence[int], last: int) -> int:
        """The event before which no later compaction reads again what this one covers. It covers up to `last`."""
        policy = self._setup.loaded.policy.compaction
        if policy.update:
            return last + 1
        turns = [seq for seq in users if seq <= last]
        return turns[-policy.overlap - 1] if policy.selection == "sliding" and len(turns) > policy.overlap else 0

    def whole_plan(self) -> ContextPlan:
        """The plan from the whole log, with a row for every event."""
        return self._planned_from_scratch().plan()


def _sizes(planner: Planner) -> tuple[int, int]:
    now = planner.outline()
    return now.tokens, now.framing_tokens


class LabCompactor:
    """Compacts when a session under the policy would. Where the policy would ask the user, the answer is yes."""

    def __init__(
        self, setup: Setup, log: LabLog, catalogue: Catalogue, mentions: Mentions, connect: Connect | None = None
    ) -> None:
        """`mentions`: the facts in this session's texts, shared by all policies. `connect`: opens a connection to the
        model that summarises; without it the digest writes the summaries."""
        self._setup = setup
        self._connect = connect
        self._policy = setup.loaded.policy.compaction
        self._compactor = Compactor(setup, None, catalogue=catalogue, mentions=mentions)
        self._log = log
        self._trigger_events: list[Event] = []
        """The events that triggers look at: user messages, compactions, and the last answer."""
        self._count = 0
        """How many compactions were made."""
        self._limit_known: int | None = None
        self._turns = 0
        """User messages after what is summarised."""
        self._idle = False
        """Whether nothing can be compacted until the next turn."""
        self._failed: tuple[str, ...] = ()
        """Why the model did not answer. Then it is not asked again for the other summaries."""
        self._held: tuple[object, ...] = ()
        """The state in which a trigger fired without effect. While it is the same, the trigger is not tried again."""

    @property
    def summariser(self) -> Setup:
        """The setup of the model that the policy asks for summaries."""
        return self._compactor.summariser

    @property
    def active(self) -> bool:
        """Whether the policy compacts at all."""
        return self._policy.automatic

    def note_event(self, event: Event) -> None:
        """Note an event that a trigger may depend on."""
        body = event.body
        if isinstance(body, UserMessage):
            self._turns, self._idle, self._held = self._turns + 1, False, ()
            self._trigger_events.append(event)
        elif isinstance(body, AssistantMessage | ToolCall):
            if self._trigger_events and isinstance(self._trigger_events[-1].body, AssistantMessage | ToolCall):
                self._trigger_events.pop()
            self._trigger_events.append(event)

    def compact_if_due(self, now: Outline, *, turn_over: bool) -> list[SummaryDraft]:
        """Make the compactions that are due now and add them to the log."""
        found: list[SummaryDraft] = []
        while len(found) < ATTEMPTS and self._may_be_due(now, turn_over):
            policy, events = self._policy, self._trigger_events
            holds = (self._turns, turn_over, now.overflows, now.items.leaves_out)
            if holds == self._held:
                break
            decision = decide_compaction(
                now.plan(), events, read_record(events), policy, headless=False, turn_over=turn_over
            )
            idle = self._idle and decision.trigger != "overflow"
            if decision.action == "none" or decision.trigger is None or idle:
                self._held = holds if decision.held or idle else ()
                break
            draft = self._draft(decision.trigger, decision.why)
            if draft is None:
                break
            found.append(draft)
            now = self._log.planner.outline()
        return found

    def _may_be_due(self, now: Outline, turn_over: bool) -> bool:
        """A cheap check, because it is made for every request."""
        policy, fits = self._policy, not now.overflows
        if not self.active or (policy.max_compactions and self._count >= policy.max_compactions and fits):
            return False
        if policy.turns and self._turns - (not turn_over) >= policy.turns:
            return True
        by_new = policy.measure == "since_compaction"
        size = now.slots["history"] + now.slots["turn"] if by_new else now.size
        return size >= self._limit(now) > 0 or not fits or now.items.leaves_out

    def _limit(self, now: Outline) -> int:
        """The size from which on a trigger may fire. It is the same for all requests."""
        if self._limit_known is None:
            by_new = self._policy.measure == "since_compaction"
            limit = size_limit(self._policy, now.limits.window) if by_new else compacts_at(self._policy, now.plan())
            self._limit_known = limit
        return self._limit_known

    def _draft(self, trigger: Trigger, why: str) -> SummaryDraft | None:
        events = self._log.planner.events
        try:
            draft, body = self._drafted(events, trigger, why)
        except CompactionRefused as refused:
            self._idle = refused.kind == "nothing"
            if not self._idle:
                self._trigger_events.append(
                    Event(events[-1].seq, "", events[-1].at, Failure(CATEGORY, f"{refused.kind}: {refused}"))
                )
            return None
        made = Event(events[-1].seq + 1, f"{MADE}.{len(self._trigger_events)}", events[-1].at, body)
        self._log.append_compaction(made)
        self._trigger_events.append(made)
        self._count += 1
        covered = compaction_range(made)[1]
        self._turns = sum(isinstance(event.body, UserMessage) and event.seq > covered for event in self._trigger_events)
        return draft

    def _drafted(self, events: Sequence[Event], trigger: Trigger, why: str) -> tuple[SummaryDraft, Compaction]:
        """Ask the model where there is a connection; if that fails, use the digest and note the problem."""
        if self._connect is not None and not self._failed:
            try:
                made = asyncio.run(self._asked(self._connect, events, trigger, why))
                self._failed = tuple(each for each in made[0].problems if each.startswith(_NO_ANSWER))
                return made
            except CompactionRefused:
                raise
            except WorkbenchError as error:
                self._failed = (str(error),)
        planner = self._log.planner.at_this_moment()
        preview = self._compactor.preview(events, trigger, why, planner=planner)  # without a model: for the digest
        draft = replace(self._compactor.digested(events, preview), problems=self._failed)
        return draft, self._compactor.body(draft)

    async def _asked(
        self, connect: Connect, events: Sequence[Event], trigger: Trigger, why: str
    ) -> tuple[SummaryDraft, Compaction]:
        async with connect(self._setup) as compactor:
            preview = compactor.preview(events, trigger, why, planner=self._log.planner.at_this_moment())
            draft = await compactor.draft(events, preview)
            return draft, compactor.body(draft)
