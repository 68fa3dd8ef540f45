"""The interface of a provider's dialect: how its requests, answers and streams are read, changed, sent and recognised.

Each dialect is one object in its own file; `wire/dialects` lists them. Everything specific to a dialect is in its
object. No code outside this folder compares a dialect's name to decide something. The methods here implement what most
dialects have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol
from urllib.parse import quote

from workbench.log.events import Body, DialectName, Usage
from workbench.models.reply_parts import ReportedUsage
from workbench.wire.chat_requests import ChatRequest
from workbench.wire.event_builder import EventBuilder
from workbench.wire.found_items import FoundItem, Kind, content_items, role_kind
from workbench.wire.marks import shaped_like
from workbench.wire.values import is_models, list_in, text_in

if TYPE_CHECKING:
    from workbench.wire.speaking import DialectSpeaker


class DialectReader(Protocol):
    """Reads one conversation in a dialect and adds it to a builder."""

    builder: EventBuilder

    def head(self, body: dict[str, Any]) -> int:
        """Read the system prompt and the tools of a request. Return how many of its messages were the prompt."""

    def message(self, value: Any) -> None:
        """Read a message of a request."""

    def answer(self, body: dict[str, Any]) -> Usage | None:
        """Read the answer to a request. Return the usage that it reports."""


class ProviderHome(NamedTuple):
    """The provider that a dialect belongs to."""

    name: str
    address: str
    variables: tuple[str, ...]
    """Environment variables in which clients look for its address."""


class AskedPath(NamedTuple):
    """What the path of a request shows."""

    purpose: str = ""
    """The purpose, if it is not an ordinary request: counting or compaction."""
    model: str = ""
    """The model, if the path names it."""
    is_wrapped: bool = False
    """Whether the body has the request under one of its keys, and the answer is wrapped as well."""


def asks_with_messages(body: dict[str, Any], answered: bool) -> bool:
    """Whether a body has a model and messages with roles, and the last one waits for an answer or was `answered`."""
    messages = list_in(body, "messages")
    if not (text_in(body, "model") or answered) or not all(text_in(message, "role") for message in messages):
        return False
    return bool(messages) and (answered or not is_models(messages[-1]))


class Dialect(ABC):
    """A provider's dialect. It has no state."""

    name: ClassVar[DialectName]
    also: ClassVar[tuple[str, ...]] = ()
    """Other names that people use for it."""
    title: ClassVar[str]
    """The name of the provider or API, for people."""
    provider: ClassVar[ProviderHome]
    path: ClassVar[str]
    """The path to which a request is sent, with a placeholder for the model if the path names it."""
    places: ClassVar[tuple[str, str]]
    """The keys of a body for the system prompt and for the messages. The first is empty if the prompt is in the first
    messages.
    """
    ends: ClassVar[Mapping[str, str]] = {}
    """The ends of its requests' paths, each with its purpose: empty, counting, or compaction."""
    header: ClassVar[str] = ""
    """A header that only requests to this provider have; empty if there is none."""
    model_in_body: ClassVar[bool] = True
    """Whether a body names its model; otherwise the address does."""
    pairs_by_tool: ClassVar[bool] = False
    """Whether calls may lack ids. Then results are paired with calls by the tool's name, in order."""
    replies_are_items: ClassVar[bool] = False
    """Whether a reply is several consecutive entries: thinking, and the items up to the next thinking."""
    marks_texts: ClassVar[bool] = False
    """Whether a plain text must become a block to carry a mark for the cache."""
    has_websockets: ClassVar[bool] = False
    takes_plain: ClassVar[tuple[type, ...]] = (str,)
    """The types of content that a message with only a role and a content may have: a text, or a list of texts."""
    returns_thinking: ClassVar[bool] = False
    """Whether clients send the model's thinking back with its replies."""
    shows_results: ClassVar[bool] = False
    """Whether the result of a tool may have pictures."""
    remembers_answers: ClassVar[bool] = False
    """Whether a request may name an earlier answer instead of repeating the conversation so far."""
    no_text: ClassVar[str | None] = None
    """The content of a message that has only calls."""
    needs_key: ClassVar[bool] = True
    """Whether the provider requires a key."""
    answer_keys: ClassVar[tuple[str, ...]]
    """The keys that identify an answer: it has at least one."""
    stream_sign: ClassVar[str] = "data:"
    """A text that every stream contains."""
    alive_sign: ClassVar[bytes] = b""
    """Bytes that keep a stream alive and carry no content; empty if the dialect has none."""

    # Reading

    @abstractmethod
    def new_reader(self, builder: EventBuilder) -> DialectReader:
        """Return a reader that adds messages of this dialect to a builder."""

    def read_request(self, body: dict[str, Any]) -> list[Body]:
        """Read a request as events: the slots, then its messages, in order."""
        reader = self.new_reader(EventBuilder(self.title))
        head = reader.head(body)
        for message in self.messages_in(body)[head:]:
            reader.message(message)
        return reader.builder.bodies

    def read_answer(self, body: dict[str, Any]) -> tuple[list[Body], Usage | None]:
        """Read an answer: its events, and the usage that it reports."""
        reader = self.new_reader(EventBuilder(self.title))
        used = reader.answer(body)
        return reader.builder.bodies, used

    @abstractmethod
    def answer_in_stream(self, stream: bytes) -> dict[str, Any]:
        """Build the body that the answer would have had without streaming, as far as the stream goes."""

    def messages_in(self, body: Mapping[str, Any]) -> list[Any]:
        """The messages of a body. A bare text counts as one message."""
        found = body.get(self.places[1])
        if isinstance(found, list):
            return found
        return [] if found in (None, "") else [found]

    def prompt_length(self, messages: list[Any]) -> int:
        """The number of messages at the beginning that are the system prompt; 0 if the body has a key for it."""
        return 0

    def comparable_prompt(self, system: Any) -> Any:
        """The system prompt without the parts that change from request to request."""
        return system

    # Recognising

    @abstractmethod
    def recognises_body(self, body: dict[str, Any]) -> bool:
        """Whether a body has messages in the form of this dialect and of no other."""

    @abstractmethod
    def recognises_message(self, message: dict[str, Any]) -> bool:
        """Whether a message has what only messages of this dialect have. Plain texts with a role fit most of them."""

    def recognises_tool(self, tool: dict[str, Any]) -> bool:
        """Whether a tool's definition has what only this dialect's have."""
        return False

    @abstractmethod
    def messages_in_answer(self, body: dict[str, Any]) -> list[Any] | None:
        """The messages of an answer, as the next request repeats them; None: the body is no answer of this dialect."""

    @abstractmethod
    def recognises_request(self, body: dict[str, Any], answered: bool) -> bool:
        """Whether a body found in a log is a request in this dialect that waits for its answer, or was `answered`."""

    def recognises_path(self, path: str) -> AskedPath | None:
        """What the path of a request shows; None if it is not a path of this dialect for asking a model."""
        return next((AskedPath(purpose) for end, purpose in self.ends.items() if path.endswith(end)), None)

    def recognises_client(self, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a request that asks no model is for the provider of this dialect."""
        return False

    def unwrapped_request(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The model and the request inside a body, for a path that says that it is wrapped."""
        return text_in(body, "model"), body

    def unwrapped_answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer inside the answer to such a request."""
        return body

    # Items: the parts of a request that can be left out or changed

    def role_in(self, message: dict[str, Any]) -> Kind:
        """The kind of item that a message's role stands for."""
        return role_kind(text_in(message, "role"))

    def items_in_message(self, message: dict[str, Any]) -> Iterator[FoundItem]:
        yield from content_items(message, self.role_in(message))

    def result_with_text(self, value: dict[str, Any], text: str) -> Any:
        """A result with another text, in the same shape; None if its text cannot be changed here."""
        kind = text_in(value, "type")
        if kind == "tool_result":
            return {**value, "content": shaped_like(value.get("content"), text)}
        if kind.endswith("_call_output"):
            return {**value, "output": shaped_like(value.get("output"), text)}
        return None

    # Sending

    def credentials(self, key: str) -> dict[str, str]:
        """The headers that a request needs besides its body. `key` may be empty."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def path_for(self, model: str) -> str:
        """The path of a request. The model's name is escaped to be one segment, whatever characters it has."""
        return self.path.format(model=quote(model, safe="", errors="replace"))

    def wants_stream(self, body: Mapping[str, Any], path: str) -> bool:
        """Whether the client wants a stream."""
        return body.get("stream") is True

    def streams_events(self, query: Mapping[str, str]) -> bool:
        """Whether the stream that a client wants consists of events; otherwise it is a list."""
        return True

    def body_sent_again(self, body: dict[str, Any]) -> dict[str, Any]:
        """A recorded body, changed to make its answer report tokens when it is sent again."""
        return body

    def may_truncate(self, parameters: Mapping[str, Any]) -> bool:
        """Whether the request lets the provider drop the oldest messages instead of refusing it."""
        return False

    # Writing

    def without_thinking(self, message: dict[str, Any]) -> dict[str, Any]:
        """A message of a request without the model's thinking; the same object if it has none."""
        return message

    @abstractmethod
    def write_request(self, chat: ChatRequest) -> dict[str, Any]:
        """Write the system prompt, the messages and the tools of a request, under the keys of this dialect."""

    @abstractmethod
    def new_speaker(self) -> DialectSpeaker:
        """Return the provider's side of the dialect, for the rehearsal model and for answers written by hand."""

    def body_with_prompt(self, body: dict[str, Any], system: Any) -> dict[str, Any]:
        """The body with a system prompt that a tracer recorded separately."""
        return {**body, self.places[0]: system}

    @abstractmethod
    def answer_with(self, message: dict[str, Any]) -> dict[str, Any]:
        """Build an answer with a message in OpenAI's form, as tracers keep them; with none for an empty message."""

    @abstractmethod
    def usage_json(self, used: ReportedUsage) -> dict[str, Any]:
        """The usage of an answer, under the keys that the dialect has for it."""
