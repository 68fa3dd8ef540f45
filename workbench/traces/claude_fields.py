"""The fields of Claude Code's lines that are read, with their types.

The rest of a line is skipped, not decoded: `SessionLine.whole` decodes it for the few lines that need it. A field of an
unexpected type counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import UNSET, UnsetType, field

from workbench.config.text import without_surrogates
from workbench.traces.reading import Lines, Located, decode_line, passing_values
from workbench.wire.values import dict_in, text_in

S = TypeVar("S", bound=msgspec.Struct)
REQUEST_KINDS = ("api-request-shape", "api-request-blob", "api-request")
"""Lines about requests, from which `claude_requests` rebuilds them."""


class SurveyedMessage(msgspec.Struct, gc=False):
    """The message of a line, as far as the survey needs it."""

    id: str = ""
    context_management: Any = None


class SurveyedLine(msgspec.Struct, gc=False):
    """What has to be known of a line before the first is read."""

    type: str = ""
    uuid: str = ""
    parent: str | UnsetType | None = field(default=UNSET, name="parentUuid")
    """Not set: the line does not have it."""
    session: str = field(default="", name="sessionId")
    agent: str = field(default="", name="agentId")
    agent_kind: str = field(default="", name="attributionAgent")
    is_sidechain: Any = field(default=None, name="isSidechain")
    parent_call: Any = field(default=None, name="parent_tool_use_id")
    message: SurveyedMessage | None = None

    @property
    def is_sub_agents(self) -> bool:
        """Whether a sub-agent wrote it."""
        return bool(self.is_sidechain or self.parent_call)


class SessionMessage(SurveyedMessage, gc=False):
    """The message of a line."""

    model: str = ""
    content: Any = None
    usage: dict[str, Any] = field(default_factory=dict)
    stop_reason: str | None = None


class SessionLine(SurveyedLine, gc=False):
    """A line of a session."""

    message: SessionMessage | None = None
    subtype: str = ""
    printed_session: str = field(default="", name="session_id")
    """The session's id in what `claude -p` prints."""
    timestamp: Any = None
    request: str = field(default="", name="requestRef")
    is_meta: Any = field(default=None, name="isMeta")
    is_summary: Any = field(default=None, name="isCompactSummary")
    is_only_shown: Any = field(default=None, name="isVisibleInTranscriptOnly")
    is_error: Any = field(default=None, name="isApiErrorMessage")
    text: Any = field(default="", name=" text")
    """The line itself, as text or bytes; empty if only its value is known. No key of a file has the blank of these two
    names."""
    value: Any = field(default=None, name=" value")

    @property
    def whole(self) -> Any:
        """The value of the whole line."""
        return decode_line(self.text) if self.text else self.value

    @property
    def agent_name(self) -> str:
        """The name of the sub-agent that wrote it; empty if it has none."""
        return self.agent or (without_surrogates(self.parent_call) if isinstance(self.parent_call, str) else "")


def surveyed_lines(entries: Sequence[Located]) -> Iterator[SurveyedLine]:
    """The lines of a file for the survey."""
    return passing_values(entries, _SURVEYED.decode, partial(known_fields, SurveyedLine))


def session_lines(entries: Sequence[Located]) -> Iterator[SessionLine]:
    """The lines of a file."""
    return passing_values(entries, _quick_line, line_of_value)


def line_of_value(value: Any) -> SessionLine:
    """A line that was decoded as a whole."""
    line = known_fields(SessionLine, value)
    line.text, line.value = "", value
    return line


def _quick_line(text: Lines) -> SessionLine:
    line = _LINE.decode(text)
    line.text = text
    return line


def known_fields(kind: type[S], value: Any) -> S:
    """The fields of a JSON value; one of an unexpected type counts as missing."""
    known = value if isinstance(value, dict) else {}
    return kind(*[read(known, key) for key, read in _readers(kind)])


@cache
def _readers(kind: type[msgspec.Struct]) -> list[tuple[str, Callable[[dict[str, Any], str], Any]]]:
    """What reads each field from an object, with its key."""
    return [(each.encode_name, _reader(each.type)) for each in msgspec.structs.fields(kind)]


def _reader(kind: Any) -> Callable[[dict[str, Any], str], Any]:
    if kind is Any:
        return dict.get
    if kind == str | UnsetType | None:
        return lambda value, key: text_in(value, key) if key in value else UNSET
    if kind in (str, str | None):
        return text_in
    inner = get_args(kind)[0]
    if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
        return lambda value, key: known_fields(inner, value[key]) if isinstance(value.get(key), dict) else None
    return dict_in


_SURVEYED = msgspec.json.Decoder(SurveyedLine)
_LINE = msgspec.json.Decoder(SessionLine)
