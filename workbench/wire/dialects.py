"""All dialects by name, and functions to read a body whose dialect is known by name."""

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
"""The dialect to assume if nothing shows which one it is."""
_ALL: Final[tuple[Dialect, ...]] = (ResponsesDialect(), GeminiDialect(), OllamaDialect(), AnthropicDialect(), DEFAULT)
"""The most specific first. The last accepts what the others do not recognise."""
DIALECTS: Final[Mapping[DialectName, Dialect]] = {dialect.name: dialect for dialect in _ALL}


def reader_for(dialect: DialectName, talk: Talk | None = None) -> DialectReader:
    """Return a reader that adds messages of a dialect to a talk; a new talk unless one is given."""
    found = DIALECTS[dialect]
    return found.new_reader(Talk(found.title) if talk is None else talk)


def messages_of(dialect: DialectName, body: Mapping[str, Any]) -> list[Any]:
    """The messages of a body. A bare text counts as one message."""
    return DIALECTS[dialect].messages_in(body)


def read_request(dialect: DialectName, body: dict[str, Any]) -> list[Body]:
    """Read a request as events: the slots, then its messages, in order."""
    return DIALECTS[dialect].read_request(body)


def read_answer(dialect: DialectName, body: dict[str, Any]) -> tuple[list[Body], Usage | None]:
    """Read an answer: its events, and the usage that it reports."""
    return DIALECTS[dialect].read_answer(body)


def from_stream(dialect: DialectName, text: str | bytes) -> dict[str, Any]:
    """Build the body that the answer would have had without streaming, as far as the stream goes."""
    stream = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    return DIALECTS[dialect].answer_in_stream(stream)
