"""All dialects by name, and functions to read a body whose dialect is known by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from workbench.log.events import Body, DialectName, Usage
from workbench.models.reply_parts import Reported
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


def dialect_named(name: str) -> Dialect | None:
    """The dialect that a person names, by its own name or another that people use; None: there is none."""
    return next((each for each in reversed(_ALL) if name.lower() in (each.name, *each.also)), None)


def dialect_of_message(message: dict[str, Any]) -> Dialect | None:
    """The dialect of a message that has what only one dialect has; None: it fits several."""
    if message.keys() == _PLAIN and isinstance(message["content"], str):
        return None
    return next((each for each in _ALL if each.recognises_message(message)), None)


def answer_in_any(body: dict[str, Any]) -> tuple[Dialect, list[Any]] | None:
    """The dialect of an answer and the messages in it; None: the body is no answer."""
    if "role" in body and "stop_reason" not in body:
        return None  # a message
    found = ((each, each.messages_in_answer(body)) for each in _ALL)
    return next(((each, messages) for each, messages in found if messages is not None), None)


def usage_in_any(body: dict[str, Any], likely: Dialect = DEFAULT) -> Usage | None:
    """The usage that a body reports: an answer, or what an answer has for it. None: it reports none.

    `likely`: the dialect to assume where the keys fit several.
    """
    inner = next((body[key] for key in _USAGE_KEYS if isinstance(body.get(key), dict)), body)
    keys = {_camel(key) for key in inner}
    wrapped = {**inner, **dict.fromkeys(_USAGE_KEYS, inner)}
    for each in sorted(_ALL, key=lambda one: (-_known_keys(one, keys), one is not likely)):
        if found := each.new_reader(Talk(each.title)).answer(wrapped):
            return found
    return None


_PLAIN: Final = frozenset(("role", "content"))
_USAGE_KEYS: Final = ("usage", "usageMetadata", "usage_metadata")


def _known_keys(dialect: Dialect, keys: set[str]) -> int:
    """How many of these keys the dialect has for its usage."""
    written = dialect.usage_json(Reported(1, 1))
    inner = next((written[key] for key in _USAGE_KEYS if key in written), written)
    return len(keys.intersection(map(_camel, inner)))


def _camel(key: str) -> str:
    return key.replace("_", "").lower()


def reader(dialect: DialectName, talk: Talk | None = None) -> DialectReader:
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
