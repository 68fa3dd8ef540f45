"""The messages from the proxy to its recorder: small records, each followed by bytes from the wire."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from workbench.config.values import replace
from workbench.log.events import HoldEnd
from workbench.proxy.conversation_marks import ConversationMark
from workbench.proxy.routes import Route
from workbench.traces.llm_calls import LlmCall

Payload = Literal["body", "frame", "frames"]
"""How to read the bytes: as an HTTP body, as one frame of a websocket, or as a JSON list of frames."""


class AskedRecord(msgspec.Struct, frozen=True, tag="asked"):
    """A request; its bytes follow. The record has only the headers that are needed, and never an API key."""

    number: int
    """Identifies the request in all its records."""
    route: Route
    headers: dict[str, str]
    at: int
    """Milliseconds since 1970."""
    payload: Payload = "body"
    largest: int = 0
    """The size in bytes up to which it may be decompressed."""
    waits: bool = False
    """Whether it waits at a breakpoint; then the proxy needs to know its session."""


class HeldRecord(msgspec.Struct, frozen=True, tag="held"):
    """How long a request waited at a breakpoint, why, and how that ended."""

    rule: str
    why: str
    took: int
    """Milliseconds that it waited."""
    end: HoldEnd
    pinned: tuple[str, ...] = ()
    """The ids of calls whose results were pinned."""
    number: int = 0
    """The request's number in the journal; 0: it is not known yet."""


class ReplacedRecord(msgspec.Struct, frozen=True, tag="replaced"):
    """Another body that was sent instead of the request; its JSON follows."""

    number: int
    route: Route
    at: int


class AnsweredRecord(msgspec.Struct, frozen=True, tag="answered"):
    """An answer; its bytes follow."""

    number: int
    status: int
    headers: dict[str, str]
    first: int | None
    """Milliseconds until the first byte."""
    took: int
    problem: str = ""
    finish: str = ""
    payload: Payload = "body"
    lost: str = ""
    """Why its bytes do not follow; empty if they do."""

    def without_bytes(self, why: str) -> AnsweredRecord:
        """The same record for an answer whose bytes do not follow."""
        return replace(self, lost=why)


class UnreadRecord(msgspec.Struct, frozen=True, tag="unread"):
    """A request that was passed on without being read."""

    route: Route
    headers: dict[str, str]
    why: str


class NotedRecord(msgspec.Struct, frozen=True, tag="noted"):
    """A setting that the recorder is to write into the log of a session."""

    session: str
    key: str
    value: Any


class TracedRecord(msgspec.Struct, frozen=True, tag="traced"):
    """A call of a model that its agent traced; the call follows as JSON."""

    client: str


Record: TypeAlias = (
    AskedRecord | HeldRecord | ReplacedRecord | AnsweredRecord | UnreadRecord | NotedRecord | TracedRecord
)


class Feedback(msgspec.Struct, frozen=True, omit_defaults=True):
    """The recorder's message to the proxy after each batch."""

    done: int = 0
    """Bytes of records that were processed so far."""
    sessions: dict[int, str] = {}
    """The session of each waiting request, by number."""
    marks: tuple[ConversationMark, ...] = ()
    """The new marks of conversations that changed, by which the proxy recognises them."""
    forgotten: tuple[str, ...] = ()
    """Sessions that the recorder no longer continues."""
    lost: dict[str, int] = {}
    """The reasons why requests or answers were not recorded, and how many."""
    recovered: int = 0
    """Answers from the journal of an earlier proxy that were recorded now."""


encode: Final = msgspec.json.Encoder().encode
decode: Final = msgspec.json.Decoder(Record).decode
decode_call: Final = msgspec.json.Decoder(LlmCall).decode
decode_feedback: Final = msgspec.json.Decoder(Feedback).decode
