"""The requests that a file reports, as far as their use is concerned. All of it can be kept in the cache."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from workbench.live.stamps import FileStamp


class RequestUse(msgspec.Struct, array_like=True, gc=False):
    """One answered request, as the agent or the proxy recorded it."""

    at: int
    """Milliseconds since 1970; 0 if unknown."""
    model: str
    prompt: int
    """With the cached and the written tokens."""
    cached: int
    written: int
    hour: int
    """The part of the written tokens that is kept for an hour."""
    out: int
    cost: float | None
    """As the agent recorded it; None: by the prices."""
    key: str
    """The same in every copy of the request; empty if the file has no id for it."""
    sub_agent: str = ""
    """The sub-agent that sent it; empty for the session itself."""
    tools: tuple[str, ...] = ()
    """The tools that the answer calls, in order."""
    is_unfinished: bool = False
    """Whether the report was written before the answer ended, so that `out` is too low."""


class RateLimit(NamedTuple):
    """A limit of the provider's, as an agent recorded it."""

    minutes: int
    """The length of the window."""
    used: float
    """In per cent."""
    resets_at: int
    """Milliseconds since 1970; 0 if unknown."""
    at: int
    """When it was recorded."""


class CompactionUse(NamedTuple):
    """When an agent compacted, and with which model it worked."""

    at: int
    model: str


class SessionUse(msgspec.Struct, array_like=True):
    """What one session used, from one file. A reader adds to it while it reads on."""

    agent: str
    session: str
    ref: str
    """What opens it."""
    folder: str = ""
    requests: list[RequestUse] = []
    compactions: list[CompactionUse] = []
    limits: list[RateLimit] = []
    """The last ones that were recorded."""
    belongs_to: str = ""
    """For a sub-agent with a file of its own: the session that started it."""
    copied_from: str = ""
    """For a fork: the session whose requests it may begin with."""
    silent_since: int = 0
    """The time of its last event if it has answers and reports on none of them; 1 if the time is unknown."""
    is_passed: bool = False
    """Whether it was recorded by the proxy, so that the agent's own file may have the same requests."""
    state: dict[str, str] = {}
    """What the reader has to know to read on."""


class UsageFile(NamedTuple):
    """A file that may have reports, and the agent it is of, if that is known from its place."""

    path: str
    agent: str
    stamp: FileStamp


class UsageEntry(msgspec.Struct, array_like=True):
    """What a file reports, and how far it was read."""

    stamp: FileStamp
    sessions: list[SessionUse]
    position: int = 0
    tail: int = 0
    """A checksum of the bytes before that position."""
    fault: str = ""
    """The error that its reader ended with; then the sessions are missing."""
