"""Figures of the running agents, for status bars and scripts. It reads no more than it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from workbench.compaction.triggers import size_limit
from workbench.config.errors import WorkbenchError
from workbench.context.agent_window import compacted_at
from workbench.context.load import load_policy
from workbench.live.finder import AgentSession, AgentSessionFinder, window_of
from workbench.live.known_agents import AgentHome
from workbench.live.processes import running_agents, running_paths, with_process_folders
from workbench.live.stamps import FileStamp, session_stamp
from workbench.log.events import Body, Compaction, Event, Failure, ToolCall
from workbench.log.store import Store
from workbench.models.catalogue import Catalogue
from workbench.models.ledger import Ledger
from workbench.traces import format_names
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations, read_file
from workbench.traces.references import split_ref

LARGE = 20_000_000
"""Bytes. A larger file is not read whole: this size takes a third of a second."""
PRESETS = {format_names.CODEX: "codex"}
"""By agent: the preset that compacts when the agent does."""


class WholeFigures(NamedTuple):
    """What is known of a session only after all of it was read."""

    cost: float | None = None
    compaction_size: int | None = None
    """The size at its last compaction whose trigger is `auto`, or not recorded; None: no such size is known."""
    automatic_size: int = 0
    """The size at the last one whose trigger is recorded, and is `auto`; 0: no such size is known."""
    last_tool: str = ""
    compactions: int = 0
    failures: int = 0


class AgentStatus(Struct, frozen=True):
    """The figures of one running agent."""

    session: AgentSession
    window: int | None
    compacts_at: int | None
    """The tokens at which it compacts; None: not known."""
    cost: float | None
    """US dollars for all requests of the session and its sub-agents; None: not known."""
    held: bool = False
    """Whether one of its requests waits at a breakpoint."""
    last_tool: str = ""
    """The tool that was called last; empty if none was, or if it is not known."""
    compactions: int = 0
    """How many it made so far."""
    failures: int = 0
    """How many errors it recorded so far."""

    @property
    def tokens(self) -> int | None:
        """The reported prompt tokens of the last request."""
        return None if self.session.report is None else self.session.report.prompt

    @property
    def share(self) -> float | None:
        """The used share of the window."""
        return self.tokens / self.window if self.tokens is not None and self.window else None

    @property
    def cached(self) -> float | None:
        """The share of the last prompt that came from the provider's cache."""
        report = self.session.report
        return report.cached / report.prompt if report is not None and report.prompt else None

    @property
    def left(self) -> int | None:
        """Tokens until the next compaction."""
        return None if self.compacts_at is None or self.tokens is None else max(0, self.compacts_at - self.tokens)


def running_sessions(finder: AgentSessionFinder, here: str) -> list[AgentSession]:
    """The sessions that agents are working on now. Other files are not read at all."""
    processes = running_agents()
    if not processes:
        return []

    def may_run(home: AgentHome, stamp: FileStamp) -> bool:
        changed = stamp.changed // 1_000_000 / 1000
        return any(home.agent in ("", each.agent) and changed >= each.started for each in processes)

    sessions = with_process_folders(finder.find_sessions(here, wanted=may_run), processes)
    found = running_paths(sessions, processes)
    return [each for each in sessions if each.path in found]


class StatusReader:
    """Reads whole sessions, and reads one again when it has changed."""

    def __init__(self, catalogue: Catalogue, store: Callable[[], Store]) -> None:
        """`store`: opens our own log, for sessions that are in it."""
        self._catalogue = catalogue
        self._store = store
        self._known: dict[str, tuple[FileStamp, WholeFigures]] = {}

    def read_status(self, session: AgentSession) -> AgentStatus:
        whole = self._whole(session)
        window = window_of(session, self._catalogue, whole.automatic_size)
        return AgentStatus(
            session,
            window,
            whole.compaction_size or _limit_of_preset(session.agent, window),
            whole.cost,
            last_tool=whole.last_tool,
            compactions=whole.compactions,
            failures=whole.failures,
        )

    def _whole(self, session: AgentSession) -> WholeFigures:
        path = session.path
        file, number = split_ref(path)
        stamp = FileStamp(0, 0, session.modified) if session.is_stored else session_stamp(file)
        known = self._known.get(path)
        if stamp is None or (stamp.size > LARGE and not file.endswith(".db")):
            return WholeFigures()
        if known is None or known[0] != stamp:
            try:
                bodies = self._stored(path) if session.is_stored else _in_file(file, number or 1)
            except (WorkbenchError, IndexError, ValueError):
                bodies = Recording()
            known = self._known[path] = (stamp, self._figures(bodies))
        return known[1]

    def _figures(self, bodies: list[Body]) -> WholeFigures:
        return WholeFigures(
            self._cost(bodies),
            _last_compaction_size(bodies),
            next((size for body in reversed(bodies) if (size := compacted_at(body))), 0),
            next((body.tool for body in reversed(bodies) if isinstance(body, ToolCall)), ""),
            sum(isinstance(body, Compaction) for body in bodies),
            sum(isinstance(body, Failure) for body in bodies),
        )

    def _stored(self, name: str) -> list[Body]:
        with self._store().session(name, write=False) as session:
            return [event.body for event in session.events()]

    def _cost(self, bodies: list[Body]) -> float | None:
        total = Ledger.from_events((Event(at, "", 0, body) for at, body in enumerate(bodies, 1)), self._catalogue).total
        return total.known_cost if total.requests else None


def _in_file(path: str, number: int) -> list[Body]:
    return read_conversations(*read_file(path, growing=True), number, path)[number - 1]


def _last_compaction_size(bodies: list[Body]) -> int | None:
    found = None
    for body in bodies:
        if isinstance(body, Compaction) and body.meta.get("trigger", "auto") == "auto":
            before = body.meta.get("tokens_before")
            found = before if isinstance(before, int) and before > 0 else found
    return found


def _limit_of_preset(agent: str, window: int | None) -> int | None:
    if agent not in PRESETS or not window:
        return None
    return size_limit(load_policy(PRESETS[agent], env={}).policy.compaction, window) or None
