"""What a provider's dialect is asked: how its requests, answers and streams are read, changed, sent and recognised.

Each dialect is one object in a file of its own; `wire/dialects` lists them. All that one dialect does in its own way is
in its object, and nothing outside this folder asks for a dialect's name to decide something. What is written here is
what most of them have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol
from urllib.parse import quote

from workbench.log.events import Body, DialectName, Usage
from workbench.models.reply_parts import Reported
from workbench.wire.found_items import FoundItem, Kind, content_items, role_kind
from workbench.wire.marks import shaped
from workbench.wire.talk import Talk
from workbench.wire.values import is_models, list_in, text_in

if TYPE_CHECKING:
    from workbench.wire.speaking import DialectSpeaker


class DialectReader(Protocol):
    """One conversation in a dialect; what is read is added to its talk."""

    talk: Talk

    def head(self, body: dict[str, Any]) -> int:
        """Read the system prompt and the tools of a request; gives how many of its messages were the prompt."""

    def message(self, value: Any) -> None:
        """Read a message of a request."""

    def answer(self, body: dict[str, Any]) -> Usage | None:
        """Read what a request was answered with; gives what was reported for it."""


class ProviderHome(NamedTuple):
    """The provider that a dialect belongs to."""

    name: str
    address: str
    variables: tuple[str, ...]
    """In which clients look for its address."""


class AskedPath(NamedTuple):
    """What the path of a request says."""

    purpose: str = ""
    """What it is for, where it is no usual request: counting, compaction."""
    model: str = ""
    """Where the path names it."""


def asks_with_messages(body: dict[str, Any], answered: bool) -> bool:
    """Whether a body has a model and messages with roles, of which the last waits for an answer or was `answered`."""
    messages = list_in(body, "messages")
    if not (text_in(body, "model") or answered) or not all(text_in(message, "role") for message in messages):
        return False
    return bool(messages) and (answered or not is_models(messages[-1]))


class Dialect(ABC):
    """A provider's dialect. It has no state."""

    name: ClassVar[DialectName]
    title: ClassVar[str]
    """Whose words they are, for people."""
    provider: ClassVar[ProviderHome]
    path: ClassVar[str]
    """Where a request is sent, with the model in it where it belongs there."""
    places: ClassVar[tuple[str, str]]
    """The keys of a body for the system prompt and for the messages. The first is empty where the prompt is the first
    messages."""
    ends: ClassVar[Mapping[str, str]] = {}
    """How the paths of its requests end, and what each is for: nothing more, counting, or compaction."""
    header: ClassVar[str] = ""
    """A header that only requests to this provider have; empty: none."""
    model_in_body: ClassVar[bool] = True
    """Whether a body names its model; else the address does."""
    pairs_by_tool: ClassVar[bool] = False
    """Whether calls may have no ids, and results are paired with them by the tool's name in their order."""
    replies_are_items: ClassVar[bool] = False
    """Whether a reply is several entries in a row: thinking, and the items up to the next thinking."""
    marks_texts: ClassVar[bool] = False
    """Whether a plain text becomes a block to carry a mark for the cache."""
    has_websockets: ClassVar[bool] = False
    remembers_answers: ClassVar[bool] = False
    """Whether a request may name an earlier answer in place of what was said before."""
    needs_key: ClassVar[bool] = True
    """Whether the provider answers only those who have a key."""
    answer_keys: ClassVar[tuple[str, ...]]
    """By which an answer is known: it has one of them."""
    stream_sign: ClassVar[str] = "data:"
    """What is in every stream."""
    alive_sign: ClassVar[bytes] = b""
    """What keeps a stream alive and says nothing; empty: there is no such thing."""

    # Reading

    @abstractmethod
    def new_reader(self, talk: Talk) -> DialectReader:
        """What adds the messages of this dialect to a talk."""

    def read_request(self, body: dict[str, Any]) -> list[Body]:
        """A request as events: the slots, then its messages, in order."""
        reader = self.new_reader(Talk(self.title))
        head = reader.head(body)
        for message in self.messages_in(body)[head:]:
            reader.message(message)
        return reader.talk.bodies

    def read_answer(self, body: dict[str, Any]) -> tuple[list[Body], Usage | None]:
        """What a request was answered with, as events, and what was reported for it."""
        reader = self.new_reader(Talk(self.title))
        used = reader.answer(body)
        return reader.talk.bodies, used

    @abstractmethod
    def answer_in_stream(self, stream: bytes) -> dict[str, Any]:
        """The body that the answer would have been without streaming; as much of it as the stream held."""

    def messages_in(self, body: Mapping[str, Any]) -> list[Any]:
        """The messages of a body; a bare text is one."""
        found = body.get(self.places[1])
        if isinstance(found, list):
            return found
        return [] if found in (None, "") else [found]

    def prompt_length(self, messages: list[Any]) -> int:
        """How many of the first messages are the system prompt; none where the body has a place for it."""
        return 0

    def comparable_prompt(self, system: Any) -> Any:
        """The system prompt without what changes from request to request."""
        return system

    # Recognising

    @abstractmethod
    def recognises_body(self, body: dict[str, Any]) -> bool:
        """Whether a body has its messages as this dialect has them, and no other."""

    @abstractmethod
    def recognises_request(self, body: dict[str, Any], answered: bool) -> bool:
        """Whether a body found in a log is a request in this dialect that waits for its answer, or was `answered`."""

    def recognises_path(self, path: str) -> AskedPath | None:
        """What the path of a request says; None: nothing is asked of a model in this dialect there."""
        return next((AskedPath(purpose) for end, purpose in self.ends.items() if path.endswith(end)), None)

    def recognises_client(self, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a request that asks no model is for the provider of this dialect."""
        return False

    # Items: what can be left out of a request or changed in it

    def role_in(self, message: dict[str, Any]) -> Kind:
        """Who says a message."""
        return role_kind(text_in(message, "role"))

    def items_in_message(self, message: dict[str, Any]) -> Iterator[FoundItem]:
        """What a message has in it."""
        yield from content_items(message, self.role_in(message))

    def result_with_text(self, value: dict[str, Any], text: str) -> Any:
        """A result in other words, in the shape that it has; None: its text cannot be changed here."""
        kind = text_in(value, "type")
        if kind == "tool_result":
            return {**value, "content": shaped(value.get("content"), text)}
        if kind.endswith("_call_output"):
            return {**value, "output": shaped(value.get("output"), text)}
        return None

    # Sending

    @abstractmethod
    def credentials(self, key: str) -> dict[str, str]:
        """The headers that a request needs besides its body; `key` may be empty."""

    def path_for(self, model: str) -> str:
        """The path of a request; the model's name is one step of it, whatever it holds."""
        return self.path.format(model=quote(model, safe="", errors="replace"))

    def wants_stream(self, body: Mapping[str, Any], path: str) -> bool:
        """Whether a client waits for a stream."""
        return body.get("stream") is True

    def streams_events(self, query: Mapping[str, str]) -> bool:
        """Whether the stream that a client waits for is one of events; else it is a list."""
        return True

    def body_sent_again(self, body: dict[str, Any]) -> dict[str, Any]:
        """A recorded body as it is sent again, so that the tokens of its answer are reported."""
        return body

    def may_truncate(self, parameters: Mapping[str, Any]) -> bool:
        """Whether the provider was asked to drop the oldest messages rather than refuse the request."""
        return False

    # Writing

    @abstractmethod
    def new_speaker(self) -> DialectSpeaker:
        """What speaks as the provider does: for the rehearsal model, and for answers that are written by hand."""

    def body_with_prompt(self, body: dict[str, Any], system: Any) -> dict[str, Any]:
        """A body with a system prompt that a tracer wrote down elsewhere."""
        return {**body, self.places[0]: system}

    @abstractmethod
    def answer_with(self, message: dict[str, Any]) -> dict[str, Any]:
        """An answer with a message in OpenAI's form, as tracers keep them; without one where it is empty."""

    @abstractmethod
    def usage_json(self, used: Reported) -> dict[str, Any]:
        """What an answer reports, under the keys that it has for it."""
