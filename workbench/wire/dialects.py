"""The four dialects: from the body of a request, or of its answer, to events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from workbench.log.events import Body, DialectName, Usage
from workbench.wire.anthropic import AnthropicReader
from workbench.wire.chat import ChatReader
from workbench.wire.gemini import Contents
from workbench.wire.parts import Parts, join, messages_of, split
from workbench.wire.responses import ResponsesReader
from workbench.wire.talk import Talk

__all__ = ["Parts", "join", "messages_of", "read_answer", "read_request", "reader", "split"]


class DialectReader(Protocol):
    """One conversation in a dialect; what is read is added to its talk."""

    talk: Talk

    def head(self, body: dict[str, Any]) -> int:
        """The system prompt and the tools of a request; tells how many of its messages were the prompt."""

    def message(self, value: Any) -> None:
        """A message of a request."""

    def answer(self, body: dict[str, Any]) -> Usage | None:
        """What a request was answered with, and what was reported for it."""


_READERS: Final[dict[DialectName, Callable[[Talk], DialectReader]]] = {
    "chat": ChatReader,
    "responses": ResponsesReader,
    "anthropic": AnthropicReader,
    "gemini": Contents,
}
NAMES: Final[dict[DialectName, str]] = {
    "chat": "OpenAI",
    "responses": "OpenAI Responses",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
}


def reader(dialect: DialectName, talk: Talk) -> DialectReader:
    """What adds the messages of a dialect to a talk."""
    return _READERS[dialect](talk)


def read_request(dialect: DialectName, body: dict[str, Any]) -> list[Body]:
    """A request as events: the slots, then its messages, in order."""
    made = reader(dialect, Talk(NAMES[dialect]))
    head = made.head(body)
    for message in messages_of(dialect, body)[head:]:
        made.message(message)
    return made.talk.bodies


def read_answer(dialect: DialectName, body: dict[str, Any]) -> tuple[list[Body], Usage | None]:
    """What a request was answered with, as events, and what was reported for it."""
    made = reader(dialect, Talk(NAMES[dialect]))
    used = made.answer(body)
    return made.talk.bodies, used
