"""Arrange: the last stages over a conversation, computed from its running sums: history, groups and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from itertools import chain, takewhile
from typing import NamedTuple

from workbench.context.budget import Budget, Limits
from workbench.context.conversation import Conversation
from workbench.context.fitting import fit_results
from workbench.context.fixed_slots import FixedSlots, cut_note_in
from workbench.context.items import SLOTS, Edit, Item, Kind, Slot
from workbench.context.measure import Meter
from workbench.context.plan import ContextPlan, Totals
from workbench.context.plan_items import Cuts, PlacedSummary, PlanItems
from workbench.context.stages import groups, history, normalise
from workbench.context.stages.groups import GroupCut
from workbench.context.stages.history import NO_CAP, HistoryCut
from workbench.context.stages.verdict import request_verdict, request_warnings
from workbench.context.view import is_sent
from workbench.models.framing import REPLY_PRIMING
from workbench.models.tokens import TokenCount


class RequestBase(NamedTuple):
    """The part of every request that is never cut: fixed slots and summaries."""

    items: tuple[Item, ...]
    summaries: tuple[PlacedSummary, ...]
    slots: dict[Slot, int]
    cost: int
    """Content and framing."""
    framing: int
    original_tokens: int
    cuts: tuple[str, ...]
    """What was cut of its files, in words."""


class Arrangement(NamedTuple):
    """Everything a plan is made of."""

    conversation: Conversation
    base: RequestBase
    meter: Meter
    model: str
    live: bool
    notes: tuple[str, ...] = ()
    """Stages of plug-ins that were skipped, each with the reason."""


def base_of(fixed: FixedSlots, summaries: tuple[PlacedSummary, ...], meter: Meter) -> RequestBase:
    """Add up what is in every request."""
    items = [*fixed.items, *(item for summary in summaries for item in summary.items)]
    slots: dict[Slot, int] = dict.fromkeys(SLOTS, 0)
    for item in items:
        slots[item.slot] += item.tokens
    around = fixed.framing + REPLY_PRIMING + meter.around_message * sum(len(summary.items) for summary in summaries)
    original_tokens = sum(item.original_tokens for item in items)
    files = (item.text for item in fixed.items if item.slot in ("instructions", "memory") and item.text)
    cuts = tuple(filter(None, map(cut_note_in, files)))
    return RequestBase(fixed.items, summaries, slots, sum(slots.values()) + around, around, original_tokens, cuts)


def synthetic_item(
    item_id: str, slot: Slot, role: str, kind: Kind, text: str, count: TokenCount, stage: str, why: str, turn: int = 0
) -> Item:
    """An item without an event."""
    tokens, exact = count
    return Item(
        id=item_id,
        seq=None,
        turn=turn,
        slot=slot,
        role=role,
        kind=kind,
        tool=None,
        state="sent",
        tokens=tokens,
        original_tokens=tokens,
        exact=exact,
        pinned=False,
        edits=(Edit(stage, "sent", 0, tokens, why),),
        text=text,
        original=text,
        content=text,
    )


class Outline(NamedTuple):
    """A plan without its explanations: what is sent, and how large it is. Following a long log needs no more for nearly
    all of its requests."""

    parts: Arrangement
    items: PlanItems
    slots: dict[Slot, int]
    framing: int
    original_tokens: int
    waiting: tuple[str, ...]
    """The ids of calls that are still running."""
    tokens: int
    """Items and framing."""
    cut_to_fit: int = 0
    """Tokens that results lost so that the request fits."""

    @property
    def limits(self) -> Limits:
        return self.parts.meter.limits

    @property
    def size(self) -> int:
        """The whole request, as the provider is expected to count it; never below 0, like a plan's."""
        return max(0, self.tokens + self.limits.unattributed)

    @property
    def totals(self) -> Totals:
        """The sums over its items."""
        return Totals(self.tokens, self.tokens - self.framing, self.framing, self.original_tokens)

    @property
    def fits(self) -> bool:
        """Whether it can be sent."""
        return not self.waiting and self.limits.need(self.tokens) <= self.limits.window

    @property
    def overflows(self) -> bool:
        """Whether it cannot be sent, or only because results were cut to make it fit."""
        return self.cut_to_fit > 0 or not self.fits

    def plan(self) -> ContextPlan:
        """The full plan, with a verdict and all figures."""
        (_, base, meter, model, _, notes), limits, total, slots = self.parts, self.limits, self.tokens, self.slots
        answer, policy = limits.answer(total), meter.policy
        # The budget's parts are the slots, in order, and then these.
        rest = (self.framing, limits.unattributed, limits.margin, answer, limits.room - answer - total)
        return ContextPlan(
            model,
            limits,
            policy.name,
            request_verdict(limits, total, slots, self.waiting),
            Budget._make((*slots.values(), *rest)),
            self.totals,
            self.items,
            request_warnings(limits, total, slots, meter.guidance, (*base.cuts, *notes)),
            policy.history.mode == "fit" or policy.turn.drop_groups,
            unattributed=limits.unattributed,
            framing=meter.counter.framing,
            cut_to_fit=self.cut_to_fit,
        )


def cut_to_budget(parts: Arrangement) -> Outline:
    """Cut history and turn to the budget."""
    return _Arranger(parts).outline()


class _Arranger:
    def __init__(self, parts: Arrangement) -> None:
        self._conversation = conversation = parts.conversation
        self._sums = conversation.sums
        self._parts = parts
        self._base = parts.base
        self._meter = parts.meter
        self._policy = parts.meter.policy
        self._limits = parts.meter.limits
        self._view = conversation.view()
        self._units = len(conversation.units)
        self._start = max(conversation.openers[-1], 0)
        """The first unit of the current turn."""
        self._behind = self._start + (1 if conversation.turn else 0)
        """The first unit after its user message."""
        self._last = max(conversation.last_group, self._behind)
        """The part of the turn that is always kept starts here: its last iteration group, and what follows."""
        missing = conversation.missing()
        self._waiting = missing if parts.live else []
        self._lacking = () if parts.live else tuple(missing)
        """Calls of the newest unit that get a synthetic result."""
        self._repair_framing = sum(parts.meter.around_result(conversation.cells[at]) for at in self._lacking)
        self._past = self._sums.apart_before(self._start)
        self._present = self._sums.apart_before(self._units).minus(self._past)
        """The cost of the units that are always sent, in history and in the turn; the sums leave them out."""

    def outline(self) -> Outline:
        cost = self._sums.cost
        middle = cost[self._last] - cost[self._behind]
        kept = self._turn_cost(self._last) + self._past.cost
        left = self._limits.target - self._base.cost - kept - self._spare()
        turn_first = self._policy.history.turn_first or not self._policy.turn.drop_groups
        cut, notice = self._cut_history(left - (middle if turn_first else 0))
        left -= self._history_span(cost, cut) + (notice.tokens + self._meter.around_message if notice else 0)
        cuts = self._cuts(cut, self._cut_groups(left))
        made = self._result(cuts, notice, self._opening(cut))
        is_too_large = made.tokens > self._limits.capacity and not self._meter.is_record
        return self._fitted(made, cuts) if is_too_large else made

    def _fitted(self, made: Outline, cuts: Cuts) -> Outline:
        """The outline with its longest results cut so that it fits; unchanged if no cuts are enough."""
        units = self._conversation.units
        found = fit_results(self._view, units, cuts, self._meter, made.tokens)
        if found is None:
            return made
        slots, saved = made.slots.copy(), sum(each.saved for each in found.values())
        for each in found.values():
            slots["turn" if units[each.unit].turn == cuts.turn else "history"] -= each.saved
        return made._replace(
            items=made.items.with_fitted(found), slots=slots, tokens=made.tokens - saved, cut_to_fit=saved
        )

    def _history_span(self, sums: Sequence[int], cut: HistoryCut) -> int:
        """The kept part of history after a cut, without the held units: tokens or framing, depending on `sums`."""
        kept = sums[max(self._start, cut.start)] - sums[cut.start]
        return kept + sums[cut.opener + 1] - sums[cut.opener] if cut.opener >= 0 else kept

    def _turn_cost(self, first: int) -> int:
        """The kept part of the turn: its user message, held units, and everything from the unit `first` on."""
        cost = self._sums.cost
        kept = cost[self._behind] - cost[self._start] + cost[self._units] - cost[first]
        lacking = len(self._lacking) * self._meter.no_result.tokens + self._repair_framing
        return kept + lacking + self._present.cost

    def _turn_framing(self, first: int) -> int:
        around = self._sums.framing
        kept = around[self._behind] - around[self._start] + around[self._units] - around[first]
        return kept + self._repair_framing + self._present.framing

    # History

    def _cut_history(self, room: int) -> tuple[HistoryCut, Item | None]:
        policy, sums, end = self._policy.history, self._sums, self._start
        resident = self._meter.resident
        fits = policy.mode == "fit"
        cap = policy.max_tokens if fits and policy.max_tokens else NO_CAP
        whole, count = sums.cost[end], sums.messages[end]
        budget = min(room, cap) if fits else NO_CAP
        if whole <= budget and count <= resident:
            return HistoryCut(0), None
        if fits and policy.notice:
            budget = min(room - self._widest_notice(count), cap)
        cut = history.cut_history(sums.cost, sums.messages, end, budget, resident, self._opener_of)
        dropped = sums.messages[cut.start]
        if cut.opener >= 0:
            dropped -= sums.messages[cut.opener + 1] - sums.messages[cut.opener]
        return cut, self._notice(dropped) if policy.notice and dropped else None

    def _widest_notice(self, count: int) -> int:
        """The most that the notice can cost: its number is not known yet, but has no more digits than `count`."""
        return self._meter.text(history.history_notice(10 ** len(str(count)) - 1)).tokens + self._meter.around_message

    def _notice(self, count: int) -> Item:
        text, why = history.history_notice(count), history.notice_reason(count)
        return synthetic_item("notice", "history", "system", "notice", text, self._meter.text(text), "history", why)

    def _opener_of(self, unit: int) -> tuple[int, int]:
        conversation = self._conversation
        turn = conversation.units[unit].turn
        opener = conversation.openers[turn]
        if opener in (-1, unit) or opener in conversation.held_set:
            opener = -1
        return opener, conversation.openers[turn + 1]

    # The turn

    def _cut_groups(self, room: int) -> GroupCut:
        if not self._policy.turn.drop_groups:
            return GroupCut(self._behind)
        return groups.cut_groups(self._sums.cost, self._behind, self._last, room)

    # The first message

    def _opening(self, cut: HistoryCut) -> Item | None:
        """A note in the user's name if the request would begin with the assistant."""
        if self._opens_with_user(cut):
            return None
        text = normalise.OPENING
        count = self._meter.text(text)
        return synthetic_item(
            "opening", "history", "user", "notice", text, count, "normalise", normalise.OPENING_REASON
        )

    def _spare(self) -> int:
        """Room for that note, kept wherever it might be needed."""
        return 0 if self._is_plain() else self._meter.text(normalise.OPENING).tokens + self._meter.around_message

    def _is_plain(self) -> bool:
        """Whether a user message is first after any cut: a user opened the conversation and no item is an exception."""
        conversation = self._conversation
        opened = not conversation.units or (conversation.turn > 0 and conversation.openers[1] == 0)
        return opened and not conversation.overrides and not self._base.summaries

    def _opens_with_user(self, cut: HistoryCut) -> bool:
        conversation = self._conversation
        if self._is_plain():
            return True
        early = merge(
            takewhile(lambda number: number < cut.start, conversation.held), [cut.opener] if cut.opener >= 0 else []
        )
        summary = min((summary.before for summary in self._base.summaries), default=self._units + 1)
        for number in chain(early, range(max(cut.start, self._sums.first_sent()), self._units)):
            if summary <= number:
                return True
            role = self._speaker(number)
            if role is not None:
                return role == "user"
        return True

    def _speaker(self, number: int) -> str | None:
        """Who speaks first in a unit that is sent; None if nothing is sent, or if it is a system message."""
        sent = (self._conversation.cells[at] for at in self._conversation.units[number].cells)
        first = next((cell for cell in sent if is_sent(cell, self._view)), None)
        return first.role if first is not None and first.role in ("user", "assistant") else None

    # The outcome

    def _cuts(self, cut: HistoryCut, group_cut: GroupCut) -> Cuts:
        conversation = self._conversation
        return Cuts(
            conversation.turn,
            self._start,
            self._behind,
            self._units,
            cut,
            group_cut,
            conversation.held_set,
            conversation.result_count,
        )

    def _result(self, cuts: Cuts, notice: Item | None, opening: Item | None) -> Outline:
        conversation, base = self._conversation, self._base
        extra = tuple(item for item in (notice, opening) if item)
        added = sum(item.tokens for item in extra)
        past = self._history_span(self._sums.cost, cuts.history) + self._past.cost
        past_framing = self._history_span(self._sums.framing, cuts.history) + self._past.framing
        turn, turn_framing = self._turn_cost(cuts.groups.first), self._turn_framing(cuts.groups.first)
        slots = base.slots.copy()
        slots["history"] += past - past_framing + added
        slots["turn"] += turn - turn_framing
        around = base.framing + past_framing + turn_framing + self._meter.around_message * len(extra)
        repairs = len(conversation.repairs)
        original = conversation.original_tokens + base.original_tokens + added
        original += (repairs + len(self._lacking)) * self._meter.no_result.tokens
        items = PlanItems(
            base.items + extra,
            self._view,
            conversation.units,
            cuts,
            base.summaries,
            conversation.repairs,
            repairs,
            self._lacking,
            self._meter.no_result,
        )
        waiting = tuple(conversation.cells[at].wire_id for at in self._waiting)
        return Outline(self._parts, items, slots, around, original, waiting, sum(slots.values()) + around)
