"""What has to be known about all lines of a file of Claude Code before the first of them is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from workbench.traces.claude_fields import REQUEST_KINDS, SurveyedLine, SurveyedMessage
from workbench.wire.context_edits import ProviderEdits, applied_edits

L = TypeVar("L", bound=SurveyedLine)


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
        self.continues = False
        """Whether any line names the line that it continues. In files that others wrote, none may."""
        self.is_plain = True
        """Whether `lines_without_survey` gave all lines."""
        self._parents: set[str] = set()

    def add_lines(self, lines: Iterable[SurveyedLine]) -> None:
        names, parents, sessions = self.names, self._parents, self.sessions
        for line in lines:
            name, message = line.uuid, line.message
            if name in names:
                self.repeated.add(name)
            if name and name in parents:
                self.is_ordered = False
            names.add(name)
            if line.parent:
                parents.add(line.parent)
                self.continues = True
            if line.session:
                sessions[line.session] = None
            if line.agent and line.agent_kind:
                self.kinds[line.agent] = line.agent_kind
            if message is not None and message.context_management and any(edits := _edits(message)):
                self.edits[message.id] = edits
            if line.type == "api-request":
                self.has_requests = True
            if line.is_sub_agents:
                self.has_sub_agents = True


def lines_without_survey(lines: Iterable[L], survey: ClaudeSurvey) -> Iterator[L]:
    """Lines that can be read one by one as they come, as most files have.

    Ends at the first line that cannot, because it says something about lines before it: then `survey.is_plain` is
    false, and the file has to be read once more with a survey of all its lines. Given is whether they name the lines
    that they continue.
    """
    names, missing = survey.names, set[str]()
    for line in lines:
        name, parent, message = line.uuid, line.parent, line.message
        if name in missing or (name in names and (name or line.type in ("user", "assistant"))):
            break
        if parent:
            if not survey.continues:
                break
            if parent not in names:
                missing.add(parent)
        if line.type in REQUEST_KINDS or line.is_sidechain or line.parent_call:
            break
        if message is not None and message.context_management and any(_edits(message)):
            break
        names.add(name)
        yield line
    else:
        return
    survey.is_plain = False


def _edits(message: SurveyedMessage) -> ProviderEdits:
    return applied_edits({"context_management": message.context_management})
