"""What the proxy tells its recorder: small records, each with the bytes that went over the wire."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from workbench.log.events import HoldEnd
from workbench.proxy.conversation_marks import ConversationMark
from workbench.proxy.routes import Route

Payload = Literal["body", "frame", "frames"]
"""How the bytes are read: an HTTP body, one frame of a websocket, or a JSON list of frames."""


class AskedRecord(msgspec.Struct, frozen=True, tag="asked"):
    """A request; its bytes follow. Headers are only those that say something, never a key."""

    number: int
    route: Route
    headers: dict[str, str]
    at: int
    """Milliseconds since 1970."""
    payload: Payload = "body"
    largest: int = 0
    """Bytes that it may unpack to."""
    waits: bool = False
    """It waits at a breakpoint: the proxy wants to know its session."""


class HeldRecord(msgspec.Struct, frozen=True, tag="held"):
    """A request waited at a breakpoint."""

    number: int
    rule: str
    why: str
    took: int
    """Milliseconds."""
    end: HoldEnd
    pinned: tuple[str, ...] = ()
    """The calls whose results were pinned."""


class ReplacedRecord(msgspec.Struct, frozen=True, tag="replaced"):
    """Another body was sent than was asked; its JSON follows."""

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
    """Why its bytes do not follow."""

    def without_bytes(self, why: str) -> AnsweredRecord:
        """The same answer, whose bytes do not follow."""
        return msgspec.structs.replace(self, lost=why)


class UnreadRecord(msgspec.Struct, frozen=True, tag="unread"):
    """A request that was passed on and not read."""

    route: Route
    headers: dict[str, str]
    why: str


class NotedRecord(msgspec.Struct, frozen=True, tag="noted"):
    """A setting for the log of a session."""

    session: str
    key: str
    value: Any


Record: TypeAlias = AskedRecord | HeldRecord | ReplacedRecord | AnsweredRecord | UnreadRecord | NotedRecord


class Feedback(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the recorder tells the proxy after each batch."""

    done: int = 0
    """Bytes of records that it has dealt with so far."""
    sessions: dict[int, str] = {}
    """By number: the session of a request that waits."""
    marks: tuple[ConversationMark, ...] = ()
    """Of the conversations that changed."""
    forgotten: tuple[str, ...] = ()
    """Sessions that are not continued any more."""
    lost: dict[str, int] = {}
    """Why requests or answers were not recorded, and how many."""
    recovered: int = 0
    """Answers that an earlier proxy left in its journal, and that are recorded now."""


encode: Final = msgspec.json.Encoder().encode
decode: Final = msgspec.json.Decoder(Record).decode
encode_feedback: Final = msgspec.json.Encoder().encode
decode_feedback: Final = msgspec.json.Decoder(Feedback).decode
