"""Requests and their answers, one after another, as the conversations that they make.

- A request that begins with all the messages of an earlier one goes on with its conversation; the others begin one.
  Marks for the cache, and the two ways to write a single text, make no difference. Where a request shares no more than
  its first message, the system prompt has to be the same too.
- What was answered is the reply, and its usage is the request's report. Where there is no answer, or the next request
  tells of other calls than it had, the reply is what the next request says it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from msgspec.structs import replace

from workbench.log.events import Body, Dialect, Request, SlotContent, ToolCall
from workbench.traces.building import Builder, content_hash
from workbench.wire.dialects import Parts, read_answer, reader
from workbench.wire.values import text_in


class Exchange(NamedTuple):
    """A request and its answer."""

    dialect: Dialect
    body: dict[str, Any]
    answer: dict[str, Any]
    model: str
    at: int
    parts: Parts
    """The body's."""

    @property
    def head(self) -> int:
        """How many of its messages are the system prompt, as in chat."""
        leading = takewhile(lambda message: text_in(message, "role") in ("system", "developer"), self.parts.messages)
        return sum(1 for _ in leading) if self.dialect == "chat" else 0

    @property
    def system(self) -> Any:
        """The system prompt, wherever it stands."""
        return self.parts.messages[: self.head] if self.dialect == "chat" else self.parts.system

    @property
    def talk(self) -> list[Any]:
        """The messages behind the system prompt."""
        return self.parts.messages[self.head :]


def is_models(message: Any) -> bool:
    """Whether a message is what the model said, in any dialect."""
    role, kind = text_in(message, "role"), text_in(message, "type")
    return role in ("assistant", "model") if role else kind == "reasoning" or kind.endswith("_call")


def threads(exchanges: Iterable[Exchange]) -> list[list[Exchange]]:
    """The exchanges by conversation, each in their order."""
    found: list[list[Exchange]] = []
    latest: dict[tuple[str, ...], list[Exchange]] = {}
    """By what the last request of a conversation held: that conversation."""
    for exchange in exchanges:
        held = list(_held(exchange))
        known = next((each for each in reversed(held) if each in latest), None)
        thread = latest.pop(known) if known else []
        if not thread:
            found.append(thread)
        thread.append(exchange)
        latest[held[-1]] = thread
    return found


def conversations_of(exchanges: Iterable[Exchange], format_name: str) -> list[Builder]:
    """The conversations that requests and their answers make, still open for what is beside them."""
    found = []
    for thread in threads(exchanges):
        builder = Builder(format_name)
        adding = RequestThread(builder, thread[0].dialect)
        for exchange, following in zip(thread, [*thread[1:], None], strict=True):
            adding.add(exchange, following)
        found.append(builder)
    return found


def _held(exchange: Exchange) -> Iterator[tuple[str, ...]]:
    """For each beginning of a request's messages: what a request that held no more is known by."""
    system = exchange.system
    if exchange.dialect == "anthropic" and isinstance(system, list) and len(system) > 1:
        system = system[1:]  # the first block of Claude Code's is a line for the bill, which varies
    prompt = content_hash(system)
    digest = ""
    for number, message in enumerate(exchange.talk, 1):
        digest = content_hash([digest, _plain(message)])
        yield (exchange.dialect, digest) if number > 1 else (exchange.dialect, digest, prompt)


def _plain(message: Any) -> Any:
    """A message as it compares: a text is one part of text."""
    content = message.get("content") if isinstance(message, dict) else None
    return {**message, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else message


class RequestThread:
    """One conversation in the making, request by request."""

    def __init__(self, builder: Builder, dialect: Dialect) -> None:
        self._builder = builder
        self._reader = reader(dialect, builder)
        self._head = ""
        """What stands in the slots, by its hash."""
        self._read = 0
        """So many messages were taken in, the system prompt aside."""
        self._request = 0
        """The event of the last request."""
        self._hashes: tuple[str, ...] = ()
        """Of its messages."""

    def add(self, exchange: Exchange, following: Exchange | None) -> None:
        """Take in a request and its answer; `following`: the one that goes on from it."""
        builder = self._builder
        builder.when(exchange.at)
        builder.says_model(exchange.model)
        self._slots(exchange)
        for message in exchange.talk[self._read :]:
            self._reader.message(message)
        self._read = len(exchange.talk)
        self._send(exchange)
        told = list(takewhile(is_models, following.talk[self._read :])) if following else []
        self._answered(exchange, told)
        self._read += len(told)

    def _slots(self, exchange: Exchange) -> None:
        """System prompt and tools, where they are not those that stand there; what is gone is cleared."""
        head = content_hash([exchange.system, exchange.parts.tools])
        if head == self._head:
            return
        self._head = head
        before = {(body.slot, body.name): body for body in self._builder.bodies if isinstance(body, SlotContent)}
        at = self._builder.last
        self._reader.head(exchange.body)
        now = {(body.slot, body.name) for body in self._builder.bodies[at:] if isinstance(body, SlotContent)}
        for (slot, name), body in before.items():
            if (slot, name) not in now and body.text:
                self._builder.add(SlotContent(slot, name, ""))

    def _send(self, exchange: Exchange) -> None:
        """The request itself; what it has in common with the one before is not told again."""
        builder, parts = self._builder, exchange.parts
        system = "" if parts.system is None else builder.part(parts.system)
        tools = "" if parts.tools is None else builder.part(parts.tools)
        hashes = tuple(builder.part(message) for message in parts.messages)
        pairs = takewhile(lambda pair: pair[0] == pair[1], zip(hashes, self._hashes, strict=False))
        keep = sum(1 for _ in pairs)
        self._request = builder.request(
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
            )
        )
        self._hashes = hashes

    def _answered(self, exchange: Exchange, told: list[Any]) -> None:
        said, used = read_answer(exchange.dialect, exchange.answer)
        model = self._builder.model
        if said and (not told or _calls(said) == _calls(self._scratch(exchange.dialect, told))):
            self._reader.answer(exchange.answer)
            self._builder.model = model  # an answer may name a version of it
        else:
            for message in told:
                self._reader.message(message)
        if used is not None:
            self._builder.add(replace(used, model=used.model or model, request=self._request))

    @staticmethod
    def _scratch(dialect: Dialect, messages: list[Any]) -> list[Body]:
        made = reader(dialect, Builder(""))
        for message in messages:
            made.message(message)
        return made.talk.bodies


def _calls(bodies: list[Body]) -> list[str]:
    return [body.call_id for body in bodies if isinstance(body, ToolCall)]
