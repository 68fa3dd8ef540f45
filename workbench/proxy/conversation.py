"""Builds the events of one conversation from the requests of an agent, as they are sent.

A request usually has everything from the request before, then the answer to that, then something new. If it does not,
the agent has changed its past:

- If the agent asked for a summary before, and the new request has that summary, it is a compaction.
- Results that have another text now were masked by the agent.
- Messages that are missing were left out by the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any, NamedTuple

from workbench.config.values import replace
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    KeptEvent,
    Override,
    RequestAnswer,
    ToolCall,
    ToolResult,
    text_of,
)
from workbench.models.tokens import counter_for
from workbench.proxy.logged_replies import EventSpan, LoggedReply, ReplyContent, model_text_in, repeated_reply
from workbench.proxy.senders import texts_of
from workbench.traces.building import Builder
from workbench.traces.request_thread import Exchange, RequestThread, calls_in, common_start
from workbench.wire.context_edits import applied_edits
from workbench.wire.dialects import DIALECTS, read_answer
from workbench.wire.rewriting import items_in
from workbench.wire.values import is_models, text_in

LEFT_OUT = "the agent does not send it any more"
GROWN = "the agent sends it with more in it"
MASKED = "the agent sends other words in its place"
PROBES, PROBE = 3, 200
"""A summary is recognised by this number of its longest lines, and this number of characters of each."""
TELLING = 20
"""The shortest line, in characters, that can identify a summary."""


class LiveConversation(RequestThread):
    """A conversation that is being recorded. Its builder has the events."""

    def __init__(self, builder: Builder, exchange: Exchange) -> None:
        super().__init__(builder, exchange.dialect)
        self.prompt = exchange.prompt_name
        """The hash of the system prompt."""
        self.calls: dict[str, str] = {}
        """The calls of the last answer, by id, with their arguments."""
        self._names: list[str] = []
        """The hashes of the last request's messages."""
        self._spans: list[EventSpan] = []
        """The events of each of these messages."""
        self._last_message = LastMessage()
        self._replies: list[LoggedReply] = []
        """The answers since the last request: several, if the agent asked again before it had one."""
        self._results: dict[str, int] = {}
        """The event of each call's result."""
        self._summary = ""
        """The answer to a request for a summary, until a request contains it."""
        self._noted: dict[str, Any] = {}
        """Facts about that answer, for the notes of the compaction."""
        self._size = 0
        """The reported tokens of the last request of the conversation and its answer."""
        self._factor = 1.0
        """The ratio of the provider's token count to ours."""

    @property
    def has_talk(self) -> bool:
        """Whether a request of the conversation itself was made, not only side requests."""
        return bool(self._names)

    @property
    def names(self) -> Sequence[str]:
        """The hashes of the last request's messages. The list is never changed in place."""
        return self._names

    def result_of(self, call_id: str) -> int:
        """The event of a call's result; 0 if there is none."""
        return self._results.get(call_id, 0)

    # Comparing a request with this conversation

    def continued_by(self, exchange: Exchange) -> int:
        """How many messages a request shares with this conversation, if it has all of them; otherwise 0."""
        return self._last_message.continued(self._names, exchange) if exchange.dialect == self.dialect else 0

    @property
    def last_message(self) -> LastMessage:
        """The last message of its last request."""
        return self._last_message

    def is_summarised_in(self, exchange: Exchange) -> bool:
        """Whether a request contains the summary that was asked for last."""
        return exchange.dialect == self.dialect and self._summary_at(exchange.talk) is not None

    # Requests and answers

    def add_request(self, exchange: Exchange, **who: Any) -> int:
        """Add a request of the conversation. Return the sequence number of its event."""
        self.prompt = exchange.prompt_name
        self.begin(exchange)
        talk, names = exchange.talk, exchange.names
        same = common_start(names, self._names)
        repeated = self._repeated_answers(talk, same)
        spans: list[EventSpan | None] = [*self._spans[:same], *([None] * (len(talk) - same))]
        for at, reply in repeated.items():
            spans[at] = reply.span
        gone = self._matched(names, same, spans)
        grown = self._spans[-1] if same == len(self._spans) - 1 and self._last_message.grows_to(talk[same:]) else None
        kept = repeated.values()
        gone += [reply.span for reply in self._replies if reply not in kept]
        if gone:
            self._change_past(exchange, spans, gone, grown)
        for at in range(same, len(talk)):
            if spans[at] is None:
                spans[at] = self._add_message(talk[at])
        self._names, self._spans = names, [span for span in spans if span is not None]
        self._last_message = LastMessage.from_messages(talk)
        self._replies = []
        return self.send(exchange, **who)

    def answer(
        self, came: RequestAnswer, body: dict[str, Any], asked: dict[str, Any], *, aside: bool = False, finish: str = ""
    ) -> None:
        """Add the answer to a request. `aside`: it was a side request; `finish`: why the answer was cut off.

        An answer to a request that the log does not have as an event (0) gets no event of its own either.
        """
        builder = self.builder
        if came.request:
            builder.add(came if not body else replace(came, body=builder.part(body)))
        if not aside:
            builder.cleared(applied_edits(body, asked))
        answer, used = read_answer(self.dialect, body) if body else ([], None)
        if not aside and answer:
            first = builder.last + 1
            self.add_answer(body)
            if finish:
                self._cut(first, finish)
            self.remember_reply(EventSpan(first, builder.last), self._made(first))
        if used is not None:
            seconds = None if came.took is None else came.took / 1000
            model = used.model or builder.model
            builder.add(replace(used, model=model, request=came.request, seconds=seconds))
            if not aside:
                self._size = (used.prompt or 0) + used.completion

    def remember_reply(self, span: EventSpan, made: list[Body]) -> None:
        """Remember an answer by its events, until a request repeats it or was made without it."""
        self.calls = {each.call_id: each.arguments for each in made if isinstance(each, ToolCall)}
        self._replies.append(LoggedReply(span, self._content_of(made)))

    def summarised(self, asked: dict[str, Any], body: dict[str, Any], took: int) -> None:
        """Remember the answer to a request for a summary. `took`: milliseconds."""
        answer, used = read_answer(self.dialect, body)
        self._summary = model_text_in(answer)
        counted = self._count(asked)
        prompt = (used.prompt if used is not None else None) or counted
        self._factor = prompt / max(counted, 1)
        self._noted = {
            "model": (used.model if used is not None else "") or self.builder.model,
            "seconds": took / 1000,
            "tokens_before": self._size or prompt,
        }

    def _count(self, body: dict[str, Any]) -> int:
        counter = counter_for(self.builder.model)
        return sum(counter.count(item.text).tokens for item in items_in(self.dialect, body))

    def _cut(self, first: int, finish: str) -> None:
        """Mark an answer as cut off."""
        for at in range(first - self.builder.last - 1, 0):
            body = self.builder.bodies[at]
            if isinstance(body, AssistantMessage):
                self.builder.bodies[at] = replace(body, finish=finish)

    def _made(self, first: int) -> list[Body]:
        """The events from `first` on, which are still in the builder."""
        return list(self.builder.bodies[len(self.builder.bodies) - (self.builder.last - first + 1) :])

    def _add_message(self, message: Any) -> EventSpan:
        first = self.builder.last + 1
        self.reader.message(message)
        for at, body in enumerate(self._made(first), first):
            if isinstance(body, ToolResult):
                self._results[body.call_id] = at
        return EventSpan(first, self.builder.last)

    def _repeated_answers(self, talk: Sequence[Any], same: int) -> dict[int, LoggedReply]:
        """The messages that repeat an answer since the last request, by position."""
        found: dict[int, LoggedReply] = {}
        left, at = [*self._replies], same
        while left and at < len(talk):
            run = list(takewhile(is_models, talk[at:]))
            reply = repeated_reply(left, self._content_of(self.scratch(run))) if run else None
            if reply is not None:
                left.remove(reply)
                found.update(dict.fromkeys(range(at, at + len(run)), reply))
            at += len(run) or 1
        return found

    def _content_of(self, made: list[Body]) -> ReplyContent:
        arguments = [body.arguments for body in made if isinstance(body, ToolCall)]
        return ReplyContent(self._calls_in(made), arguments, model_text_in(made).strip())

    def _calls_in(self, bodies: list[Body]) -> list[str]:
        """The ids of the calls among events; the names of their tools if the dialect may lack ids."""
        if DIALECTS[self.dialect].pairs_by_tool:
            return [body.tool for body in bodies if isinstance(body, ToolCall)]
        return calls_in(bodies)

    # Changes of the past

    def _matched(self, names: list[str], same: int, spans: list[EventSpan | None]) -> list[EventSpan]:
        """Match messages after the common beginning with earlier ones. Return the events of those that are missing."""
        before = self._names[same:]
        if not before:
            return []
        open_ = [at for at in range(same, len(names)) if spans[at] is None]
        matcher = SequenceMatcher(None, before, [names[at] for at in open_], autojunk=False)
        kept: set[int] = set()
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                kept.add(block.a + step)
                spans[open_[block.b + step]] = self._spans[same + block.a + step]
        return [self._spans[same + at] for at in range(len(before)) if at not in kept]

    def _change_past(
        self, exchange: Exchange, spans: list[EventSpan | None], gone: list[EventSpan], grown: EventSpan | None
    ) -> None:
        gone, talk = [span for span in gone if span.first <= span.last], exchange.talk
        at = self._summary_at(talk)
        if at is not None and spans[at] is None and gone:
            first, last = min(span.first for span in gone), max(span.last for span in gone)
            still = {seq for span in spans if span is not None for seq in range(span.first, span.last + 1)}
            kept = tuple(KeptEvent(seq) for seq in range(first, last + 1) if seq in still)
            after = round(self._count(exchange.body) * self._factor)
            meta = {"made_by": self.builder.name, **self._noted, "tokens_after": after}
            self.builder.add(Compaction(first, last, texts_of(talk[at]), kept, meta=meta))
            self._summary = ""
            spans[at] = EventSpan(self.builder.last, self.builder.last)
            return
        masked: set[int] = set()
        for at, message in enumerate(talk):
            if spans[at] is None:
                found = self._in_other_words(message, gone)
                if found:
                    masked.update(found)
                    spans[at] = EventSpan(min(found), max(found))
        joined = False
        for span in gone:
            left = [seq for seq in range(span.first, span.last + 1) if seq not in masked]
            if left and len(left) == span.last - span.first + 1:
                why = GROWN if span == grown else LEFT_OUT
                self.builder.add(Override("exclude", span.first, span.last, why, joined=joined))
                joined = True

    def _in_other_words(self, message: Any, gone: list[EventSpan]) -> list[int]:
        """Mask results that have another text in this message. Return their events; empty if it has other content."""
        made = self.scratch([message])
        seqs = [self._results.get(body.call_id, 0) for body in made if isinstance(body, ToolResult)]
        if not seqs or len(seqs) < len(made) or not all(any(a <= seq <= b for a, b in gone) for seq in seqs):
            return []
        for seq, body in zip(seqs, made, strict=True):
            assert isinstance(body, ToolResult)
            self.builder.add(Override("mask", seq, seq, MASKED, text_of(body.content)))
        return seqs

    def _summary_at(self, talk: Sequence[Any]) -> int | None:
        """The position of the summary that was asked for; None if it is missing. Agents change the text around it."""
        lines = [" ".join(line.split()) for line in self._summary.split("\n")]
        lines = sorted((line for line in lines if len(line) >= TELLING), key=len)[-PROBES:]
        if not lines:
            return None
        for at, message in enumerate(talk):
            text = " ".join(texts_of(message).split())
            if all(line[:PROBE] in text for line in lines):
                return at
        return None


class LastMessage(NamedTuple):
    """The last message of a request. In the next request some agents extend it, and others add a message."""

    role: str = ""
    text: str = ""

    @classmethod
    def from_messages(cls, talk: Sequence[Any]) -> LastMessage:
        """The last one of a list of messages."""
        return cls(text_in(talk[-1], "role"), texts_of(talk[-1])) if talk else cls()

    def grows_to(self, talk: Sequence[Any]) -> bool:
        """Whether the first of these messages is this message with more text at the end."""
        if not self.text or not talk or text_in(talk[0], "role") != self.role:
            return False
        return texts_of(talk[0]).startswith(self.text)

    def continued(self, names: Sequence[str], exchange: Exchange) -> int:
        """How many messages of a conversation a request begins with, if it has all of them; otherwise 0.

        The last one may have grown. The first message alone is not enough: others may begin with the same words.
        """
        known, given = len(names), exchange.names
        if given[:1] != list(names[:1]):
            return 0  # most other conversations end here, without further comparison
        if given[:known] == list(names):
            return known
        is_longer = known > 1 and given[: known - 1] == list(names[:-1]) and self.grows_to(exchange.talk[known - 1 :])
        return known - 1 if is_longer else 0
