"""The context that an agent asks about: its own session, read again when it has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.agent.tools.peek import excluded_events
from workbench.config.errors import WorkbenchError
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.live.finder import AgentSession
from workbench.live.stamps import FileStamp, session_stamp
from workbench.live.status import AgentStatus, StatusReader
from workbench.mcp_server.asking_agent import OwnSession
from workbench.sources.found_plans import FoundPlan, find_plan
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import Source, names_file
from workbench.traces.references import split_ref


class NoOwnSession(WorkbenchError):
    """There is no session that the question can be about."""


@dataclass(frozen=True)
class AskedContext:
    """A session at one moment, with the plan of its last request."""

    source: Source
    found: FoundPlan
    session: AgentSession | None
    """What the list of agents knows about it; None for a session of this program."""
    status: AgentStatus | None
    chosen: str
    """How the session was chosen."""

    @property
    def plan(self) -> ContextPlan:
        """The last request with a report; of our own session, the next one."""
        return self.found.plan

    @cached_property
    def next_tokens(self) -> int:
        """The expected tokens of the next request."""
        return self.plan.size if self.found.recorded is None else self.found.recorded.next_size

    @cached_property
    def rows(self) -> Mapping[int, Item]:
        """What became of each event, as far as the plan goes."""
        recorded, plan = self.found.recorded, self.plan
        if recorded is not None and plan.whole:  # a request that was kept whole does not have what it leaves out
            plan = recorded.plan_upto(len(recorded.events))
        return {row.seq: row for row in plan.items if row.seq is not None and row.kind != "aside"}

    @cached_property
    def hidden(self) -> frozenset[int]:
        """Events that must not be shown: the user of our own session excluded them."""
        return frozenset() if self.source.recorded else excluded_events(self.source.events)


def read_asked_context(
    services: Services, ref: str, session: AgentSession | None, status: AgentStatus | None = None, chosen: str = ""
) -> AskedContext:
    """The context of a session, which may be growing. Raises WorkbenchError if it cannot be read."""
    source = services.source(ref, growing=True)
    return AskedContext(source, find_plan(services, source, Options()), session, status, chosen)


class ContextReader:
    """Reads the session that a call is about."""

    def __init__(self, services: Services, find: Callable[[Mapping[str, Any]], OwnSession], ref: str = "") -> None:
        """`find`: finds the session by what a client says about its call. `ref`: the session, if the user named it."""
        self._services = services
        self._find = find
        self._ref = ref
        self._status = StatusReader(services.catalogue, lambda: services.store)
        self._last: tuple[str, FileStamp, AskedContext] | None = None

    def read_context(self, meta: Mapping[str, Any]) -> AskedContext:
        """The context of the agent that asks. Raises WorkbenchError if it cannot be read."""
        session, chosen = self._chosen(meta)
        ref = self._ref if session is None else session.ref
        stamp = session_stamp(split_ref(ref)[0]) if names_file(ref) else None
        if self._last is not None and stamp is not None and self._last[:2] == (ref, stamp):
            return self._last[2]
        status = None if session is None else self._status.read_status(session)
        made = read_asked_context(self._services, ref, session, status, chosen)
        self._last = None if stamp is None else (ref, stamp, made)
        return made

    def _chosen(self, meta: Mapping[str, Any]) -> tuple[AgentSession | None, str]:
        if self._ref:
            return self._services.agents.session_at(self._ref), "named with --session"
        found = self._find(meta)
        if found.session is None:
            raise NoOwnSession(found.why)
        return found.session, found.why
