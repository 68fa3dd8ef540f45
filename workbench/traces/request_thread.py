"""Builds one conversation from its requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, count, takewhile
from operator import ne
from typing import Any

from workbench.config.values import replace
from workbench.log.events import Body, DialectName, Request, Slot, SlotContent, ToolCall
from workbench.traces.building import Builder, content_hash
from workbench.wire.context_edits import applied_edits
from workbench.wire.dialects import DIALECTS, read_answer, reader_for
from workbench.wire.parts import BodyParts
from workbench.wire.values import is_models


@dataclass(frozen=True, eq=False)
class Exchange:
    """A request and its answer."""

    dialect: DialectName
    body: dict[str, Any]
    answer: dict[str, Any]
    model: str
    at: int
    parts: BodyParts
    """The parts of the body."""
    known: tuple[str, ...] = ()
    """The hashes of its first messages, if known already."""
    known_names: tuple[str, ...] = ()
    """The names (`message_name`) of all its messages, if known already."""
    hash_of: Callable[[Any], str] = content_hash
    """Works like `content_hash`, and may cache."""
    is_exact: bool = True
    """Whether the body is what was sent; not if a tracer or another dialect wrote it."""

    @cached_property
    def head(self) -> int:
        """How many of its messages are the system prompt."""
        return DIALECTS[self.dialect].prompt_length(self.parts.messages)

    @property
    def system(self) -> Any:
        """The system prompt, wherever the request has it."""
        has_place = DIALECTS[self.dialect].places[0]
        return self.parts.system if has_place else self.parts.messages[: self.head]

    @cached_property
    def prompt_name(self) -> str:
        """The name of its system prompt, for comparison."""
        return self.hash_of(self.prompt)

    @property
    def head_name(self) -> str:
        """The name of its system prompt and its tools, for comparison."""
        return self.hash_of([self.system, self.parts.tools])

    @cached_property
    def hashes(self) -> tuple[str, ...]:
        """The hashes of its messages, including the system prompt if it is one of them."""
        return (*self.known, *map(content_hash, self.parts.messages[len(self.known) :]))

    @cached_property
    def names(self) -> list[str]:
        """The names of the messages after the system prompt; how a text is written makes no difference."""
        if self.known_names:
            return list(self.known_names[self.head :])
        return list(map(message_name, self.talk, self.hashes[self.head :]))

    @property
    def prompt(self) -> Any:
        """The system prompt as it compares."""
        return DIALECTS[self.dialect].comparable_prompt(self.system)

    @cached_property
    def talk(self) -> list[Any]:
        """The messages after the system prompt."""
        return self.parts.messages[self.head :]


def common_start(one: Sequence[object], other: Sequence[object]) -> int:
    """The length of the common beginning of two lists."""
    return next(compress(count(), map(ne, one, other)), min(len(one), len(other)))


def comparable_message(message: Any) -> Any:
    """A message for comparison: a text that is its only part is the text, and a bare text is the user's message."""
    match message:
        case str():
            return {"role": "user", "content": message}
        case {"content": [{"type": "text", "text": str(text), **more}]} if not more:
            return {**message, "content": text}
    return message


def message_name(message: Any, known: str) -> str:
    """The name of a message, for comparison; `known`: its hash."""
    same = comparable_message(message)
    return known if same is message else content_hash(same)


class RequestThread:
    """Builds one conversation, request by request."""

    def __init__(self, builder: Builder, dialect: DialectName) -> None:
        self.builder = builder
        self.dialect = dialect
        self.reader = reader_for(dialect, builder)
        self._head = ""
        """The hash of what is in the slots."""
        self._slots: dict[tuple[Slot, str], SlotContent] = {}
        self._read = 0
        """How many messages were added, without the system prompt."""
        self._request = 0
        """The event of the last request."""
        self._hashes: tuple[str, ...] = ()
        """The hashes of its messages."""

    def add_exchange(self, exchange: Exchange, following: Exchange | None) -> None:
        """Add a request and its answer; `following`: the one that continues it."""
        self.begin(exchange)
        for message in exchange.talk[self._read :]:
            self.reader.message(message)
        self._read = len(exchange.talk)
        self.builder.cleared(applied_edits(exchange.answer, exchange.body))
        request = self.send(exchange)
        replied = list(takewhile(is_models, following.talk[self._read :])) if following else []
        self._answered(exchange, request, replied)
        self._read += len(replied)

    def begin(self, exchange: Exchange) -> None:
        """Set time, model, system prompt and tools; slots that are no longer used are cleared."""
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
        """Add the request itself, without what it has in common with the one before; returns its event.

        `aside`: it is no part of the conversation, and the next one does not begin with it. One that is not exact has
        no event: 0.
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

    def add_answer(self, answer: dict[str, Any]) -> None:
        """Add the answer to the conversation; an answer may name a version of the model."""
        model = self.builder.model
        self.reader.answer(answer)
        self.builder.model = model

    def _answered(self, exchange: Exchange, request: int, replied: list[Any]) -> None:
        answered, used = read_answer(exchange.dialect, exchange.answer)
        if answered and (not replied or calls_in(answered) == calls_in(self.scratch(replied))):
            self.add_answer(exchange.answer)
        else:
            for message in replied:
                self.reader.message(message)
        if used is not None:
            self.builder.add(replace(used, model=used.model or self.builder.model, request=request))

    def scratch(self, messages: list[Any]) -> list[Body]:
        """Messages as events, without adding them."""
        made = reader_for(self.dialect, Builder(""))
        for message in messages:
            made.message(message)
        return made.builder.bodies


def calls_in(bodies: list[Body]) -> list[str]:
    """The calls among events, by their ids."""
    return [body.call_id for body in bodies if isinstance(body, ToolCall)]
