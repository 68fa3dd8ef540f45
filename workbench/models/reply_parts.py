"""The typed parts of a model's answer, in the order they arrive in one stream."""

from __future__ import annotations

from typing import Literal, NamedTuple

from workbench.log.events import Usage

Reason = Literal["stop", "length", "tool_calls", "refused"]


class TextPiece(NamedTuple):
    """More of the answer's text."""

    text: str


class ThinkingPiece(NamedTuple):
    """More of the model's reasoning."""

    text: str
    signature: str = ""


class CallPiece(NamedTuple):
    """A piece of a tool call. Pieces with the same number belong together; the first has the id and the name."""

    number: int
    call_id: str
    name: str
    arguments: str


class ReportedUsage(NamedTuple):
    """The usage that the provider reports; arrives once, near the end, or not at all."""

    prompt: int
    """Including cached tokens."""
    completion: int
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float | None = None

    def as_usage(self, model: str, estimate: int, *, seconds: float | None = None, upto: int = 0) -> Usage:
        """As an event. `estimate`: our own count of the request."""
        return Usage(model, estimate, **self._asdict(), seconds=seconds, upto=upto)


class ReplyFinished(NamedTuple):
    """The answer is complete. A stream that ends without this part is broken."""

    reason: Reason


ReplyPart = TextPiece | ThinkingPiece | CallPiece | ReportedUsage | ReplyFinished
