"""Continuing another agent's session here: the changes, shown before they are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from workbench.config.text import counted
from workbench.context.control import CONTROL, compaction_range, in_effect
from workbench.context.items import State
from workbench.context.plan import ContextPlan
from workbench.context.policy_names import DEFAULT, RECORDED
from workbench.log.events import Compaction, Event
from workbench.session.open_session import OpenSession
from workbench.session.opening import Replanned, note_model, replan_session, wanted_slots
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.wire.event_builder import is_sealed

_CUT: tuple[State, ...] = ("truncated", "masked", "dropped")
"""The states that a policy may give an item without a summary."""


class AdoptionChanges(NamedTuple):
    """The next request as it was recorded, compared with the request when the session is continued here."""

    policy: str
    before: int
    after: int
    """Tokens of the request without the user's next message; so is `before`."""
    cut: tuple[tuple[State, int], ...]
    """How many more items are in each of these states."""
    not_in_log: int
    """Tokens of the other agent's instructions and tools that its file does not hold."""
    own: int
    """Tokens of this program's instructions and tools."""
    sealed: tuple[int, int] = (0, 0)
    """The first and the last event that only an encrypted summary represents; 0: none."""

    @property
    def words(self) -> str:
        """The changes, in a few sentences."""
        cut = ", ".join(f"{number:,} {state}" for state, number in self.cut)
        why = f" ({cut})" if cut else ""
        sentences = (
            f"It continues under {self.policy}: {self.before:,} → {self.after:,} tokens before your message{why}."
        )
        if self.not_in_log:
            sentences += (
                f" About {counted(self.not_in_log, 'token')} that are not in the file (system prompt, tools, thinking"
                f" of its agent) are not sent; instructions and tools of this program are, {self.own:,}."
            )
        else:
            sentences += f" Instructions and tools are this program's, {counted(self.own, 'token')}."
        first, last = self.sealed
        if last:
            sentences += (
                f" The summary of the events {first:,} to {last:,} is encrypted, so the model here sees nothing of"
                " them; u in the compaction pane (F4) brings the events themselves back."
            )
        return sentences


def adoption_changes(services: Services, options: Options, opened: OpenSession) -> AdoptionChanges:
    """The changes that continuing here would make. Plans the log from scratch, so call it in the background."""
    return _compared(opened, _as_ours(services, options, opened))


def _as_ours(services: Services, options: Options, opened: OpenSession) -> Replanned:
    model = "" if opened.setup.model else services.default_model
    return replan_session(services, options, opened, model, policy_here(services, opened), as_ours=True)


def _compared(opened: OpenSession, change: Replanned) -> AdoptionChanges:
    before, planner = opened.plan, change.planner.at_this_moment()
    fresh = wanted_slots(opened, change.setup, planner)
    planner.extend(Event(seq, f"slot-{seq}", 0, body) for seq, body in enumerate(fresh, change.length + 1))
    after = planner.plan()
    change.setup.counter.flush()
    budget = after.budget
    more = _states(after) - _states(before)
    return AdoptionChanges(
        change.policy,
        before.size,
        after.size,
        tuple((state, more[state]) for state in _CUT if more[state]),
        before.unattributed,
        budget.system + budget.instructions + budget.memory + budget.tools,
        _sealed(opened.events),
    )


def _sealed(events: Sequence[Event]) -> tuple[int, int]:
    """The first and the last event that only encrypted summaries represent; zeros if none."""
    stood = in_effect([event for event in events if type(event.body) in CONTROL]).compactions
    ranges = [compaction_range(each) for each in stood if isinstance(each.body, Compaction) and is_sealed(each.body)]
    return (min(first for first, _ in ranges), max(last for _, last in ranges)) if ranges else (0, 0)


def _states(plan: ContextPlan) -> Counter[State]:
    return Counter(row.state for row in plan.items if row.unit >= 0)


def policy_here(services: Services, opened: OpenSession) -> str:
    """The policy for another agent's session here: the one that was tried on it, else that of the settings."""
    return opened.policy if opened.policy != RECORDED else services.settings.policy or DEFAULT


def adopt_session(services: Services, options: Options, opened: OpenSession) -> AdoptionChanges:
    """Continue another agent's session as our own: under a policy, with our counts. Return what changed."""
    change = _as_ours(services, options, opened)
    changes = _compared(opened, change)
    opened.recorded = None
    opened.adopt(change.setup, change.policy, change.knobs, change.planner)
    note_model(opened)
    opened.append(*change.settings)
    return changes
