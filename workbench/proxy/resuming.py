"""Continues a conversation from its log: an agent resumes a session that an earlier run of the proxy recorded.

The state of a conversation is in the log, or can be computed from its last request. The events of a message are found
by their contents. If they are not found, the message has no events.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from workbench.context.policy_names import RECORDED
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Purpose,
    Reasoning,
    Request,
    RequestAnswer,
    Setting,
    SlotContent,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
)
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.proxy.conversation import LastMessage, LiveConversation
from workbench.proxy.logged_replies import EventSpan
from workbench.proxy.senders import Sender, texts_of
from workbench.traces.building import Builder
from workbench.traces.request_thread import Exchange
from workbench.wire.parts import split_body
from workbench.wire.requests import RequestBodies

RECENT: Final = 100
"""The number of recent sessions that are searched for the one that an agent resumes."""
_BEGINNING: Final = 400
"""The number of events at the beginning of a log that include its first request."""
_NOWHERE: Final = EventSpan(1, 0)
_REPLY_BODIES = (AssistantMessage, ToolCall, Reasoning)


def recorded_sessions(store: Store, sender: Sender, known: set[str]) -> list[Session]:
    """Sessions that earlier runs recorded under the client's own id, the last changed first, opened read-only."""
    found = []
    for info in store.holding(f'"session":{json.dumps(sender.session, ensure_ascii=False)}', RECENT, _BEGINNING):
        session = store.session(info.id, write=False)
        if info.id not in known and _is_of(session, sender):
            found.append(session)
    return found


def _is_of(session: Session, sender: Sender) -> bool:
    first = session.events(0, 1)
    who = first[0].body if first else None
    if not isinstance(who, Setting) or (who.key, who.value) != (RECORDED, sender.client or "proxy"):
        return False
    begin = (event.body for event in session.events(0, _BEGINNING))
    asked = next((body for body in begin if isinstance(body, Request)), None)
    return asked is not None and (asked.session, asked.agent) == (sender.session, sender.agent)


def resumed_conversation(client: str, events: Sequence[Event]) -> LiveConversation | None:
    """The conversation of a log; None if it has none, or if the log was continued without the proxy."""
    last = next((event for event in reversed(events) if _is_talk(event.body)), None)
    if last is None or any(isinstance(event.body, UserMessage) for event in events[last.seq :]):
        return None
    bodies = RequestBodies(events)
    if not bodies.is_whole(last.seq):
        return None
    return _Resumed(Builder(client), bodies, events, last)


def _is_talk(body: Body) -> bool:
    is_own = isinstance(body, Request) and body.purpose in ("turn", "sub-agent") and not body.instead_of
    return is_own and isinstance(body, Request) and bool(body.base or body.messages)


class _Resumed(LiveConversation):
    """A conversation in the state that it would have without the interruption."""

    def __init__(self, builder: Builder, bodies: RequestBodies, events: Sequence[Event], last: Event) -> None:
        exchange = _exchange(bodies, last)
        super().__init__(builder, exchange)
        self._request, self._hashes = last.seq, bodies.hashes(last.seq)
        self._head = exchange.head_name
        self._names = exchange.names
        self._last_message = LastMessage.from_messages(exchange.talk)
        self._spans = self._found_again(exchange.talk, events[: last.seq])
        self._results = {each.body.call_id: each.seq for each in events if isinstance(each.body, ToolResult)}
        slots = (each.body for each in events if isinstance(each.body, SlotContent))
        self._slots = {(body.slot, body.name): body for body in slots}
        for answer in _answers(bodies, events[last.seq :], ("turn", "sub-agent")):
            self.reader.answer(answer.body)  # the reader counts replies
        builder.goes_on(events)
        self._remember(bodies, events, last.seq)

    def _found_again(self, talk: Sequence[Any], events: Sequence[Event]) -> list[EventSpan]:
        """The events of each message. The reader reads them, too, and can continue from there."""
        places: dict[object, deque[int]] = defaultdict(deque)
        for event in events:
            places[_name(event.body)].append(event.seq)
        found = []
        for message in talk:
            at = len(self.builder.bodies)
            self.reader.message(message)
            summary = places[Compaction, texts_of(message)]
            made = [summary] if summary else [places[_name(body)] for body in self.builder.bodies[at:]]
            seqs = [place.popleft() for place in made if place]
            found.append(EventSpan(min(seqs), max(seqs)) if seqs and len(seqs) == len(made) else _NOWHERE)
        return found

    def _remember(self, bodies: RequestBodies, events: Sequence[Event], last: int) -> None:
        """Restore what followed the last request: answers, and perhaps a summary."""
        for reply in _replies(events[last:]):
            self.remember_reply(EventSpan(reply[0].seq, reply[-1].seq), [event.body for event in reply])
        own = {event.seq for event in events if _is_talk(event.body)}
        used = [each.body for each in events if isinstance(each.body, Usage) and each.body.request in own]
        if used:
            self._size = (used[-1].prompt or 0) + used[-1].completion
        for answer in _answers(bodies, events[last:], ("compaction",)):
            self.summarised(bodies.body(answer.request), answer.body, answer.took)


def _replies(events: Sequence[Event]) -> Iterator[list[Event]]:
    """The events of each answer that is part of the conversation."""
    reply: list[Event] = []
    for event in events:
        if isinstance(event.body, RequestAnswer) and reply:
            yield reply
            reply = []
        if isinstance(event.body, _REPLY_BODIES):
            reply.append(event)
    if reply:
        yield reply


class _Answer(NamedTuple):
    request: int
    body: dict[str, Any]
    took: int


def _answers(bodies: RequestBodies, events: Sequence[Event], purposes: tuple[Purpose, ...]) -> Iterator[_Answer]:
    """The answers to requests with these purposes, without errors."""
    for event in events:
        came = event.body
        if isinstance(came, RequestAnswer) and came.body and 0 < came.status < 400:
            found = bodies.messages([came.body])
            if found and bodies.request(came.request).purpose in purposes:
                yield _Answer(came.request, found[0], came.took or 0)


def _exchange(bodies: RequestBodies, event: Event) -> Exchange:
    request, body = bodies.request(event.seq), bodies.body(event.seq)
    parts = split_body(request.dialect, body)
    return Exchange(request.dialect, body, {}, request.model, event.at, parts, bodies.hashes(event.seq))


def _name(body: Body) -> object:
    """A key that identifies an event by its contents."""
    match body:
        case UserMessage() | AssistantMessage() | SystemMessage():
            return type(body), text_of(body.content).strip()
        case ToolCall() | ToolResult():
            return type(body), body.call_id
        case Reasoning():
            return Reasoning, body.signature or body.text
        case Compaction():
            return Compaction, body.summary
    return None
