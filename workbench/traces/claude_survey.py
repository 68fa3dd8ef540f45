"""What has to be known about all lines of a file of Claude Code before the first of them is read."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.traces.claude_fields import SurveyedLine
from workbench.wire.context_edits import ProviderEdits, applied_edits


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

    @property
    def continues(self) -> bool:
        """Whether any line names the line that it continues. In files that others wrote, none may."""
        return len(self._parents) > ("" in self._parents)

    def add_lines(self, lines: Iterable[SurveyedLine]) -> None:
        names, parents, sessions = self.names, self._parents, self.sessions
        for line in lines:
            name, message = line.uuid, line.message
            if name in names:
                self.repeated.add(name)
            if name and name in parents:
                self.is_ordered = False
            names.add(name)
            parents.add(line.parent or "")
            if line.session:
                sessions[line.session] = None
            if line.agent and line.agent_kind:
                self.kinds[line.agent] = line.agent_kind
            if message is not None and message.context_management:
                edits = applied_edits({"context_management": message.context_management})
                if any(edits):
                    self.edits[message.id] = edits
            if line.type == "api-request":
                self.has_requests = True
            if line.is_sub_agents:
                self.has_sub_agents = True
