"""An answer that can be written in any dialect: as one body, as the pieces of a stream, or as an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from msgspec import Struct

from workbench.models.reply_parts import Reason, ReportedUsage

AT_ONCE = 200
"""Characters per piece when no speed is set. Nobody watches the text grow then, and fewer pieces are less work."""

PIECES_PER_SECOND = 20
"""Pieces per second when a speed is set: smooth to the eye, cheap to draw."""


class WrittenCall(NamedTuple):
    tool: str
    arguments: str
    """JSON text, exactly as the model wrote it."""
    call_id: str = ""


class AnswerPace(Struct, frozen=True):
    """How fast an answer is sent."""

    speed: float = 0
    """Characters per second; 0: send everything at once."""
    chunk: int = 0
    """Characters per piece; 0: the speed decides."""
    delay: float = 0
    """Seconds before the first piece."""

    def size(self) -> int:
        """The number of characters per piece."""
        if self.chunk:
            return self.chunk
        return max(1, round(self.speed / PIECES_PER_SECOND)) if self.speed else AT_ONCE


class WrittenAnswer(Struct, frozen=True):
    text: str = ""
    reasoning: str = ""
    calls: tuple[WrittenCall, ...] = ()
    finish: Reason | None = None
    """None: derived from the other fields."""
    usage: ReportedUsage | None = None

    @property
    def reason(self) -> Reason:
        """The reason why the answer ends."""
        return self.finish or ("tool_calls" if self.calls else "stop")


class PacedAnswer(Struct, frozen=True):
    """An answer, and how fast to send it."""

    answer: WrittenAnswer
    pace: AnswerPace = AnswerPace()

    @property
    def finishes(self) -> bool:
        """Whether the answer gives a finish reason. The rehearsal model can leave it out."""
        return True


class Refusal(Struct, frozen=True):
    """An error to send in place of an answer. Each dialect words it in its own way."""

    status: int
    kind: str = ""
    """One of context, quota, policy and request; empty: the status alone says what is wrong."""
    wait: int | None = None
    """Seconds until another try makes sense; None: not said."""
    limit: int = 0
    """The window in tokens, if the request is too long for it."""
    asked: int = 0
    """The tokens of that request."""
    detail: str = ""
    """What is wrong with the request, if the request is the reason."""


class AnswerPiece(NamedTuple):
    """One piece of an answer that is being sent."""

    kind: Literal["reasoning", "text", "call", "arguments"]
    """A call starts with a piece that has its id and name but no arguments, as at OpenAI; the arguments follow."""
    text: str
    at: float
    """Seconds after the request."""
    number: int = 0
    """The number of the call, from 0."""


def answer_pieces(answer: WrittenAnswer, pace: AnswerPace) -> Iterator[AnswerPiece]:
    """Split an answer into its pieces, in order. Joined they give the answer. Equal answers are always split alike."""
    size, sent = pace.size(), 0

    def split(kind: Literal["reasoning", "text", "arguments"], text: str, number: int = 0) -> Iterator[AnswerPiece]:
        nonlocal sent
        for start in range(0, len(text), size):
            part = text[start : start + size]
            sent += len(part)
            yield AnswerPiece(kind, part, due(), number)

    def due() -> float:
        return pace.delay + (sent / pace.speed if pace.speed else 0)

    yield from split("reasoning", answer.reasoning)
    yield from split("text", answer.text)
    for number, call in enumerate(answer.calls):
        yield AnswerPiece("call", "", due(), number)
        yield from split("arguments", call.arguments, number)
