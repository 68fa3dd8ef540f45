"""Which conversation a line of Claude Code belongs to: a session's, or a sub-agent's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from workbench.config.errors import WrongCall
from workbench.traces import claude_requests
from workbench.traces.claude_sub_agents import is_of_sub_agent
from workbench.wire.values import text_in


class HasLines(Protocol):
    """A reader of one conversation."""

    def has_line(self, uuid: str) -> bool:
        """Whether a line is part of this conversation."""


R = TypeVar("R", bound=HasLines)


class ClaudeConversations(Generic[R]):
    """The conversations of a file, by session and sub-agent."""

    def __init__(self, make: Callable[[Iterable[WrongCall]], R], broken: Iterable[WrongCall]) -> None:
        """`make`: makes a reader, which reports `broken` lines; the first conversation reports those of the file."""
        self.made: dict[tuple[str, str], R] = {}
        self._make = make
        self._broken = broken
        self._sessions: dict[str, str] = {}
        """The session that each session continues, or itself."""
        self._session = ""
        """The session of the last line."""
        self._roots: dict[str, str] = {}
        """By line: its conversation, for sub-agents without a name."""

    def reader(self, value: Any) -> R:
        self._session = self._session_of(value)
        key = (self._session, self._agent(value))
        if key not in self.made:
            self.made[key] = self._make(() if self.made else self._broken)
        return self.made[key]

    def session(self) -> R | None:
        """The session of the last line, its own or a sub-agent's; None if the file has only the sub-agent."""
        return self.made.get((self._session, ""))

    def _session_of(self, value: Any) -> str:
        named = text_in(value, "sessionId") or text_in(value, "session_id")
        if named in self._sessions:
            return self._sessions[named]
        if not named or text_in(value, "type") not in ("user", "assistant", "system", "attachment"):
            return self._session
        before = text_in(value, "parentUuid")
        owners = (session for (session, _), reader in self.made.items() if before and reader.has_line(before))
        fresh = named if self._sessions else ""
        self._sessions[named] = next(owners, fresh)
        return self._sessions[named]

    def _agent(self, value: Any) -> str:
        is_request, is_theirs = text_in(value, "type") in claude_requests.KINDS, is_of_sub_agent(value)
        if not is_request and not is_theirs:
            return ""
        name = text_in(value, "agentId") or text_in(value, "parent_tool_use_id")
        if is_request:
            return name
        line = text_in(value, "uuid")
        name = name or self._roots.get(text_in(value, "parentUuid")) or line or "sub-agent"
        self._roots[line] = name
        return name
