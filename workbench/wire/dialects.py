"""All dialects, by name; and the readers of a body whose dialect is known by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workbench.log.events import Body, DialectName, Usage
from workbench.wire.anthropic import AnthropicDialect
from workbench.wire.chat import ChatDialect
from workbench.wire.dialect import Dialect, DialectReader
from workbench.wire.gemini import GeminiDialect
from workbench.wire.ollama import OllamaDialect
from workbench.wire.responses import ResponsesDialect
from workbench.wire.talk import Talk

DEFAULT: Final[Dialect] = ChatDialect()
"""Spoken where nothing says which one."""
_ALL: Final[tuple[Dialect, ...]] = (ResponsesDialect(), GeminiDialect(), OllamaDialect(), AnthropicDialect(), DEFAULT)
"""The most particular first: what none of them recognises may be in the last."""
DIALECTS: Final[Mapping[DialectName, Dialect]] = {dialect.name: dialect for dialect in _ALL}


def reader(dialect: DialectName, talk: Talk | None = None) -> DialectReader:
    """What adds the messages of a dialect to a talk, a new one unless it is given."""
    found = DIALECTS[dialect]
    return found.new_reader(Talk(found.title) if talk is None else talk)


def messages_of(dialect: DialectName, body: Mapping[str, Any]) -> list[Any]:
    """The messages of a body; a bare text is one."""
    return DIALECTS[dialect].messages_in(body)


def read_request(dialect: DialectName, body: dict[str, Any]) -> list[Body]:
    """A request as events: the slots, then its messages, in order."""
    return DIALECTS[dialect].read_request(body)


def read_answer(dialect: DialectName, body: dict[str, Any]) -> tuple[list[Body], Usage | None]:
    """What a request was answered with, as events, and what was reported for it."""
    return DIALECTS[dialect].read_answer(body)


def from_stream(dialect: DialectName, text: str | bytes) -> dict[str, Any]:
    """The body that the answer would have been without streaming; as much of it as the stream held."""
    stream = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    return DIALECTS[dialect].answer_in_stream(stream)
