"""An open session of the store, or an open file, with its plan. Used in the session's thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, field

from workbench.agent.loop import Agent
from workbench.agent.tools.base import Tool
from workbench.compaction.triggers import compacts_at
from workbench.config.errors import Refused
from workbench.config.values import replace
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.policy_names import RECORDED
from workbench.context.setup import Setup
from workbench.log.events import Body, Compaction, Event, Failure, UserMessage
from workbench.log.session import Session
from workbench.models.catalogue import REHEARSAL
from workbench.models.ledger import Ledger
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.requests import RequestMarks, last_reported
from workbench.views.context_view import ContextView, LogQueries
from workbench.views.transcript import EntryIndex, LogTranscript, PastRequest
from workbench.views.values import FILE

CHANGED_NOW = "the session has just grown; try again in a moment"


class OpenSession(Struct):
    """One source under one setup."""

    name: str
    """The name on the screen: a title, else an id; for a file its path."""
    session: Session | None
    """None for a file."""
    events: list[Event]
    setup: Setup
    policy: str
    """As the user named it: a name or a path."""
    planner: Planner
    ledger: Ledger
    entries: EntryIndex
    requests: RequestMarks
    recorded: RecordedSession | None = None
    """The requests that another agent recorded; None: the session is ours."""
    agent: Agent | None = None
    """Set from the first turn on. Then its planner is used instead of `planner`."""
    knobs: tuple[str, ...] = ()
    """Set in this session, in the form `masking.keep_last=3`."""
    ref: str = ""
    """The reference of a file: its path, and which conversation in it. Empty for a session."""
    asked: Options = field(default_factory=Options)
    """The user's options, from the opening and from later changes. A file that is read again is opened with them."""
    ours: bool = False
    """Created by us, without a message. It is deleted when it is closed if it still has none."""
    lacks_key: bool = False
    """Whether the model needs a key and none was found."""
    off: tuple[str, ...] = ()
    """Tools that the user switched off for this session."""
    served: tuple[Tool, ...] = ()
    """Tools of MCP servers, once those have listed them."""
    compactions: int = 0
    """How many compactions the log has, also those that were undone."""
    failures: int = 0
    """How many errors the log has."""
    taken: int = field(default=0)
    """How many events the ledger has received."""

    @property
    def identity(self) -> str:
        """The reference of a file, or the id of a session: the same whenever it is opened."""
        return self.ref or (self.session.id if self.session is not None else "")

    @property
    def writable(self) -> bool:
        """Whether anything can be appended."""
        return self.session is not None and self.session.writable

    @property
    def calls_may_return(self) -> bool:
        """Whether calls without results may still get them.

        That is so while a process writes the session, but not if another agent recorded it and we are the writer.
        """
        if self.session is None or (self.recorded is not None and self.writable):
            return False
        return self.session.is_written or self.session.writable

    @property
    def why_read_only(self) -> str:
        """Why nothing can be appended; empty if `writable`."""
        if self.session is None:
            return FILE
        return "" if self.session.writable else self.session.why_read_only

    @property
    def is_rehearsed(self) -> bool:
        """Whether the model is the rehearsal model, which is no AI."""
        return self.setup.model.partition("/")[0] == REHEARSAL

    @property
    def plan(self) -> ContextPlan:
        """The plan of the next request."""
        return self.agent.plan if self.agent is not None else self.planner.plan()

    @property
    def view(self) -> Literal["", "recorded", "what-if"]:
        """How another agent's session is shown; empty: the session is ours."""
        if self.recorded is None:
            return ""
        return "recorded" if self.policy == RECORDED else "what-if"

    @property
    def last_prompt(self) -> int | None:
        """The reported tokens of the last request; None before the first one, and after a compaction of ours."""
        if self.recorded is None:
            return self.ledger.last.prompt if self.ledger.last is not None else None
        last = last_reported(self.requests.marks)
        return self.requests.marks[last].reported if last >= 0 else None

    @property
    def has_user_message(self) -> bool:
        """Whether the log has a message of the user."""
        return any(isinstance(event.body, UserMessage) for event in self.events)

    def begin_writing(self) -> None:
        """Become the session's writer, with all that others appended. Raises Refused if that is not possible."""
        session = self.session
        if session is None:
            raise Refused(FILE)
        if session.is_writer:
            return
        if not session.take_over():
            raise Refused(session.why_read_only)
        if self.recorded is None:
            self.refresh()
        elif session.refresh():  # its requests have to be read again first
            session.let_others_write()
            raise Refused(CHANGED_NOW)

    def append(self, *bodies: Body) -> None:
        """Append to the log, then update the plan."""
        if not bodies:
            return
        self.begin_writing()
        assert self.session is not None
        if self.agent is not None:
            self.agent.append(*bodies)
        else:
            self.planner.extend(self.session.append(*bodies))
        self.catch_up()

    def catch_up(self) -> None:
        """Update everything with the events that the agent appended."""
        planner = self.agent.planner if self.agent is not None else self.planner
        self.events += planner.events[len(self.events) :]
        self._read_new_events()

    def refresh(self) -> bool:
        """Update everything with the events that another process appended. Return whether there were any."""
        assert self.session is not None
        fresh = self.session.refresh()
        self.events += fresh
        self.planner.extend(fresh)
        self._read_new_events()
        return bool(fresh)

    def _read_new_events(self) -> None:
        self.entries.catch_up()
        self.requests.catch_up(self.events)
        for event in self.events[self.taken :]:
            self.ledger.add_event(event)
            self.compactions += isinstance(event.body, Compaction)
            self.failures += isinstance(event.body, Failure)
        self.taken = len(self.events)

    def adopt(self, setup: Setup, policy: str, knobs: Sequence[str], planner: Planner) -> None:
        """Continue under another setup."""
        self.setup, self.policy, self.knobs, self.planner = setup, policy, tuple(knobs), planner
        self.agent = None

    def ask_for(self, model: str, policy: str, knobs: Sequence[str]) -> None:
        """Note that the user wants these knobs and, if not empty, this model and policy."""
        asked = self.asked
        self.asked = replace(asked, model=model or asked.model, policy=policy or asked.policy, knobs=tuple(knobs))

    # Values for the panes

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
        """The conversation, with the state of each part in the request that is shown."""
        past = None if shown.at is None else PastRequest(shown.at + 1, shown.events, shown.is_newest)
        return LogTranscript(self.entries, shown.plan, past)
