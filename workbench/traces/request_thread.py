"""One conversation in the making, from the requests that were made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, count, takewhile
from operator import ne
from typing import Any

from msgspec.structs import replace

from workbench.log.events import Body, DialectName, Request, Slot, SlotContent, ToolCall
from workbench.traces.building import Builder, content_hash
from workbench.wire.context_edits import applied_edits
from workbench.wire.dialects import DIALECTS, read_answer, reader
from workbench.wire.parts import Parts
from workbench.wire.values import is_models


@dataclass(frozen=True, eq=False)
class Exchange:
    """A request and its answer."""

    dialect: DialectName
    body: dict[str, Any]
    answer: dict[str, Any]
    model: str
    at: int
    parts: Parts
    """The body's."""
    known: tuple[str, ...] = ()
    """The hashes of its first messages, where they were made already."""
    known_names: tuple[str, ...] = ()
    """What all of its messages compare by (`name_of`), where that was found out already."""
    hash_of: Callable[[Any], str] = content_hash
    """What does as `content_hash`, and may remember it."""
    is_exact: bool = True
    """Whether the body is what was sent; not where a tracer or another dialect wrote it otherwise."""

    @cached_property
    def head(self) -> int:
        """How many of its messages are the system prompt."""
        return DIALECTS[self.dialect].prompt_length(self.parts.messages)

    @property
    def system(self) -> Any:
        """The system prompt, wherever it stands."""
        has_place = DIALECTS[self.dialect].places[0]
        return self.parts.system if has_place else self.parts.messages[: self.head]

    @cached_property
    def prompt_name(self) -> str:
        """What its system prompt is known by."""
        return self.hash_of(self.prompt)

    @property
    def head_name(self) -> str:
        """What its system prompt and its tools are known by."""
        return self.hash_of([self.system, self.parts.tools])

    @cached_property
    def hashes(self) -> tuple[str, ...]:
        """Of its messages, the system prompt too where it is among them."""
        return (*self.known, *map(content_hash, self.parts.messages[len(self.known) :]))

    @cached_property
    def names(self) -> list[str]:
        """What the messages behind the system prompt are known by; how a text is written makes no difference."""
        if self.known_names:
            return list(self.known_names[self.head :])
        return list(map(name_of, self.talk, self.hashes[self.head :]))

    @property
    def prompt(self) -> Any:
        """The system prompt as it compares."""
        return DIALECTS[self.dialect].comparable_prompt(self.system)

    @cached_property
    def talk(self) -> list[Any]:
        """The messages behind the system prompt."""
        return self.parts.messages[self.head :]


def common_start(one: Sequence[object], other: Sequence[object]) -> int:
    """With how many of the same two lists begin."""
    return next(compress(count(), map(ne, one, other)), min(len(one), len(other)))


def plain(message: Any) -> Any:
    """A message as it compares: a text that is its only part is the text, and a bare text is the user's message."""
    match message:
        case str():
            return {"role": "user", "content": message}
        case {"content": [{"type": "text", "text": str(text), **more}]} if not more:
            return {**message, "content": text}
    return message


def name_of(message: Any, known: str) -> str:
    """What a message compares by; `known`: its hash."""
    same = plain(message)
    return known if same is message else content_hash(same)


class RequestThread:
    """One conversation in the making, request by request."""

    def __init__(self, builder: Builder, dialect: DialectName) -> None:
        self.builder = builder
        self.dialect = dialect
        self.reader = reader(dialect, builder)
        self._head = ""
        """What stands in the slots, by its hash."""
        self._slots: dict[tuple[Slot, str], SlotContent] = {}
        self._read = 0
        """So many messages were taken in, the system prompt aside."""
        self._request = 0
        """The event of the last request."""
        self._hashes: tuple[str, ...] = ()
        """Of its messages."""

    def add(self, exchange: Exchange, following: Exchange | None) -> None:
        """Take in a request and its answer; `following`: the one that goes on from it."""
        self.begin(exchange)
        for message in exchange.talk[self._read :]:
            self.reader.message(message)
        self._read = len(exchange.talk)
        self.builder.cleared(applied_edits(exchange.answer, exchange.body))
        request = self.send(exchange)
        told = list(takewhile(is_models, following.talk[self._read :])) if following else []
        self._answered(exchange, request, told)
        self._read += len(told)

    def begin(self, exchange: Exchange) -> None:
        """When, to whom, and with what system prompt and tools; what does not stand there any more is cleared."""
        self.builder.when(exchange.at)
        self.builder.says_model(exchange.model)
        head = exchange.head_name
        if head == self._head:
            return
        self._head = head
        at = len(self.builder.bodies)
        self.reader.head(exchange.body)
        now = {(body.slot, body.name): body for body in self.builder.bodies[at:] if isinstance(body, SlotContent)}
        for (slot, name), body in self._slots.items():
            if (slot, name) not in now and body.text:
                self.builder.add(SlotContent(slot, name, ""))
        self._slots = {**{key: replace(body, text="") for key, body in self._slots.items()}, **now}

    def send(self, exchange: Exchange, *, aside: bool = False, **who: Any) -> int:
        """The request itself, by its event; what it has in common with the one before is not told again.

        `aside`: it is none of the conversation, and the next one does not begin with it. One that is not exact has no
        event: 0.
        """
        if not exchange.is_exact:
            return 0
        builder, parts = self.builder, exchange.parts
        system = "" if parts.system is None else builder.part(parts.system, exchange.hash_of(parts.system))
        tools = "" if parts.tools is None else builder.part(parts.tools, exchange.hash_of(parts.tools))
        hashes = exchange.hashes
        keep = common_start(hashes, self._hashes)
        for name, message in zip(hashes[keep:], parts.messages[keep:], strict=True):
            builder.part(message, name)
        event = builder.request(
            Request(
                exchange.dialect,
                exchange.model,
                system=system,
                tools=tools,
                base=self._request if keep else 0,
                keep=keep,
                messages=hashes[keep:],
                parameters=parts.parameters,
                cache_marks=parts.cache_marks,
                **who,
            )
        )
        if not aside:
            self._request, self._hashes = event, hashes
        return event

    def say(self, answer: dict[str, Any]) -> None:
        """What was answered, as part of the conversation; an answer may name a version of the model."""
        model = self.builder.model
        self.reader.answer(answer)
        self.builder.model = model

    def _answered(self, exchange: Exchange, request: int, told: list[Any]) -> None:
        said, used = read_answer(exchange.dialect, exchange.answer)
        if said and (not told or calls_in(said) == calls_in(self.scratch(told))):
            self.say(exchange.answer)
        else:
            for message in told:
                self.reader.message(message)
        if used is not None:
            self.builder.add(replace(used, model=used.model or self.builder.model, request=request))

    def scratch(self, messages: list[Any]) -> list[Body]:
        """Messages as events, without taking them in."""
        made = reader(self.dialect, Builder(""))
        for message in messages:
            made.message(message)
        return made.talk.bodies


def calls_in(bodies: list[Body]) -> list[str]:
    """The calls among events, by their ids."""
    return [body.call_id for body in bodies if isinstance(body, ToolCall)]
