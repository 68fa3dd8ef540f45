"""A dialect spoken as its provider does: requests read strictly, answers, streams and errors written.

The rehearsal model answers so, and the proxy, where somebody answers a held request by hand.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

from workbench.log.events import Body
from workbench.models.reply_parts import Reported
from workbench.wire.answers import PacedAnswer, Refusal
from workbench.wire.checked_requests import CheckedRequest, Json

MODELS = ("rehearsal",)


class SpokenDialect(Protocol):
    """What a speaker needs of its dialect."""

    def read_request(self, body: dict[str, Any]) -> list[Body]:
        """A request as events."""

    def usage_json(self, used: Reported) -> dict[str, Any]:
        """What an answer reports, under the keys that it has for it."""


class StreamedEvent(NamedTuple):
    """One event of a stream, ready to be sent."""

    at: float
    """Seconds after the request."""
    data: bytes


class DialectSpeaker(ABC):
    """The provider's side of a dialect. One speaker may remember what it answered, for requests that go on from it."""

    paths: ClassVar[tuple[str, ...]]
    """Where an answer is asked for, as aiohttp writes routes."""
    counting: ClassVar[tuple[str, ...]] = ()
    """Where only a request's size is asked for."""
    always_reports: ClassVar[bool] = True
    """Whether a stream reports its tokens without being asked to."""
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"
    """The content type of a stream."""

    def __init__(self, dialect: SpokenDialect) -> None:
        self.dialect = dialect

    @abstractmethod
    def read(self, body: Json, path: str = "") -> CheckedRequest:
        """The request in a body that came to a path; `BadRequest` where it is none."""

    @abstractmethod
    def whole(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> dict[str, Any]:
        """The answer as one body."""

    @abstractmethod
    def stream(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> Iterator[StreamedEvent]:
        """The answer as a stream."""

    @abstractmethod
    def counted(self, tokens: int) -> dict[str, Any]:
        """The size of a request."""

    @abstractmethod
    def error(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """The body of an error."""

    @abstractmethod
    def error_event(self) -> bytes:
        """An error in the middle of a stream."""

    def told_error(self, said: dict[str, Any], status: int) -> bytes:
        """An error that the provider answered with a status, as an event of a stream that has begun already."""
        return event(said)

    def broken_event(self, broken: str) -> bytes:
        """Something in a stream that is no JSON."""
        return f"data: {broken}\n\n".encode()

    @abstractmethod
    def model(self, name: str) -> dict[str, Any]:
        """One model; every name is one."""

    @abstractmethod
    def models(self) -> dict[str, Any]:
        """The list of models."""

    def reported(self, usage: Reported | None) -> dict[str, Any]:
        """The keys of an answer that report its tokens; none where nothing is reported."""
        return self.dialect.usage_json(usage) if usage else {}


class SocketSpeaker(DialectSpeaker):
    """One that also speaks over websockets, which have no status: errors are events."""

    @abstractmethod
    def events(
        self, played: PacedAnswer, request: CheckedRequest, ident: str
    ) -> Iterator[tuple[float, dict[str, Any]]]:
        """The events of an answer, and when each is due."""

    @abstractmethod
    def prewarmed(self, request: CheckedRequest, ident: str, tokens: int) -> Iterator[dict[str, Any]]:
        """What a request is answered with that only makes known what comes: nothing is generated."""

    @abstractmethod
    def error_frame(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """An error as an event."""


def stream_headers(speaker: DialectSpeaker) -> dict[str, str]:
    """The headers of a stream."""
    return {"Content-Type": speaker.stream_type, "Cache-Control": "no-cache"}


def event(body: Json, name: str = "") -> bytes:
    """A server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {to_json(body)}\n\n".encode()


def to_json(body: Json) -> str:
    """JSON in ASCII: a lone half of a surrogate pair passes, too."""
    return json.dumps(body, separators=(",", ":"))
