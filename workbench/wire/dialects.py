"""All dialects by name, ours and those of plug-ins, and functions to read a body whose dialect is known by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from workbench.config.errors import WrongCall
from workbench.config.plugins import PluginRegistry
from workbench.config.tables import escaped_name, shown_value
from workbench.log.events import Body, DialectName, Usage
from workbench.models.reply_parts import ReportedUsage
from workbench.wire.anthropic import AnthropicDialect
from workbench.wire.chat import ChatDialect
from workbench.wire.dialect import Dialect, DialectReader, ProviderHome
from workbench.wire.event_builder import EventBuilder
from workbench.wire.gemini import GeminiDialect
from workbench.wire.guarded_dialect import guarded_dialect
from workbench.wire.ollama import OllamaDialect
from workbench.wire.responses import ResponsesDialect
from workbench.wire.values import list_in, text_in

DEFAULT: Final[Dialect] = ChatDialect()
"""The dialect to assume if nothing shows which one it is."""
_NEEDED = {"title": str, "path": str, "provider": ProviderHome, "places": tuple, "answer_keys": tuple}


class MissingDialect(WrongCall, KeyError):
    """A session has requests in a dialect whose package is not installed, or does not work."""

    def __str__(self) -> str:
        return str(self.args[0])


def _checked_dialect(name: str, value: Any) -> Dialect:
    """A plug-in may name its class or an object of it."""
    made = value() if isinstance(value, type) else value
    if not isinstance(made, Dialect):
        raise TypeError(f"expected a Dialect, got {shown_value(made)}")
    for key, kind in _NEEDED.items():
        if not isinstance(getattr(made, key, None), kind):
            raise TypeError(f"{key}: expected a {kind.__name__}, got {shown_value(getattr(made, key, None))}")
    if made.name in DIALECT_REGISTRY.own or type(made) in _OWN_KINDS:
        return made
    return guarded_dialect(DIALECT_REGISTRY, made, DEFAULT)


_OWN_KINDS: Final = (ResponsesDialect, GeminiDialect, OllamaDialect, AnthropicDialect, ChatDialect)
"""The most specific first. The last accepts what the others do not recognise."""
DIALECT_REGISTRY: Final[PluginRegistry[Dialect]] = PluginRegistry("dialects", _checked_dialect)
for _kind in _OWN_KINDS:
    DIALECT_REGISTRY.register(_kind.name, DEFAULT if _kind is ChatDialect else _kind())


class _Dialects(Mapping[DialectName, Dialect]):
    """The dialects by name. Those of plug-ins are recognised after ours, but before the one that accepts the rest."""

    def __getitem__(self, name: DialectName) -> Dialect:
        found = DIALECT_REGISTRY.find_named(name)
        if found is None:
            raise MissingDialect(
                f"the dialect {escaped_name(name)}: no installed package has it, or it cannot be loaded; "
                "`workbench plugins` lists what is loaded"
            )
        return found

    def __iter__(self) -> Iterator[DialectName]:
        yield from (name for name in DIALECT_REGISTRY.own if name != DEFAULT.name)
        yield from DIALECT_REGISTRY.plugins()
        yield DEFAULT.name

    def __len__(self) -> int:
        return len(DIALECT_REGISTRY.own) + len(DIALECT_REGISTRY.plugins())


DIALECTS: Final[Mapping[DialectName, Dialect]] = _Dialects()


def dialect_named(name: str) -> Dialect | None:
    """The dialect that a person names, by its own name or another that people use; None: there is none."""
    return next((each for each in reversed(list(DIALECTS.values())) if name.lower() in (each.name, *each.also)), None)


def dialect_of_message(message: dict[str, Any]) -> Dialect | None:
    """The dialect of a message that has what only one dialect has; None: it fits several."""
    if message.keys() == _PLAIN and isinstance(message["content"], str):
        return None
    if _is_plain_chat(message) and not DIALECT_REGISTRY.plugins():
        return DEFAULT
    return next((each for each in _in_order() if each.recognises_message(message)), None)


def _is_plain_chat(message: dict[str, Any]) -> bool:
    """Whether a message is a text with calls, or a result, in OpenAI's form and in that of no other provider.

    It decides for nearly all messages of a chat, in a fraction of the time.
    """
    if not (message.keys() <= _CHAT_KEYS and isinstance(message.get("content"), str | None)):
        return False
    if "tool_calls" not in message:
        return bool(text_in(message, "tool_call_id"))
    calls = list_in(message, "tool_calls")
    return bool(calls) and all(map(_is_plain_call, calls))


def _is_plain_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return isinstance(function, dict) and isinstance(function.get("arguments"), str)


def _in_order() -> Iterator[Dialect]:
    """The values of `DIALECTS`, without a look-up for each: a long conversation asks for them very often."""
    yield from (each for each in DIALECT_REGISTRY.own.values() if each is not DEFAULT)
    yield from DIALECT_REGISTRY.plugins().values()
    yield DEFAULT


def answer_in_any(body: dict[str, Any]) -> tuple[Dialect, list[Any]] | None:
    """The dialect of an answer and the messages in it; None: the body is no answer."""
    if "role" in body and "stop_reason" not in body:
        return None  # a message
    found = ((each, each.messages_in_answer(body)) for each in DIALECTS.values())
    return next(((each, messages) for each, messages in found if messages is not None), None)


def usage_in_any(body: dict[str, Any], likely: Dialect = DEFAULT) -> Usage | None:
    """The usage that a body reports: an answer, or what an answer has for it. None: it reports none.

    `likely`: the dialect to assume where the keys fit several.
    """
    inner = next((body[key] for key in _USAGE_KEYS if isinstance(body.get(key), dict)), body)
    keys = {_camel(key) for key in inner}
    wrapped = {**inner, **dict.fromkeys(_USAGE_KEYS, inner)}
    for each in sorted(DIALECTS.values(), key=lambda one: (-_known_keys(one, keys), one is not likely)):
        if found := each.new_reader(EventBuilder(each.title)).answer(wrapped):
            return found
    return None


_PLAIN: Final = frozenset(("role", "content"))
_CHAT_KEYS: Final = frozenset({"role", "content", "tool_calls", "tool_call_id"})
_USAGE_KEYS: Final = ("usage", "usageMetadata", "usage_metadata")


def _known_keys(dialect: Dialect, keys: set[str]) -> int:
    """How many of these keys the dialect has for its usage."""
    written = dialect.usage_json(ReportedUsage(1, 1))
    inner = next((written[key] for key in _USAGE_KEYS if key in written), written)
    return len(keys.intersection(map(_camel, inner)))


def _camel(key: str) -> str:
    return key.replace("_", "").lower()


def reader_for(dialect: DialectName, builder: EventBuilder | None = None) -> DialectReader:
    """Return a reader that adds messages of a dialect to a builder; a new builder unless one is given."""
    found = DIALECTS[dialect]
    return found.new_reader(EventBuilder(found.title) if builder is None else builder)


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
