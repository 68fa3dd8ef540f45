"""An answer to write in any dialect: as one value, in the pieces of a stream, or an error in its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from workbench.models.reply_parts import Reason, Reported

AT_ONCE = 200
"""Characters of a piece where nothing is to be seen growing: fewer pieces, less work."""

PIECES_PER_SECOND = 20
"""At a chosen speed, so many pieces come in a second: smooth to the eye, cheap to draw."""


class WrittenCall(NamedTuple):
    """One call of a tool."""

    tool: str
    arguments: str
    """JSON, as a model writes it."""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast an answer comes."""

    speed: float = 0
    """Characters per second; 0: at once."""
    chunk: int = 0
    """Characters of a piece; 0: chosen by the speed."""
    delay: float = 0
    """Seconds before the first piece."""

    def size(self) -> int:
        """Characters of a piece."""
        if self.chunk:
            return self.chunk
        return max(1, round(self.speed / PIECES_PER_SECOND)) if self.speed else AT_ONCE


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """A whole answer."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[WrittenCall, ...] = ()
    finish: Reason | None = None
    """None: told from the rest."""
    usage: Reported | None = None

    @property
    def reason(self) -> Reason:
        """Why the answer ends."""
        return self.finish or ("tool_calls" if self.calls else "stop")


@dataclass(frozen=True, slots=True)
class PacedAnswer:
    """An answer, and how fast it comes."""

    answer: WrittenAnswer
    pace: Pace = Pace()

    @property
    def finishes(self) -> bool:
        """Whether the answer says why it ends."""
        return True


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that gets an error in place of an answer; each dialect words it in its own way."""

    status: int
    kind: str = ""
    """context, quota, policy, request, or empty: what the status says."""
    wait: int | None = None
    limit: int = 0
    asked: int = 0
    detail: str = ""
    """What is wrong with the request, where that is the reason."""


class AnswerPiece(NamedTuple):
    """A piece of an answer on its way."""

    kind: Literal["reasoning", "text", "call", "arguments"]
    """A call comes first with its id and name and no arguments, as OpenAI's do; its arguments follow."""
    text: str
    at: float
    """Seconds after the request."""
    number: int = 0
    """Which call, from 0."""


def pieces(answer: WrittenAnswer, pace: Pace) -> Iterator[AnswerPiece]:
    """The answer's pieces in order; joined they give the answer, and the same answer is always split alike."""
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
