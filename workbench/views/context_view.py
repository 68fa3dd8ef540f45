"""What the inspector draws, the queries it can make, and the requests it can step through.

Independent of the screen, and callable from any thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec import Struct

from workbench.config.text import percent
from workbench.context.control import CONTROL, compaction_range, reverted_events
from workbench.context.items import State, state_words
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import Compaction, Event, Override, OverrideAction, Setting, SlotContent
from workbench.models.calibration import Calibration
from workbench.models.ledger import Ledger
from workbench.sources.planned_under import PLANNED_UNDER
from workbench.sources.requests import RequestMark, is_main
from workbench.views.row_lookup import row_of

if TYPE_CHECKING:
    from workbench.views.item_effects import ItemEffects

COUNTING = "counted otherwise"
"""Names the difference between the provider's count and ours, if the rows are the whole request."""
MOST_PLANNED = 20_000
"""In logs of up to this many events, all past requests are planned to answer `since`."""


_DECIDING = ("policy", "model", "knobs", "window", PLANNED_UNDER)
"""Settings that change how requests are planned."""


class SessionQueries(Protocol):
    """Queries that a pane does not compute itself. All are pure, and too slow for the screen's own thread."""

    def event(self, seq: int) -> Event | None: ...

    def what_if(self, decisions: Sequence[Override]) -> ContextPlan:
        """The plan as it would be with these overrides."""
        ...

    def since(self, seq: int, state: State) -> str:
        """In words, since which request an event is in a state; empty: unknown."""
        ...

    def spans(self, text: str) -> list[str]:
        """The text cut into its tokens."""
        ...

    def effects(self, at: int | None) -> ItemEffects | None:
        """What `explain` found about a request (None: the last one that the log has whole); None: nothing yet."""
        ...


class Exactness(NamedTuple):
    """How much of another agent's request is in its file."""

    exact: bool
    """Whether the file has the request itself, and not only what it was made from."""
    missing: int
    """Tokens that were reported and are in no row; 0 if there are none, or if nothing was reported."""

    @classmethod
    def of_request(cls, mark: RequestMark, plan: ContextPlan) -> Exactness:
        """The exactness of a request. If the file has all of it, tokens in no row are a difference in counting."""
        return cls(mark.exact, 0 if mark.exact else max(0, plan.unattributed))

    def __str__(self) -> str:
        if self.exact:
            return "exact"
        return f"partial: about {self.missing:,} not in the file" if self.missing else "partial"


class ContextView(Struct, frozen=True, eq=False):
    """What the inspector draws. Compared by identity, because comparing two plans reads every row."""

    plan: ContextPlan
    policy: str
    """The policy as the user named it: a name or a path."""
    note: str
    """Which tokenizer counted."""
    events: int
    """The length of the log. It gives the width of the widest sequence number."""
    queries: SessionQueries | None = None
    """Answers what the plan does not contain; None: not available."""
    requests: Sequence[RequestMark] = ()
    """The requests that the user can step back to, oldest first."""
    at: int | None = None
    """The index of the request that is shown; None: the current context."""
    before: ContextPlan | None = None
    """The plan of the request before the one that is shown, to see what changed; None: there is none."""
    compact_at: int = 0
    """The policy compacts from this many tokens on; 0: it does not compact by size."""
    ledger: Ledger | None = None
    fixed: str = ""
    """Why nothing can be changed; empty if it can."""
    view: Literal["", "recorded", "what-if"] = ""
    """For another agent's session: as it was recorded, or under a policy of ours; empty: the session is ours."""
    reported: int | None = None
    """The tokens reported for the recorded request, even if `plan` is a what-if."""
    calibration: Calibration | None = None
    """The correction of our counts that we learnt from the reports of another agent's session."""

    @property
    def is_newest(self) -> bool:
        """Whether the last request of the main conversation is shown."""
        main = is_main(self.requests)
        return self.at is not None and not any(map(main, self.requests[self.at + 1 :]))

    @property
    def exactness(self) -> Exactness | None:
        """The exactness of another agent's request; None for a plan that was never sent."""
        if self.view != "recorded" or (self.at is None and any(each.reported for each in self.requests)):
            return None
        if self.at is None:
            return Exactness(False, 0)
        return Exactness.of_request(self.requests[self.at], self.plan)

    @property
    def rest(self) -> str:
        """In words, which part of the request is in none of its rows."""
        tokens, learnt = self.plan.unattributed, self.calibration
        if self.plan.reported is None and learnt is not None:
            spread = "" if learnt.spread is None else f", ±{percent(learnt.spread, 1)}"
            return f"calibrated{spread}: {unattributed_words(self.plan)}"
        return unattributed_words(self.plan) if self.view or tokens < 0 else "counted by the provider, but not here"


def unattributed_words(plan: ContextPlan) -> str:
    """In words, which part of another agent's request is in no row."""
    if plan.whole:
        return f"the provider counts {'more' if plan.unattributed >= 0 else 'fewer'} tokens than we do"
    if not plan.totals.tokens:
        return "all of the request: what it held is not in the log"
    known = plan.known_rest
    if known.tokens:
        parts = zip(known, ("system prompt and tools", "thinking"), strict=True)
        named = [f"{tokens:,} {what}" for tokens, what in parts if tokens]
        other = plan.unattributed - known.tokens
        return ", ".join([*named, *([f"{other:+,} counted otherwise"] if other else [])])
    return (
        "system prompt, tools, hidden thinking" if plan.unattributed >= 0 else "counted here, but not by the provider"
    )


class LogQueries:
    """The answers for a log under a setup."""

    def __init__(
        self, events: Sequence[Event], setup: Setup, requests: Sequence[RequestMark] = (), *, live: bool = False
    ) -> None:
        """Ignores what is appended to `events` later."""
        self._events = events
        self._length = len(events)
        self._setup = setup
        self._requests = requests
        self._live = live

    def event(self, seq: int) -> Event | None:
        """Sequence numbers have no gaps."""
        return self._events[seq - 1] if 0 < seq <= self._length else None

    def what_if(self, decisions: Sequence[Override]) -> ContextPlan:
        """Planned from the beginning: the session's own planner must not see overrides that are only tried."""
        asked = [Event(seq, f"what-if-{seq}", 0, body) for seq, body in enumerate(decisions, self._length + 1)]
        planner = self._setup.planner([*islice(self._events, self._length), *asked], live=self._live)
        return planner.plan()

    def since(self, seq: int, state: State) -> str:
        """The last unbroken run of requests that had the event in this state, in words."""
        if state == "summarised":
            return self._summarised(seq)
        if self._length > MOST_PLANNED:
            return ""
        past = self._past
        had = [_state_at(plan, seq) == state for _, plan in past]
        last = len(had) - 1 - had[::-1].index(True) if True in had else -1
        if last < 0:
            return ""
        first = last
        while first and had[first - 1]:
            first -= 1
        words, number = state_words(state), past[first][0]
        if last < len(had) - 1:
            return f"{words} in requests {number:,} to {past[last][0]:,}"
        if not number:
            return f"{words} from the next request on"
        return f"{words} {'at least ' if first == 0 and seq < self._changed else ''}since request {number:,}"

    @cached_property
    def _changed(self) -> int:
        """The last change of model or policy: requests before it were planned differently. 0: none."""
        events = islice(self._events, self._length)
        return max((event.seq for event in events if _changes_policy(event)), default=0)

    @cached_property
    def _past(self) -> list[tuple[int, ContextPlan]]:
        """The requests of the conversation by number, and the next one as 0, planned under the current setup."""
        main, planner = is_main(self._requests), self._setup.planner()
        found = []
        marks = [(number, mark.upto) for number, mark in enumerate(self._requests, 1) if main(mark)]
        for number, upto in (*marks, (0, self._length)):
            if self._changed <= upto <= self._length:
                planner.extend(self._events[len(planner.events) : upto])
                found.append((number, planner.plan()))
        return found

    def _summarised(self, seq: int) -> str:
        """Empty (unknown) if the user decided about the event: a pin may have kept it for a while."""
        later = [event for event in islice(self._events, seq, self._length) if type(event.body) in CONTROL]
        if any(isinstance(event.body, Override) and event.body.first <= seq <= event.body.last for event in later):
            return ""
        undone = reverted_events(later)
        covering = [
            event.seq
            for event in later
            if isinstance(event.body, Compaction) and event.seq not in undone and _covers(event, event.body, seq)
        ]
        if not covering:
            return ""
        first, newest = covering[0], covering[-1]
        which = f"compaction #{first}"
        if newest != first:
            which = f"summarised first by {which}, then again with its summary by #{newest}"
        return f"{which}: {self._gone(seq, first)}"

    def _gone(self, seq: int, compaction: int) -> str:
        """In words, which requests had an event that a compaction summarised."""
        main = is_main(self._requests)
        marks = [(number, mark.upto) for number, mark in enumerate(self._requests, 1) if main(mark)]
        had = [number for number, upto in marks if seq <= upto < compaction]
        after = next((f"request {number:,}" for number, upto in marks if upto >= compaction), "the next request")
        return f"sent in requests {had[0]:,} to {had[-1]:,}, gone from {after}" if had else f"gone from {after}"

    def spans(self, text: str) -> list[str]:
        """Uses the tokenizer that counted the rows."""
        return self._setup.counter.spans(text)

    def effects(self, at: int | None) -> ItemEffects | None:
        """Reads what is kept in the cache folder."""
        from workbench.views.item_effects import kept_effects  # most sessions never need it

        return kept_effects(list(islice(self._events, self._length)), self._requests, at, self._setup)


def _changes_policy(event: Event) -> bool:
    return isinstance(event.body, Setting) and event.body.key in _DECIDING


def _state_at(plan: ContextPlan, seq: int) -> State | None:
    at = row_of(plan.items, seq)
    return plan.items[at].state if at is not None and plan.items[at].seq == seq else None


def _covers(event: Event, body: Compaction, seq: int) -> bool:
    first, last = compaction_range(event)
    return first <= seq <= last and all(kept.seq != seq for kept in body.kept)


def merge_overrides(queries: SessionQueries, decided: Sequence[tuple[int, OverrideAction]]) -> list[Override]:
    """Merge decisions on single events into as few overrides as possible.

    A range may include events that are no rows (settings, other overrides).
    """
    found: list[Override] = []
    for seq, action in sorted(decided):
        last = found[-1] if found else None
        if last is not None and last.action == action and _no_rows(queries, last.last + 1, seq):
            found[-1] = Override(action, last.first, seq)
        else:
            found.append(Override(action, seq, seq))
    return found


def _no_rows(queries: SessionQueries, first: int, end: int) -> bool:
    if end - first > len(CONTROL):
        return False
    between = [queries.event(seq) for seq in range(first, end)]
    return all(event and type(event.body) in CONTROL and type(event.body) is not SlotContent for event in between)
