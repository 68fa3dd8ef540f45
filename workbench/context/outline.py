"""Outline: the last stages over a conversation, computed from its running sums: history, groups and the size.

Only what decides is computed at once. Items, reasons and the parts of the budget are made when they are asked for, from
values that later events do not change.
"""

from __future__ import annotations

from functools import cached_property
from heapq import merge
from itertools import chain, takewhile

from workbench.config.values import replace
from workbench.context.arrange import Arrangement, synthetic_item
from workbench.context.budget import Budget
from workbench.context.fitting import fit_results
from workbench.context.items import Item, Slot
from workbench.context.plan import ContextPlan, Totals, Verdict
from workbench.context.plan_items import Cuts, PlanItems
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
    waiting: tuple[str, ...] = ()
    """The ids of calls that are still running."""
    _lacking: tuple[int, ...] = ()
    """Calls of the newest unit that get a synthetic result."""
    _dropped = 0
    """How many messages the notice says are left out; 0: there is no notice."""
    _notice = _opening = TokenCount(0, True)
    _note_cost = _note_framing = 0
    """What both notes cost, and the part of it that is framing."""

    def __init__(self, parts: Arrangement) -> None:
        """Cut history and turn to the budget."""
        self.parts = parts
        conversation, meter = parts.conversation, parts.meter
        self.limits = limits = meter.limits
        self.view = view = conversation.view()
        missing = conversation.missing(view)
        if missing and parts.live:
            self.waiting = tuple([conversation.cells[at].wire_id for at in missing])
        elif missing:
            self._lacking = missing
        self._repairs = len(conversation.repairs)
        self._cut()
        if self.tokens > limits.capacity and not meter.is_record:
            self._fit_results()

    # The cuts

    def _cut(self) -> None:
        """Leave out what is over the target, first of history and then of the turn, and add up what is left."""
        parts = self.parts
        conversation, base, meter = parts.conversation, parts.base, parts.meter
        sums, rules, turn = conversation.sums, meter.cutting, conversation.turn
        cost, framing, end, opener = sums.cost, sums.framing, len(conversation.units), conversation.openers[turn]
        start = opener if opener > 0 else 0
        behind = start + 1 if turn else start
        # The part of the turn that is always kept: its last iteration group, and what follows.
        last = conversation.last_group if conversation.last_group > behind else behind
        may_go = cost[last] - cost[behind]
        # The cost and the framing of everything, and the content of history.
        whole, around, earlier = base.cost + cost[end], base.framing + framing[end], cost[start] - framing[start]
        if conversation.held:  # always sent; the sums leave it out
            held, past = sums.apart_before(end), sums.apart_before(start)
            whole, around, earlier = whole + held.cost, around + held.framing, earlier + past.cost - past.framing
        if self._lacking:
            added, added_framing = self._synthetic_cost()
            whole, around = whole + added, around + added_framing
        excess = whole - self.limits.target  # how much is over the target, if nothing is left out
        # Whether a user message is first after any cut: then no note has to open the request in the user's name.
        is_plain = conversation.begins_with_user and not (conversation.overrides or base.summaries)
        if not is_plain:
            excess += self._spare()
        cut = self._cut_history(start, cost[start] - excess + (0 if rules.turn_first else may_go))
        first, kept = cut.start, cut.opener
        gone, around_gone = cost[first], framing[first]
        if kept >= 0:
            gone -= cost[kept + 1] - cost[kept]
            around_gone -= framing[kept + 1] - framing[kept]
        excess += self._note_cost - gone
        earlier -= gone - around_gone
        groups = GroupCut(behind)
        if excess > 0 and rules.drop_groups:
            groups = cut_groups(cost, behind, last, may_go - excess)
            gone += cost[groups.first] - cost[behind]
            around_gone += framing[groups.first] - framing[behind]
        results = len(conversation.results)
        self.cuts = Cuts(turn, start, behind, end, cut, groups, conversation.held_set, results)
        if not is_plain and not self._opens_with_user(cut):
            self._opening = count = meter.text(normalise.OPENING)
            self._note_framing += meter.around_message
            self._note_cost += count.tokens + meter.around_message
        notes, around_notes = self._note_cost, self._note_framing
        self.tokens = whole - gone + notes
        """Items and framing."""
        self.framing_tokens = around - around_gone + around_notes
        notes -= around_notes
        self._history = earlier + notes
        self.original_tokens = conversation.original_tokens + base.original_tokens + notes
        repairs = self._repairs + len(self._lacking)
        if repairs:
            self.original_tokens += repairs * meter.no_result.tokens

    def _synthetic_cost(self) -> tuple[int, int]:
        """The cost of the synthetic results of the newest unit, and the part of it that is framing."""
        cells, meter, lacking = self.view.cells, self.parts.meter, self._lacking
        around = 0
        for at in lacking:
            around += meter.result_rule(cells[at].tool).around
        return len(lacking) * meter.no_result.tokens + around, around

    def _cut_history(self, end: int, room: int) -> HistoryCut:
        """Cut what is before the unit `end`; note how many messages are left out if a notice says so."""
        conversation, meter = self.parts.conversation, self.parts.meter
        rules, cost, messages = meter.cutting, conversation.sums.cost, conversation.sums.messages
        count, resident, has_notice = messages[end], rules.resident, rules.notice
        budget = min(room, rules.cap) if rules.fits else NO_CAP
        if cost[end] <= budget and count <= resident:
            return WHOLE_HISTORY
        if has_notice and rules.fits:
            budget = min(room - meter.widest_notice(count).tokens - meter.around_message, rules.cap)
        near, opener_of = conversation.last_cut, conversation.opener_of
        cut = history.cut_history(cost, messages, end, budget, resident, opener_of, near)
        conversation.last_cut = start = cut.start
        if has_notice:
            dropped, opener = messages[start], cut.opener
            if opener >= 0:
                dropped -= messages[opener + 1] - messages[opener]
            if dropped:
                self._dropped, self._notice = dropped, (notice := meter.notice(dropped))
                self._note_framing = around = meter.around_message
                self._note_cost = notice.tokens + around
        return cut

    def _fit_results(self) -> None:
        """Cut the longest results so that the request fits; nothing changes if no cuts are enough."""
        units, cuts = self.parts.conversation.units, self.cuts
        found = fit_results(self.view, units, cuts, self.parts.meter, self.tokens)
        if found is None:
            return
        self.view = replace(self.view, fitted=found)
        for each in found.values():
            if units[each.unit].turn != cuts.turn:
                self._history -= each.saved
            self.cut_to_fit += each.saved
        self.tokens -= self.cut_to_fit

    # The first message

    def _spare(self) -> int:
        """Room for a note in the user's name, kept wherever the request might begin with the assistant."""
        meter = self.parts.meter
        return meter.text(normalise.OPENING).tokens + meter.around_message

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
        slots["turn"] += self.tokens - self.framing_tokens - sum(slots.values())
        return slots

    @property
    def budget(self) -> Budget:
        limits, answer = self.limits, self.limits.answer(self.tokens)
        # The budget's parts are the slots, in order, and then these.
        rest = (self.framing_tokens, limits.unattributed, limits.margin, answer, limits.room - answer - self.tokens)
        return Budget._make((*self.slots.values(), *rest))

    @property
    def warnings(self) -> tuple[str, ...]:
        parts = self.parts
        cuts = (*parts.base.cuts, *parts.notes)
        return request_warnings(self.limits, self.tokens, self.slots, parts.meter.guidance, cuts)

    @cached_property
    def items(self) -> PlanItems:
        """Its items, sent or not."""
        conversation, base, meter = self.parts.conversation, self.parts.base, self.parts.meter
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
