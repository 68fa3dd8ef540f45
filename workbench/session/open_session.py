"""What is open: a session of the store or a file, with its plan. Lives in the session's thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from workbench.agent.loop import Agent
from workbench.agent.tools.base import Tool
from workbench.compaction.triggers import compacts_at
from workbench.context.load import RECORDED
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.setup import Setup
from workbench.log.events import Body, Event, UserMessage
from workbench.log.session import Session
from workbench.models.catalogue import REHEARSAL
from workbench.models.ledger import Ledger
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.requests import RequestMarks, last_reported
from workbench.views.context_view import ContextView, LogQueries
from workbench.views.transcript import Entries, LogTranscript, PastRequest
from workbench.views.values import FILE


@dataclass(slots=True)
class OpenSession:
    """One source, under one setup."""

    name: str
    """What people call it: a title, else an id; a file's path."""
    session: Session | None
    """None for a file."""
    events: list[Event]
    setup: Setup
    policy: str
    """As it was asked for: a name or a path."""
    planner: Planner
    ledger: Ledger
    entries: Entries
    requests: RequestMarks
    recorded: RecordedSession | None = None
    """What another agent recorded; None: the session is ours."""
    agent: Agent | None = None
    """From the first turn on; then its planner is the one that counts."""
    knobs: tuple[str, ...] = ()
    """Set in this session, as `masking.keep_last=3`."""
    ref: str = ""
    """What a file was opened by: its path, and which conversation of it."""
    asked: Options = field(default_factory=Options)
    """What the user asked for, when it was opened and since; a file that is read anew is opened so."""
    ours: bool = False
    """Made by us and empty so far: it goes again when nothing was said in it."""
    lacks_key: bool = False
    """The model needs a key, and none was found."""
    off: tuple[str, ...] = ()
    """Tools that the user switched off for this session."""
    served: tuple[Tool, ...] = ()
    """Tools of servers, once those were asked."""
    taken: int = field(default=0)
    """How many events the ledger and the rest have."""

    @property
    def writable(self) -> bool:
        """Whether anything can be appended."""
        return self.session is not None and self.session.writable

    @property
    def calls_may_return(self) -> bool:
        """Whether calls without results may still get them: in a session that is written, but not one that another
        agent recorded and that only we can write any more."""
        if self.session is None or (self.recorded is not None and self.writable):
            return False
        return self.session.is_written

    @property
    def why_read_only(self) -> str:
        """Why not; empty when it can."""
        if self.session is None:
            return FILE
        return "" if self.session.writable else self.session.why_read_only

    @property
    def stands_in(self) -> bool:
        """Whether the model is no AI."""
        return self.setup.model.partition("/")[0] == REHEARSAL

    @property
    def plan(self) -> ContextPlan:
        """What the model would see now."""
        return self.agent.plan if self.agent is not None else self.planner.plan()

    @property
    def view(self) -> Literal["", "recorded", "what-if"]:
        """How another agent's session is looked at; empty: this one is ours."""
        if self.recorded is None:
            return ""
        return "recorded" if self.policy == RECORDED else "what-if"

    @property
    def last_prompt(self) -> int | None:
        """The last request as it was reported; None before the first one, and since a compaction of ours."""
        if self.recorded is None:
            return self.ledger.last.prompt if self.ledger.last is not None else None
        last = last_reported(self.requests.marks)
        return self.requests.marks[last].reported if last >= 0 else None

    @property
    def said(self) -> bool:
        """Whether the user has said anything."""
        return any(isinstance(event.body, UserMessage) for event in self.events)

    def append(self, *bodies: Body) -> None:
        """Write to the log, then to the plan."""
        assert self.session is not None
        if self.agent is not None:
            self.agent.append(*bodies)
        else:
            self.planner.extend(self.session.append(*bodies))
        self.catch_up()

    def catch_up(self) -> None:
        """Take in what the agent appended."""
        planner = self.agent.planner if self.agent is not None else self.planner
        self.events += planner.events[len(self.events) :]
        self._take()

    def refresh(self) -> bool:
        """Take in what another process appended; whether there was anything."""
        assert self.session is not None
        fresh = self.session.refresh()
        self.events += fresh
        self.planner.extend(fresh)
        self._take()
        return bool(fresh)

    def _take(self) -> None:
        self.entries.catch_up()
        for event in self.events[self.taken :]:
            self.ledger.add(event)
            self.requests.add_event(event)
        self.taken = len(self.events)

    def adopt(self, setup: Setup, policy: str, knobs: Sequence[str], planner: Planner) -> None:
        """Go on under another setup."""
        self.setup, self.policy, self.knobs, self.planner = setup, policy, tuple(knobs), planner
        self.agent = None

    def ask_for(self, model: str, policy: str, knobs: Sequence[str]) -> None:
        """The user wants another model or policy, where they are named, and these knobs."""
        asked = self.asked
        self.asked = replace(asked, model=model or asked.model, policy=policy or asked.policy, knobs=tuple(knobs))

    # What the panes draw

    def shown(self) -> ContextView:
        """The context as it is now."""
        setup = self.agent.setup if self.agent is not None else self.setup
        return ContextView(
            self.plan,
            self.policy,
            setup.counter.note,
            len(self.events),
            queries=LogQueries(self.events, setup, self.requests.marks, live=self.calls_may_return),
            requests=self.requests.marks,
            compact_at=compacts_at(setup.loaded.policy.compaction, self.plan),
            ledger=self.ledger,
            fixed=self.why_read_only,
            view=self.view,
            reported=self.last_prompt if self.view else None,
            calibration=self.setup.calibration,
        )

    def transcript(self, shown: ContextView) -> LogTranscript:
        """The conversation, with what became of each part of it in the request that is shown."""
        past = None if shown.at is None else PastRequest(shown.at + 1, shown.events, shown.is_newest)
        return LogTranscript(self.entries, shown.plan, past)
