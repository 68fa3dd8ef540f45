"""What the inspector draws, what it may ask about it, and the requests it can step through.

Knows nothing of the screen, and may be asked from any thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Protocol

from workbench.context.control import CONTROL
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import (
    AssistantMessage,
    Event,
    Override,
    OverrideAction,
    Reasoning,
    SlotContent,
    ToolCall,
    Usage,
    UserMessage,
)
from workbench.models.ledger import Ledger


class OverrideWish(NamedTuple):
    """One override, as it would be appended."""

    action: OverrideAction
    first: int
    last: int


class RequestMark(NamedTuple):
    """One request of the session."""

    upto: int
    """The last event it was planned from: what `Travel` names."""
    turn: int
    model: str = ""
    tokens: int = 0
    """Its prompt as the provider counted it, else as we did; 0 where nobody wrote it down."""


class SessionQueries(Protocol):
    """Answers to what a pane may not work out itself. All are pure, and too slow for the screen's own thread."""

    def event(self, seq: int) -> Event | None:
        """An event of the log."""
        ...

    def what_if(self, decisions: Sequence[OverrideWish]) -> ContextPlan:
        """The plan as it would be with these overrides."""
        ...

    def spans(self, text: str) -> list[str]:
        """The text cut into its tokens."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ContextView:
    """What the screen draws. Compared by identity, because comparing two plans looks at every row."""

    plan: ContextPlan
    policy: str
    """The policy as it was asked for: a name or a path."""
    about_policy: str
    note: str
    """Whose tokenizer counted."""
    events: int
    """How long the log is, so that the widest sequence number is known without looking for it."""
    queries: SessionQueries | None = None
    """Whom to ask for what a plan does not hold; None: nobody."""
    requests: Sequence[RequestMark] = ()
    """The requests one can step back to, oldest first."""
    at: int | None = None
    """The request that is shown, by its place among them; None: the context as it is now."""
    before: ContextPlan | None = None
    """The request before the one that is shown, to tell what changed; None: there is none, or now is shown."""
    compact_at: int = 0
    """From how many tokens on the policy compacts; 0: by size it does not."""
    ledger: Ledger | None = None
    fixed: str = ""
    """Why nothing can be changed; empty: it can."""


class LogQueries:
    """The answers for a log under a setup."""

    def __init__(self, events: Sequence[Event], setup: Setup, *, live: bool = False) -> None:
        """What is appended to `events` later does not exist here."""
        self._events = events
        self._length = len(events)
        self._setup = setup
        self._live = live

    def event(self, seq: int) -> Event | None:
        """Sequence numbers have no gaps."""
        return self._events[seq - 1] if 0 < seq <= self._length else None

    def what_if(self, decisions: Sequence[OverrideWish]) -> ContextPlan:
        """Planned from the beginning: the session's own planner must not hear of what is only asked."""
        asked = [
            Event(seq, f"what-if-{seq}", 0, Override(*decision))
            for seq, decision in enumerate(decisions, self._length + 1)
        ]
        planner = self._setup.planner([*islice(self._events, self._length), *asked], live=self._live)
        return planner.plan()

    def spans(self, text: str) -> list[str]:
        """By the tokenizer that counted the rows."""
        return self._setup.counter.spans(text)


def runs(queries: SessionQueries, decided: Sequence[tuple[int, OverrideAction]]) -> list[OverrideWish]:
    """Decisions on single events, in order, put together to as few overrides as there can be.

    What lies between two events and is no row (settings, other overrides) does no harm inside a range.
    """
    found: list[OverrideWish] = []
    for seq, action in sorted(decided):
        last = found[-1] if found else None
        if last is not None and last.action == action and _no_rows(queries, last.last + 1, seq):
            found[-1] = last._replace(last=seq)
        else:
            found.append(OverrideWish(action, seq, seq))
    return found


def _no_rows(queries: SessionQueries, first: int, end: int) -> bool:
    if end - first > len(CONTROL):
        return False
    between = [queries.event(seq) for seq in range(first, end)]
    return all(event and type(event.body) in CONTROL and type(event.body) is not SlotContent for event in between)


class RequestMarks:
    """The requests of a log, kept up to date event by event.

    A request is known by its usage. A transcript has none: there a request was made wherever a reply begins.
    """

    def __init__(self) -> None:
        self._reported: list[RequestMark] = []
        self._replies: list[RequestMark] = []
        self._turn = 0
        self._reply: str | None = None
        """The reply that is being given; None: somebody else spoke last."""

    def add(self, event: Event) -> None:
        """Take in one event."""
        body = event.body
        match body:
            case UserMessage():
                self._turn += 1
                self._reply = None
            case Usage():
                tokens = body.estimate if body.prompt is None else body.prompt
                mark = RequestMark(body.upto or event.seq - 1, self._turn, body.model, tokens)
                self._reported.append(mark)
            case AssistantMessage() | Reasoning() | ToolCall():
                if self._reply is None or body.reply != self._reply:
                    model = body.model if isinstance(body, AssistantMessage) else ""
                    self._replies.append(RequestMark(event.seq - 1, self._turn, model))
                self._reply = body.reply
            case _ if type(body) not in CONTROL:
                self._reply = None

    @property
    def marks(self) -> Sequence[RequestMark]:
        """In order; the list grows with the log."""
        return self._reported or self._replies
