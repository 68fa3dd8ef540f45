"""Arrange: the last stages over a draft: history, groups, and the verdict."""

from __future__ import annotations

from typing import NamedTuple

from workbench.context.budget import Budget
from workbench.context.cells import Counted
from workbench.context.draft import Draft
from workbench.context.fixed import Fixed
from workbench.context.items import SLOTS, Edit, Item, Kind, Slot, Stage
from workbench.context.measure import Meter
from workbench.context.plan import ContextPlan, Cuts, Rows, Summary, Totals, Verdict
from workbench.context.stages import groups, history, normalise
from workbench.context.stages.history import NO_CAP, HistoryCut
from workbench.models.framing import MESSAGE, REPLY_PRIMING


class Arrangement(NamedTuple):
    """Everything a plan is made of."""

    draft: Draft
    fixed: Fixed
    summaries: tuple[Summary, ...]
    meter: Meter
    model: str
    live: bool


class Spend(NamedTuple):
    """What a part of the request costs; `cost` includes the framing."""

    cost: int = 0
    framing: int = 0

    @property
    def tokens(self) -> int:
        """Content alone."""
        return self.cost - self.framing

    def plus(self, other: Spend) -> Spend:
        """Both together."""
        return Spend(self.cost + other.cost, self.framing + other.framing)


def notice_text(count: int) -> str:
    """What tells the model that something is missing."""
    return f"[conversation truncated — {count} older messages omitted]"


def synthetic(
    item_id: str, slot: Slot, role: str, kind: Kind, said: Counted, stage: Stage, why: str, turn: int = 0
) -> Item:
    """A row that no event stands behind."""
    edit = Edit(stage, "sent", 0, said.tokens, why)
    return Item(
        item_id,
        None,
        turn,
        slot,
        role,
        kind,
        None,
        "sent",
        said.tokens,
        said.tokens,
        said.exact,
        False,
        (edit,),
        said.text,
        said.text,
        said.content,
    )


def arrange(parts: Arrangement) -> ContextPlan:
    """Cut history and turn to the budget and give the verdict."""
    return _Arranger(parts).plan()


class _Arranger:
    def __init__(self, parts: Arrangement) -> None:
        self._parts = parts
        self._draft = draft = parts.draft
        self._meter = parts.meter
        self._policy = parts.meter.policy
        self._capacity = parts.meter.limits.capacity
        self._units = len(draft.units)
        self._start = max(draft.openers[-1], 0)
        """The first unit of the current turn."""
        self._behind = self._start + (1 if draft.turn else 0)
        """The first unit behind its user message."""
        self._last = max(draft.last_group, self._behind)
        """What is always kept of the turn: its last iteration group, and what follows."""
        missing = draft.missing()
        self._waiting = missing if parts.live else []
        self._lacking = () if parts.live else tuple(missing)
        no_result = self._meter.no_result + MESSAGE
        self._repair = Spend(no_result * len(self._lacking), MESSAGE * len(self._lacking))
        self._held = {"history": Spend(), "turn": Spend()}
        for number in draft.held:
            cost, framing, _ = draft.own(number)
            where = "turn" if number >= self._start else "history"
            self._held[where] = self._held[where].plus(Spend(cost, framing))

    def _span(self, first: int, end: int) -> Spend:
        """The units from `first` up to `end`, but for the held ones."""
        cost, framing = self._draft.cost, self._draft.framing
        return Spend(cost[end] - cost[first], framing[end] - framing[first])

    def plan(self) -> ContextPlan:
        fixed = self._fixed()
        turn_kept = self._turn_kept()
        reserved = fixed.cost + turn_kept.cost + self._held["history"].cost + self._spare()
        middle = self._span(self._behind, self._last)
        turn_first = self._policy.history.turn_first or not self._policy.turn.drop_groups
        room = self._capacity - reserved - (middle.cost if turn_first else 0)
        cut, notice, history_why = self._cut_history(room)
        kept = self._history_kept(cut)
        left = self._capacity - reserved - kept.cost - (notice.tokens + MESSAGE if notice else 0)
        first, groups_why = self._drop_groups(middle, left)
        turn = turn_kept.plus(self._span(first, max(self._last, first)))
        opening = self._opening(cut)
        return self._result(cut, first, history_why, groups_why, kept, turn, notice, opening)

    def _fixed(self) -> Spend:
        """Fixed slots, summaries and what every request costs."""
        rows = [*self._parts.fixed.rows, *(row for summary in self._parts.summaries for row in summary.rows)]
        framing = self._parts.fixed.framing + REPLY_PRIMING
        framing += MESSAGE * sum(len(summary.rows) for summary in self._parts.summaries)
        return Spend(sum(row.tokens for row in rows) + framing, framing)

    def _turn_kept(self) -> Spend:
        """What is always kept of the turn: its user message, held units, and everything from its last iteration group on."""
        kept = self._span(self._start, self._behind).plus(self._span(self._last, self._units))
        return kept.plus(self._held["turn"]).plus(self._repair)

    # History

    def _cut_history(self, room: int) -> tuple[HistoryCut, Item | None, str]:
        policy, draft, end = self._policy.history, self._draft, self._start
        limits = self._meter.limits
        resident = history.resident_limit(policy, limits.window, limits.window_source != "guess")
        fits = policy.mode == "fit"
        cap = policy.max_tokens if fits and policy.max_tokens else NO_CAP
        whole, count = draft.cost[end], draft.messages[end]
        budget = min(room, cap) if fits else NO_CAP
        if whole <= budget and count <= resident:
            return HistoryCut(0), None, ""
        widest = self._notice(count) if policy.notice else None
        if fits and widest:
            budget = min(room - widest.tokens - MESSAGE, cap)
        cut = history.fill(draft.cost, draft.messages, end, budget, resident, self._opener_of)
        dropped = draft.messages[cut.start]
        if cut.opener >= 0:
            dropped -= draft.messages[cut.opener + 1] - draft.messages[cut.opener]
        if count > resident and whole <= budget:
            why = f"history has {count:,} messages and {resident:,} may be resident; this one is older"
        else:
            why = f"history needs {whole:,} tokens and {max(budget, 0):,} are left for it; this one is older than what fits"
        return cut, self._notice(dropped) if policy.notice and dropped else None, why

    def _notice(self, count: int) -> Item:
        why = f"{count:,} messages of history are left out"
        return synthetic("notice", "history", "system", "notice", self._meter.text(notice_text(count)), "history", why)

    def _opener_of(self, unit: int) -> tuple[int, int]:
        draft = self._draft
        turn = draft.units[unit].turn
        opener = draft.openers[turn]
        if opener in (-1, unit) or draft.units[opener].held:
            opener = -1
        return opener, draft.openers[turn + 1]

    def _history_kept(self, cut: HistoryCut) -> Spend:
        kept = self._span(cut.start, max(self._start, cut.start))
        return kept.plus(self._span(cut.opener, cut.opener + 1)) if cut.opener >= 0 else kept

    # The turn

    def _drop_groups(self, middle: Spend, room: int) -> tuple[int, str]:
        if not self._policy.turn.drop_groups or middle.cost <= room:
            return self._behind, ""
        first = groups.drop(self._draft.cost, self._behind, self._last, room)
        why = f"the turn's earlier iterations need {middle.cost:,} tokens and {max(room, 0):,} are left; the oldest give way"
        return first, why

    # The first message

    def _opening(self, cut: HistoryCut) -> Item | None:
        """A note in the user's name when the request would begin with the assistant."""
        if self._opens_with_user(cut):
            return None
        said = self._meter.text(normalise.OPENING)
        why = "a request begins with a user message; some providers refuse it otherwise"
        return synthetic("opening", "history", "user", "notice", said, "normalise", why)

    def _spare(self) -> int:
        """Room for that note, kept wherever it might be needed."""
        draft = self._draft
        plain = not draft.overrides and not self._parts.summaries and (not draft.units or draft.units[0].opener)
        return 0 if plain else self._meter.counter.count(normalise.OPENING).tokens + MESSAGE

    def _opens_with_user(self, cut: HistoryCut) -> bool:
        draft = self._draft
        early = [number for number in draft.held if number < cut.start]
        if cut.opener >= 0:
            early.append(cut.opener)
        summary = min((summary.before for summary in self._parts.summaries), default=self._units + 1)
        view = draft.view()
        for number in (*sorted(early), *range(max(cut.start, draft.first_sent()), self._units)):
            if summary <= number:
                return True
            role = draft.role(number, view)
            if role is not None:
                return role == "user"
        return True

    # The outcome

    def _result(
        self,
        cut: HistoryCut,
        first: int,
        history_why: str,
        groups_why: str,
        kept: Spend,
        turn: Spend,
        notice: Item | None,
        opening: Item | None,
    ) -> ContextPlan:
        draft, limits = self._draft, self._meter.limits
        extra = tuple(row for row in (notice, opening) if row)
        slots = dict.fromkeys(SLOTS, 0)
        for row in (
            *self._parts.fixed.rows,
            *(row for summary in self._parts.summaries for row in summary.rows),
            *extra,
        ):
            slots[row.slot] += row.tokens
        before = kept.plus(self._held["history"])
        slots["history"] += before.tokens
        slots["turn"] += turn.tokens
        items = sum(slots.values())
        framing = self._fixed().framing + before.framing + turn.framing + MESSAGE * len(extra)
        total = items + framing
        budget = Budget(
            **slots,
            framing=framing,
            margin=limits.margin,
            reserve=limits.reserve,
            free=limits.capacity - total,
        )
        repairs = len(draft.repairs) + len(self._lacking)
        original = draft.original_tokens + repairs * self._meter.no_result
        rows = (
            *self._parts.fixed.rows,
            *extra,
            *(row for summary in self._parts.summaries for row in summary.rows),
        )
        original += sum(row.original_tokens for row in rows)
        cuts = Cuts(
            draft.turn,
            self._start,
            self._behind,
            self._units,
            cut,
            first,
            frozenset(draft.held),
            history_why,
            groups_why,
            draft.result_count,
        )
        no_result = self._meter.counter.count(normalise.NO_RESULT)
        return ContextPlan(
            self._parts.model,
            limits,
            self._policy.name,
            self._verdict(total, slots),
            budget,
            Totals(total, items, framing, original),
            Rows(
                (*self._parts.fixed.rows, *extra),
                draft.view(),
                draft.units,
                cuts,
                self._parts.summaries,
                draft.repairs,
                len(draft.repairs),
                self._lacking,
                no_result,
            ),
            self._warnings(slots),
        )

    def _verdict(self, total: int, slots: dict[Slot, int]) -> Verdict:
        limits = self._meter.limits
        parts = [f"{total:,} tokens"]
        parts += [f"{limits.margin:,} margin"] if limits.margin else []
        parts += [f"{limits.reserve:,} reserve"] if limits.reserve else []
        need = total + limits.margin + limits.reserve
        spent = " + ".join(parts) + (f" = {need:,}" if len(parts) > 1 else "")
        if need > limits.window:
            largest = max(slots, key=lambda slot: slots[slot])
            over = f"{need - limits.window:,} over the window of {limits.window:,}"
            return Verdict("too_large", f"{spent}, {over}; the largest part is {largest} with {slots[largest]:,}")
        if self._waiting:
            names = ", ".join(self._draft.cells[at].wire_id for at in self._waiting)
            return Verdict("waiting", f"waiting for the result of {len(self._waiting)} calls ({names})")
        return Verdict("fits", f"{spent} of {limits.window:,}")

    def _warnings(self, slots: dict[Slot, int]) -> tuple[str, ...]:
        guide = self._policy.budget
        limits: dict[Slot, int] = {"system": guide.system_tokens, "memory": guide.memory_tokens}
        return tuple(
            f"{slot} has {slots[slot]:,} tokens; the policy's guidance is {limit:,}"
            for slot, limit in limits.items()
            if 0 < limit < slots[slot]
        )
