"""What the dialects have in common: how a request is read and an answer, an error or a stream is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from workbench.rehearsal.faults import Refusal
from workbench.rehearsal.rehearsal_model import PlayedAnswer
from workbench.rehearsal.request import Json, RehearsalRequest

MODELS = ("rehearsal",)


class StreamedEvent(NamedTuple):
    """One event of a stream, ready to be sent."""

    at: float
    """Seconds after the request."""
    data: bytes


class Dialect(Protocol):
    """A provider's protocol, in a file of its own; `server.DIALECTS` lists them."""

    paths: tuple[str, ...]
    """Where an answer is asked for, as aiohttp writes routes."""
    counting: tuple[str, ...]
    """Where only a request's size is asked for."""
    header: str
    """By which requests to other paths are told to be in this dialect; empty: by nothing."""

    def read(self, body: Json, path: str = "") -> RehearsalRequest:
        """The request in a body that came to a path; `BadRequest` where it is none."""

    def whole(self, played: PlayedAnswer, request: RehearsalRequest, ident: str) -> dict[str, Any]:
        """The answer as one body."""

    def stream(self, played: PlayedAnswer, request: RehearsalRequest, ident: str) -> Iterator[StreamedEvent]:
        """The answer as a stream."""

    def counted(self, tokens: int) -> dict[str, Any]:
        """The size of a request."""

    def error(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """The body of an error."""

    def error_event(self) -> bytes:
        """An error in the middle of a stream."""

    def model(self, name: str) -> dict[str, Any]:
        """One model; every name is one."""

    def models(self) -> dict[str, Any]:
        """The list of models."""


def event(body: Json, name: str = "") -> bytes:
    """A server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {to_json(body)}\n\n".encode()


def to_json(body: Json) -> str:
    """JSON in ASCII: a lone half of a surrogate pair passes, too."""
    return json.dumps(body, separators=(",", ":"))
