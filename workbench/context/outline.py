"""Outline: the last stages over a conversation, computed from its running sums: history, groups and the size.

Only what decides is computed at once. Items, reasons and the parts of the budget are made when they are asked for, from
values that later events do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from heapq import merge
from itertools import chain, takewhile

from workbench.context.arrange import Arrangement, synthetic_item
from workbench.context.budget import Budget
from workbench.context.fitting import fit_results
from workbench.context.items import Item, Slot
from workbench.context.plan import ContextPlan, Totals, Verdict
from workbench.context.plan_items import Cuts, PlanItems
from workbench.context.running_sums import NO_COST, UnitCost
from workbench.context.stages import history, normalise
from workbench.context.stages.groups import GroupCut, cut_groups
from workbench.context.stages.history import NO_CAP, WHOLE_HISTORY, HistoryCut
from workbench.context.stages.verdict import request_status, request_warnings, verdict_reason
from workbench.context.view import is_sent
from workbench.models.calibration import NOTHING
from workbench.models.tokens import TokenCount


class Outline:
    """A plan without its explanations: what is sent, and how large it is. Following a long log needs no more for nearly
    all of its requests."""

    reported = None
    known_rest = NOTHING
    whole = False
    cut_to_fit = 0
    """Tokens that results lost so that the request fits."""
    _dropped = 0
    """How many messages the notice says are left out; 0: there is no notice."""
    _notice = _opening = TokenCount(0, True)

    def __init__(self, parts: Arrangement) -> None:
        """Cut history and turn to the budget."""
        conversation, _, meter, _, live, _ = self.parts = parts
        self.limits = meter.limits
        self.view = conversation.view()
        missing = conversation.missing(self.view)
        self.waiting = tuple([conversation.cells[at].wire_id for at in missing]) if live else ()
        """The ids of calls that are still running."""
        self._lacking = () if live else missing
        """Calls of the newest unit that get a synthetic result."""
        self._repairs = len(conversation.repairs)
        self._cut()
        if self.tokens > self.limits.capacity and not meter.is_record:
            self._fit_results()

    # The cuts

    def _cut(self) -> None:
        conversation, base, meter, _, _, _ = self.parts
        sums, rules, turn = conversation.sums, meter.cutting, conversation.turn
        cost, end, opener = sums.cost, len(conversation.units), conversation.openers[turn]
        start = opener if opener > 0 else 0
        behind = start + 1 if turn else start
        # The part of the turn that is always kept: its last iteration group, and what follows.
        last = conversation.last_group if conversation.last_group > behind else behind
        past = present = NO_COST  # what is always sent, in history and in the turn; the sums leave it out
        if conversation.held:
            past = sums.apart_before(start)
            present = sums.apart_before(end).minus(past)
        if self._lacking:
            present = present.plus(self._synthetic_cost())
        question = cost[behind] - cost[start] + present.cost
        is_plain = self._is_plain()
        left = self.limits.target - base.cost - question - cost[end] + cost[last] - past.cost
        left -= 0 if is_plain else self._spare()
        cut = self._cut_history(start, left - (cost[last] - cost[behind] if rules.turn_first else 0))
        older = _kept_history(cost, cut, start)
        left -= older + (self._notice.tokens + meter.around_message if self._dropped else 0)
        groups = cut_groups(cost, behind, last, left) if rules.drop_groups else GroupCut(behind)
        held, results = conversation.held_set, conversation.result_count
        self.cuts = Cuts(turn, start, behind, end, cut, groups, held, results)
        if not is_plain and not self._opens_with_user(cut):
            self._opening = meter.text(normalise.OPENING)
        self._add_up(older + past.cost, question + cost[end] - cost[groups.first], past.framing, present.framing)

    def _add_up(self, older: int, newer: int, past: int, present: int) -> None:
        """The size of the request: `older` and `newer` are the cost of history and turn, `past` and `present` are the
        framing in them that the sums leave out."""
        conversation, base, meter, _, _, _ = self.parts
        _, start, behind, end, cut, groups, _, _ = self.cuts
        framing, notes = conversation.sums.framing, 0
        past += _kept_history(framing, cut, start)
        present += framing[behind] - framing[start] + framing[end] - framing[groups.first]
        around = base.framing + past + present
        if self._dropped:
            notes += self._notice.tokens
            around += meter.around_message
        if self._opening.tokens:
            notes += self._opening.tokens
            around += meter.around_message
        self.framing_tokens = around
        self._history, self._turn = older - past + notes, newer - present
        self.tokens = base.cost - base.framing + self._history + self._turn + around
        """Items and framing."""
        self.original_tokens = conversation.original_tokens + base.original_tokens + notes
        repairs = self._repairs + len(self._lacking)
        if repairs:
            self.original_tokens += repairs * meter.no_result.tokens

    def _synthetic_cost(self) -> UnitCost:
        """The cost of the synthetic results of the newest unit."""
        cells, meter, count = self.view.cells, self.parts.meter, len(self._lacking)
        around = sum(meter.around_result(cells[at]) for at in self._lacking)
        return UnitCost(count * meter.no_result.tokens + around, around, count)

    def _cut_history(self, end: int, room: int) -> HistoryCut:
        """Cut what is before the unit `end`; note how many messages are left out if a notice says so."""
        conversation, meter = self.parts.conversation, self.parts.meter
        rules, cost, messages = meter.cutting, conversation.sums.cost, conversation.sums.messages
        budget = min(room, rules.cap) if rules.fits else NO_CAP
        if cost[end] <= budget and messages[end] <= rules.resident:
            return WHOLE_HISTORY
        if rules.fits and rules.notice:
            widest = meter.widest_notice(messages[end]).tokens + meter.around_message
            budget = min(room - widest, rules.cap)
        near, opener_of = conversation.last_cut, conversation.opener_of
        cut = history.cut_history(cost, messages, end, budget, rules.resident, opener_of, near)
        conversation.last_cut = cut.start
        if rules.notice:
            dropped = messages[cut.start]
            if cut.opener >= 0:
                dropped -= messages[cut.opener + 1] - messages[cut.opener]
            if dropped:
                self._dropped, self._notice = dropped, meter.notice(dropped)
        return cut

    def _fit_results(self) -> None:
        """Cut the longest results so that the request fits; nothing changes if no cuts are enough."""
        units, cuts = self.parts.conversation.units, self.cuts
        found = fit_results(self.view, units, cuts, self.parts.meter, self.tokens)
        if found is None:
            return
        self.view = self.view._replace(fitted=found)
        for each in found.values():
            if units[each.unit].turn == cuts.turn:
                self._turn -= each.saved
            else:
                self._history -= each.saved
            self.cut_to_fit += each.saved
        self.tokens -= self.cut_to_fit

    # The first message

    def _spare(self) -> int:
        """Room for a note in the user's name, kept wherever the request might begin with the assistant."""
        meter = self.parts.meter
        return meter.text(normalise.OPENING).tokens + meter.around_message

    def _is_plain(self) -> bool:
        """Whether a user message is first after any cut: a user opened the conversation and no item is an exception."""
        conversation = self.parts.conversation
        if conversation.overrides or self.parts.base.summaries:
            return False
        return not conversation.units or (conversation.turn > 0 and conversation.openers[1] == 0)

    def _opens_with_user(self, cut: HistoryCut) -> bool:
        conversation, end = self.parts.conversation, self.cuts.units
        early = merge(
            takewhile(lambda number: number < cut.start, conversation.held), [cut.opener] if cut.opener >= 0 else []
        )
        summary = min((summary.before for summary in self.parts.base.summaries), default=end + 1)
        for number in chain(early, range(max(cut.start, conversation.sums.first_sent()), end)):
            if summary <= number:
                return True
            role = self._speaker(number)
            if role is not None:
                return role == "user"
        return True

    def _speaker(self, number: int) -> str | None:
        """Who speaks first in a unit that is sent; None if nothing is sent, or if it is a system message."""
        sent = (self.view.cells[at] for at in self.parts.conversation.units[number].cells)
        first = next((cell for cell in sent if is_sent(cell, self.view)), None)
        return first.role if first is not None and first.role in ("user", "assistant") else None

    # What it says, under the names of a plan's fields

    @property
    def size(self) -> int:
        """The whole request, as the provider is expected to count it; never below 0, like a plan's."""
        return max(0, self.tokens + self.limits.unattributed)

    @property
    def fits(self) -> bool:
        """Whether it can be sent."""
        return not self.waiting and self.tokens <= self.limits.capacity

    @property
    def overflows(self) -> bool:
        """Whether it cannot be sent, or only because results were cut to make it fit."""
        return self.cut_to_fit > 0 or not self.fits

    @property
    def totals(self) -> Totals:
        """The sums over its items."""
        return Totals(self.tokens, self.tokens - self.framing_tokens, self.framing_tokens, self.original_tokens)

    @property
    def verdict(self) -> Verdict:
        """Whether it can be sent; the reason is made when it is read."""
        return Verdict(request_status(self.limits, self.tokens, self.waiting), self._verdict_reason)

    def _verdict_reason(self) -> str:
        return verdict_reason(self.limits, self.tokens, self.slots, self.waiting)

    @cached_property
    def slots(self) -> dict[Slot, int]:
        """The tokens of each slot."""
        slots = self.parts.base.slots.copy()
        slots["history"] += self._history
        slots["turn"] += self._turn
        return slots

    @property
    def budget(self) -> Budget:
        limits, answer = self.limits, self.limits.answer(self.tokens)
        # The budget's parts are the slots, in order, and then these.
        rest = (self.framing_tokens, limits.unattributed, limits.margin, answer, limits.room - answer - self.tokens)
        return Budget._make((*self.slots.values(), *rest))

    @property
    def warnings(self) -> tuple[str, ...]:
        _, base, meter, _, _, notes = self.parts
        return request_warnings(self.limits, self.tokens, self.slots, meter.guidance, (*base.cuts, *notes))

    @cached_property
    def items(self) -> PlanItems:
        """Its items, sent or not."""
        conversation, base, meter, _, _, _ = self.parts
        return PlanItems(
            base.items + self.notes,
            self.view,
            conversation.units,
            self.cuts,
            base.summaries,
            conversation.repairs,
            self._repairs,
            self._lacking,
            meter.no_result,
        )

    @cached_property
    def notes(self) -> tuple[Item, ...]:
        """The items before the conversation that only this request has: a notice, and a note in the user's name."""
        made = []
        if self._dropped:
            text, why = history.history_notice(self._dropped), history.notice_reason(self._dropped)
            made.append(synthetic_item("notice", "history", "system", "notice", text, self._notice, "history", why))
        if self._opening.tokens:
            text, why = normalise.OPENING, normalise.OPENING_REASON
            made.append(synthetic_item("opening", "history", "user", "notice", text, self._opening, "normalise", why))
        return tuple(made)

    @property
    def model(self) -> str:
        return self.parts.model

    @property
    def policy(self) -> str:
        return self.parts.meter.policy.name

    @property
    def gives_way(self) -> bool:
        """Whether the policy leaves something out if room is short."""
        rules = self.parts.meter.cutting
        return rules.fits or rules.drop_groups

    @property
    def unattributed(self) -> int:
        return self.limits.unattributed

    @property
    def framing(self) -> float:
        """The factor on the documented framing around messages."""
        return self.parts.meter.counter.framing

    def plan(self) -> ContextPlan:
        """The full plan, with a verdict and all figures."""
        return ContextPlan.read_from(self, self.verdict, self.totals)


def _kept_history(sums: Sequence[int], cut: HistoryCut, end: int) -> int:
    """The part of history before the unit `end` that a cut keeps, without the held units: tokens or framing, depending
    on `sums`."""
    start, opener = cut.start, cut.opener
    kept = sums[end] - sums[start] if start < end else 0
    return kept + sums[opener + 1] - sums[opener] if opener >= 0 else kept
