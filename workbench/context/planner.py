"""The planner: `plan(log, policy, budget) -> ContextPlan`, from scratch or one event at a time.

It is incremental: appending an event to a log of any length costs the same, because the conversation keeps running sums
over the units, and the two cuts are found in them by bisection. What changes the past (a compaction, a revert, a late
result) rebuilds the conversation; an override updates only the units it covers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from operator import attrgetter

from workbench.config.garbage import collector_paused
from workbench.config.values import replace
from workbench.context import fixed_slots, fold
from workbench.context.arrange import Arrangement, base_of, synthetic_item
from workbench.context.budget import Limits
from workbench.context.control import CONTROL, InEffect, apply_override, compaction_range, in_effect, span_words
from workbench.context.conversation import Conversation
from workbench.context.items import Item
from workbench.context.measure import Meter
from workbench.context.outline import Outline
from workbench.context.plan import ContextPlan
from workbench.context.plan_items import PlacedSummary
from workbench.context.policy import Policy
from workbench.context.stages import normalise
from workbench.context.staging import StagedConversation, run_stages
from workbench.log.events import (
    Body,
    Compaction,
    Event,
    Hold,
    Override,
    Request,
    RequestAnswer,
    RequestPart,
    Revert,
    Setting,
    SlotContent,
    ToolCall,
    UserMessage,
)
from workbench.models.tokens import TokenCounter
from workbench.wire.event_builder import is_sealed

_SAY_NOTHING = (Setting, Request, RequestPart, RequestAnswer, Hold)
"""Control events that change no plan."""
_body_of = attrgetter("body")
TRIED = "compaction.draft"
"""The id of a compaction that is in no log."""


class Planner:
    """Plans one log with one policy, as it grows."""

    def __init__(
        self,
        policy: Policy,
        limits: Limits,
        counter: TokenCounter,
        *,
        model: str = "",
        provider: str = "openai",
        live: bool = False,
        thinking: bool = False,
        own_tools: bool = False,
        own_parts: bool = False,
        events: Iterable[Event] = (),
    ) -> None:
        """`live`: calls without a result in the newest reply are still running; otherwise they never returned.
        `thinking`: the model's thinking is part of the request. `own_tools`: tools are sent as they are described.
        `own_parts`: parts of messages are sent as they came.
        """
        self.policy = policy
        self.limits = limits
        self._model = model
        self._live = live
        self._meter = Meter(policy, limits, counter, model, provider)
        self._meter.sends_thinking = thinking
        self._meter.sends_own_tools = own_tools
        self._meter.sends_own_parts = own_parts
        self._events: list[Event] = []
        self._controls: list[Event] = []
        self._in_effect = InEffect()
        self._ordered = True
        self._conversation = Conversation(self._meter, fold.Preconditions())
        self._summaries: tuple[PlacedSummary, ...] = ()
        self._base = base_of(fixed_slots.FixedSlots(), (), self._meter)
        self._parts = self._arranged()
        self._built = 0
        """How many events the log had when the conversation was last built."""
        self._staged: tuple[Conversation, int, StagedConversation] | None = None
        """What the plug-ins' stages made last: of which conversation, with how many events, and the result."""
        self._trial: Planner | None = None
        """The latest planner for another thread: what it was used to try is mostly what comes next."""
        self.extend(events)

    # Adding events

    def extend(self, events: Iterable[Event]) -> None:
        """Add many events at once."""
        fresh = list(events)
        if self._events and (len(fresh) == 1 or not any(map(self._changes_the_past, fresh))):
            for event in fresh:
                self.append_event(event)
            return
        self._trial = None
        self._events += fresh
        if not CONTROL.isdisjoint(map(type, map(_body_of, fresh))):
            self._controls += [event for event in fresh if type(event.body) in CONTROL]
        self._restart()

    def _changes_the_past(self, event: Event) -> bool:
        """Whether an event needs the conversation to be rebuilt; for many events that is done once."""
        if isinstance(event.body, Override):
            return bool(self._in_effect.compactions)
        return isinstance(event.body, Compaction | Revert)

    def append_event(self, event: Event) -> None:
        """Add one event."""
        body = event.body
        self._events.append(event)
        if type(body) in CONTROL:
            self._append_control(event, body)
            return
        self._trial = None
        conversation, compactions = self._conversation, self._in_effect.compactions
        if compactions and self._is_latest_summarised(body):
            self._restart()
            return
        is_first = not conversation.units
        if not conversation.add_event(event) or (compactions and self._outgrew_its_compaction()):
            self._restart()
        elif is_first:
            self._refill()

    def _append_control(self, event: Event, body: Body) -> None:
        """Add an event that decides about others."""
        trial, self._trial = self._trial, None
        self._controls.append(event)
        if isinstance(body, _SAY_NOTHING):
            return
        if isinstance(body, Override) and self._ordered and not self._in_effect.compactions:
            overrides = dict(self._in_effect.overrides)
            touched = apply_override(overrides, event)
            self._in_effect = InEffect((), overrides, self._in_effect.slots)
            self._conversation.set_overrides(overrides, touched)
            self._refill()
        elif isinstance(body, SlotContent):
            self._in_effect = in_effect(self._controls)
            self._refill()
        elif trial is not None and trial.has_tried(event, len(self._events)):
            self._in_effect = in_effect(self._controls)
            self._conversation, self._ordered = trial._conversation, trial._ordered
            self._settle()
        else:
            self._restart(same=True)

    def reword(self, body: Compaction) -> None:
        """Replace the text of the last compaction; its range and what it keeps are the same."""
        last = self._events[-1]
        assert _same_range(last.body, body), "only a compaction can be reworded"
        self._events[-1] = self._controls[-1] = replace(last, body=body)
        self._in_effect = in_effect(self._controls)
        self._settle()

    def has_tried(self, event: Event, length: int) -> bool:
        """Whether this planner has as many events and was built with the same compaction, with any text."""
        if not self._built == length == len(self._events):
            return False
        last = self._events[-1]
        return last.seq == event.seq and _same_range(last.body, event.body)

    def _is_latest_summarised(self, body: Body) -> bool:
        """Whether the user message that this one follows is in the range of a compaction in force."""
        if not isinstance(body, UserMessage):
            return False
        seq, ranges = self._conversation.latest, map(compaction_range, self._in_effect.compactions)
        return any(first <= seq <= last for first, last in ranges)

    def _outgrew_its_compaction(self) -> bool:
        """Whether the newest unit was summarised, and now has a cell that the summary does not cover."""
        if not self._conversation.units:
            return False
        cells, cover = self._conversation.units[-1].cells, self._conversation.ground.cover
        first, last = (self._conversation.cells[at].seq in cover for at in (cells[0], cells[-1]))
        return first and not last

    def plan_with(self, body: Compaction) -> ContextPlan:
        """The plan with this compaction as the next event. After that the planner can only plan other compactions of
        the same range, which differ in their text."""
        last = self._events[-1] if self._events else None
        if last is not None and last.id == TRIED and _same_range(last.body, body):
            self.reword(body)
        else:
            self.append_event(Event(last.seq + 1 if last is not None else 1, TRIED, 0, body))
        return self.plan()

    def open_calls(self) -> list[ToolCall]:
        """The calls of the newest reply that are sent and have no result yet. While there are any, no request fits."""
        conversation = self._conversation
        missing = [conversation.cells[at].event.body for at in conversation.missing(conversation.view())]
        return [body for body in missing if isinstance(body, ToolCall)]

    def set_unattributed(self, tokens: int) -> None:
        """Set the tokens of requests that are not in the log, from their reports."""
        if tokens != self.limits.unattributed:
            self.limits = self._meter.limits = replace(self.limits, unattributed=tokens)

    def at_this_moment(self, *, to_try: bool = True) -> Planner:
        """A planner of the same log for another thread, independent of this one.

        `to_try`: it is used to try a compaction that mostly comes next; what it built is then reused.
        """
        made = copy(self)
        made._events, made._controls = list(self._events), list(self._controls)
        made._conversation = self._conversation.copy()
        made._parts = made._arranged()
        made._built, made._trial = 0, None
        if to_try:
            self._trial = made
        return made

    def planner_under(self, policy: Policy, limits: Limits, *, live: bool) -> Planner:
        """An independent planner of the same log, with other rules for compactions and other tokens outside of it.

        Nothing else in the policy and the limits may differ.
        """
        made = self.at_this_moment(to_try=False)
        made.policy, made.limits, made._live = policy, limits, live
        made._meter = self._meter.meter_under(policy, limits)
        made._conversation.count_with(made._meter)
        made._parts = made._arranged()
        return made

    def without(self, gone: Collection[int]) -> Planner | None:
        """A planner of the log without events that its compactions replace; None if that would split a unit."""
        gone = {*gone}.difference(cell.seq for cell in self._conversation.preamble)
        conversation = self._conversation.without(gone)
        if conversation is None:
            return None
        made = copy(self)
        made._events = [event for event in self._events if event.seq not in gone or type(event.body) in CONTROL]
        made._controls, made._conversation, made._trial = list(self._controls), conversation, None
        made._settle()
        return made

    def _restart(self, *, same: bool = False) -> None:
        """Rebuild the conversation from all events; `same`: the events are the same, with other decisions."""
        self._in_effect = in_effect(self._controls)
        talk = [event for event in self._events if type(event.body) not in CONTROL] if self._controls else self._events
        ground = fold.Preconditions(self._in_effect.overrides)
        if not (same and self._in_effect.compactions):
            self._conversation, self._ordered = self._conversation_of(talk, ground)
        if self._in_effect.compactions:
            cover, kept = fold.compaction_coverage(
                self._in_effect,
                self._conversation.cells,
                self._conversation.units,
                self._conversation.latest,
                as_it_says=self._meter.is_record,
            )
            ground = fold.Preconditions(self._in_effect.overrides, cover, kept)
            if self._ordered:
                with collector_paused():
                    self._conversation = self._conversation.with_preconditions(ground)
            else:
                self._conversation, self._ordered = self._conversation_of(talk, ground)
        self._settle()

    def _settle(self) -> None:
        """Fill in what surrounds the conversation once it is built."""
        self._summaries = self._place_summaries()
        self._refill()
        self._built = len(self._events)

    def _conversation_of(self, talk: list[Event], ground: fold.Preconditions) -> tuple[Conversation, bool]:
        conversation = Conversation(self._meter, ground)
        with collector_paused(), conversation.measured_once():
            placed = conversation.add_events(talk)
        if placed:
            return conversation, True
        ordered, unpaired = fold.events_in_order(talk)
        conversation = Conversation(self._meter, replace(ground, unpaired=unpaired, ordered=talk[-1].seq))
        with collector_paused(), conversation.measured_once():
            placed = conversation.add_events(ordered)
            assert placed, "an event in order always has its place"
        return conversation, False

    def _refill(self) -> None:
        items = fixed_slots.fill_fixed_slots(
            self._in_effect.slots, self._conversation.preamble, self._in_effect.overrides, self._meter
        )
        self._base = base_of(items, self._summaries, self._meter)
        self._parts = self._arranged()

    def _arranged(self) -> Arrangement:
        """What the plan is made of, without stages of plug-ins; made again when one of its parts changes."""
        return Arrangement(self._conversation, self._base, self._meter, self._model, self._live)

    def _place_summaries(self) -> tuple[PlacedSummary, ...]:
        """The items of the summaries: where their range began, or after what was kept of it."""
        cells, units = self._conversation.cells, self._conversation.units
        placed = []
        for event in self._in_effect.compactions:
            body = event.body
            assert isinstance(body, Compaction)
            first, last = compaction_range(event)
            inside = self._conversation.units_within(range(first, last + 1))
            if not inside:
                before = sum(cells[unit.cells[0]].seq < first for unit in units)
                turn = units[before - 1].turn if before else 0
            elif body.place == "start":
                before, turn = min(inside), units[min(inside)].turn
            else:
                before, turn = max(inside) + 1, units[max(inside)].turn
            placed.append(PlacedSummary(before, self._summary_items(event, body, turn), event.seq))
        return tuple(placed)

    def _summary_items(self, event: Event, body: Compaction, turn: int) -> tuple[Item, ...]:
        maker = body.meta.get("made_by")
        by = f", written by {maker}" if isinstance(maker, str) and maker and maker != "digest" else ""
        why = f"replaces the {span_words(event)}{by}"
        if is_sealed(body):
            why += "; the summary is encrypted and its size not known: these words are in its place"
        text = body.preface + body.summary
        if normalise.is_blank(text):
            text = normalise.EMPTY_SUMMARY
        items = [
            synthetic_item(event.id, "summaries", "user", "summary", text, self._meter.text(text), "fold", why, turn)
        ]
        if not normalise.is_blank(body.acknowledgement):
            text, why = body.acknowledgement, "the assistant's answer to the summary"
            count = self._meter.text(text)
            items.append(
                synthetic_item(f"{event.id}.ack", "summaries", "assistant", "summary", text, count, "fold", why, turn)
            )
        return tuple(items)

    # The plan

    @property
    def events(self) -> Sequence[Event]:
        """The log so far. It grows with every append; take a copy to keep it as it is."""
        return self._events

    @property
    def slots(self) -> tuple[Event, ...]:
        """The contents of the fixed slots."""
        return self._in_effect.slots

    def plan(self) -> ContextPlan:
        """The plan for the events so far."""
        return Outline(self.parts).plan()

    def outline(self) -> Outline:
        """What it sends, without explanations."""
        return Outline(self.parts)

    @property
    def parts(self) -> Arrangement:
        """What the plan is made of now."""
        if self.policy.stages.use:
            conversation, notes = self._after_stages()
            return Arrangement(conversation, self._base, self._meter, self._model, self._live, notes)
        return self._parts

    def _after_stages(self) -> StagedConversation:
        """The conversation after the plug-ins' stages. They see all of it, so each new event costs its whole length."""
        of, count = self._conversation, len(self._events)
        if self._staged is None or self._staged[0] is not of or self._staged[1] != count:
            self._staged = of, count, run_stages(of, self.policy.stages.use, self._meter, self._model)
        return self._staged[2]


def _same_range(one: Body, other: Body) -> bool:
    """Whether two compactions differ in their texts only."""
    if not (isinstance(one, Compaction) and isinstance(other, Compaction)):
        return False
    return (one.first, one.last, one.kept) == (other.first, other.last, other.kept)


def plan(
    events: Iterable[Event],
    policy: Policy,
    limits: Limits,
    counter: TokenCounter,
    *,
    model: str = "",
    provider: str = "openai",
    live: bool = False,
) -> ContextPlan:
    """What the model sees of a log: a pure function of the log, the policy and the budget."""
    return Planner(policy, limits, counter, model=model, provider=provider, live=live, events=events).plan()
