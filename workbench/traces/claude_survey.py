"""What has to be known about all lines of a file of Claude Code before the first of them is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.traces.claude_sub_agents import is_of_sub_agent
from workbench.wire.context_edits import ProviderEdits, applied_edits
from workbench.wire.values import dict_in, text_in


class ClaudeSurvey:
    """Goes through lines and keeps none of them."""

    def __init__(self) -> None:
        self.sessions: dict[str, None] = {}
        """The sessions that are named, in order."""
        self.names: set[str] = {""}
        """The ids of the lines, and the empty one, which the first line continues."""
        self.repeated: set[str] = set()
        """The ids of several lines."""
        self.is_ordered = True
        """Whether no line comes before the line that it continues."""
        self.kinds: dict[str, str] = {}
        """The kind of each sub-agent that has one."""
        self.edits: dict[str, ProviderEdits] = {}
        """What the provider cleared in the request of each reply, if anything."""
        self.has_requests = False
        self.has_sub_agents = False
        self._parents: set[str] = set()

    def add_lines(self, lines: Iterable[Any]) -> None:
        for value in lines:
            self._add_line(value)

    def _add_line(self, value: Any) -> None:
        name, parent, agent = text_in(value, "uuid"), text_in(value, "parentUuid"), text_in(value, "agentId")
        if name in self.names:
            self.repeated.add(name)
        if name and name in self._parents:
            self.is_ordered = False
        self.names.add(name)
        self._parents.add(parent)
        if session := text_in(value, "sessionId"):
            self.sessions[session] = None
        if agent and (kind := text_in(value, "attributionAgent")):
            self.kinds[agent] = kind
        message = dict_in(value, "message")
        if message.get("context_management") and any(edits := applied_edits(message)):
            self.edits[text_in(message, "id")] = edits
        self.has_requests = self.has_requests or text_in(value, "type") == "api-request"
        self.has_sub_agents = self.has_sub_agents or is_of_sub_agent(value)
