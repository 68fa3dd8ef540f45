"""Answers as a provider does: reads requests strictly, and writes answers, streams and errors.

The rehearsal model uses it, and so does the proxy when the user answers a held request by hand.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

from workbench.log.events import Body
from workbench.models.reply_parts import ReportedUsage
from workbench.wire.answers import PacedAnswer, Refusal
from workbench.wire.checked_requests import CheckedRequest, Json

MODELS = ("rehearsal",)


class SpokenDialect(Protocol):
    """The methods of a dialect that its speaker needs."""

    def read_request(self, body: dict[str, Any]) -> list[Body]:
        """Read a request as events."""

    def usage_json(self, used: ReportedUsage) -> dict[str, Any]:
        """The usage of an answer, under the keys that the dialect has for it."""


class StreamedEvent(NamedTuple):
    """One event of a stream, encoded for sending."""

    at: float
    """Seconds after the request."""
    data: bytes


class DialectSpeaker(ABC):
    """The provider's side of a dialect. A speaker may remember its answers, for requests that continue them."""

    paths: ClassVar[tuple[str, ...]]
    """The paths of requests for an answer, in aiohttp's syntax for routes."""
    counting: ClassVar[tuple[str, ...]] = ()
    """The paths of requests that only count tokens."""
    always_reports: ClassVar[bool] = True
    """Whether a stream reports its tokens even if the request does not ask for it."""
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    """The content type of a stream."""

    def __init__(self, dialect: SpokenDialect) -> None:
        self.dialect = dialect

    @abstractmethod
    def read_request(self, body: Json, path: str = "") -> CheckedRequest:
        """Read and check the body of a request to a path. Raises `BadRequest`."""

    @abstractmethod
    def full_answer(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> dict[str, Any]:
        """The answer as one body."""

    @abstractmethod
    def stream(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> Iterator[StreamedEvent]:
        """The answer as a stream."""

    @abstractmethod
    def counted(self, tokens: int) -> dict[str, Any]:
        """The answer to a request that only counts tokens."""

    @abstractmethod
    def error(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """The body of an error."""

    @abstractmethod
    def error_event(self) -> bytes:
        """An error in the middle of a stream."""

    def late_error_event(self, error: dict[str, Any], status: int) -> bytes:
        """An error that the provider answered with an HTTP status, as an event of a stream that has already begun."""
        return encoded_event(error)

    def broken_event(self, broken: str) -> bytes:
        """An event of a stream that is not JSON."""
        return f"data: {broken}\n\n".encode()

    @abstractmethod
    def model(self, name: str) -> dict[str, Any]:
        """The description of one model. Every name is accepted."""

    @abstractmethod
    def models(self) -> dict[str, Any]:
        """The list of models."""

    def reported(self, usage: ReportedUsage | None) -> dict[str, Any]:
        """The keys of an answer that report its tokens; empty without usage."""
        return self.dialect.usage_json(usage) if usage else {}


class SocketSpeaker(DialectSpeaker):
    """A speaker that also answers over websockets. They have no HTTP status: errors are events."""

    @abstractmethod
    def events(
        self, played: PacedAnswer, request: CheckedRequest, ident: str
    ) -> Iterator[tuple[float, dict[str, Any]]]:
        """The events of an answer, and the time at which each is due."""

    @abstractmethod
    def prewarmed(self, request: CheckedRequest, ident: str, tokens: int) -> Iterator[dict[str, Any]]:
        """The answer to a request that only prepares the next one: nothing is generated."""

    @abstractmethod
    def error_frame(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """An error as an event."""


def stream_headers(speaker: DialectSpeaker) -> dict[str, str]:
    """The HTTP headers of a streamed answer."""
    return {"Content-Type": speaker.stream_type, "Cache-Control": "no-cache"}


def encoded_event(body: Json, name: str = "") -> bytes:
    """Encode a server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {to_json(body)}\n\n".encode()


def to_json(body: Json) -> str:
    """Encode as ASCII JSON, which can also hold half of a surrogate pair."""
    return json.dumps(body, separators=(",", ":"))
