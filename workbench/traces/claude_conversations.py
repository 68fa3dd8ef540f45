"""Which conversation a line of Claude Code belongs to: a session's, or a sub-agent's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from workbench.traces.claude_fields import REQUEST_KINDS, SessionLine


class LineReader(Protocol):
    """A reader of one conversation."""

    def read_line(self, line: SessionLine) -> None: ...

    def has_line(self, uuid: str) -> bool:
        """Whether a line is part of this conversation."""


R = TypeVar("R", bound=LineReader)


class ClaudeConversations(Generic[R]):
    """The conversations of a file, by session and sub-agent."""

    def __init__(self, make: Callable[[], R]) -> None:
        """`make`: makes the reader of a conversation."""
        self.made: dict[tuple[str, str], R] = {}
        self._make = make
        self._sessions: dict[str, str] = {}
        """The session that each session continues, or itself."""
        self._session = ""
        """The session of the last line."""
        self._roots: dict[str, str] = {}
        """By line: its conversation, for sub-agents without a name."""

    def read_line(self, line: SessionLine) -> None:
        """Read the next line of the file."""
        session = self._sessions.get(line.session)
        self._session = self._session_of(line) if session is None else session
        key = (self._session, self._agent(line))
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = self._make()
        found.read_line(line)

    def session(self) -> R | None:
        """The session of the last line, its own or a sub-agent's; None if the file has only the sub-agent."""
        return self.made.get((self._session, ""))

    def _session_of(self, line: SessionLine) -> str:
        named = line.session or line.printed_session
        if named in self._sessions:
            return self._sessions[named]
        if not named or line.type not in ("user", "assistant", "system", "attachment"):
            return self._session
        before = line.parent or ""
        owners = (session for (session, _), reader in self.made.items() if before and reader.has_line(before))
        fresh = named if self._sessions else ""
        self._sessions[named] = next(owners, fresh)
        return self._sessions[named]

    def _agent(self, line: SessionLine) -> str:
        if line.type in REQUEST_KINDS:
            return line.agent_name
        if not line.is_sub_agents:
            return ""
        name = line.agent_name or self._roots.get(line.parent or "") or line.uuid or "sub-agent"
        self._roots[line.uuid] = name
        return name
