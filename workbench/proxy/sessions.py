"""Turns passing requests into sessions in the store, one for each conversation of an agent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from workbench.config.folders import WorkFolder, branch_of
from workbench.config.text import printable
from workbench.context.policy_names import RECORDED
from workbench.log.events import Body, Failure, Hold, Override, Request, RequestAnswer, Setting
from workbench.log.ids import new_id
from workbench.log.rows import now_in_ms
from workbench.log.store import Store
from workbench.proxy.conversation import LiveConversation
from workbench.proxy.conversation_marks import ConversationMark
from workbench.proxy.known_values import ByIdentity, KnownMessage
from workbench.proxy.policy_notes import without_policy
from workbench.proxy.records import HeldRecord
from workbench.proxy.resuming import recorded_sessions, resumed_conversation
from workbench.proxy.routes import Route
from workbench.proxy.senders import Sender, folder_of, sender_of, stored_headers, traced_sender, users_words
from workbench.proxy.stored_conversations import (
    NO_FOLDER,
    StoredConversation,
    sender_in,
    starter_of,
    store_together,
    stored_conversation_for,
    taken_up,
)
from workbench.traces.building import Builder, content_hash
from workbench.traces.llm_calls import LlmCall, exchange_of_call
from workbench.traces.request_thread import Exchange
from workbench.wire.dialects import DIALECTS
from workbench.wire.earlier_responses import EARLIER, EarlierResponses, UnknownResponse
from workbench.wire.parts import WithoutMarks, split_body
from workbench.wire.requests import RequestBodies

TITLE = 60
PENDING = 20_000
"""Events that wait while the store cannot be written; beyond that a session is given up."""
PINNED = "pinned while it was held"
KEPT = 400
"""Conversations that are remembered; an older one that continues begins a new session."""

_log = logging.getLogger(__name__)


class SentRequest(NamedTuple):
    """A request that passed."""

    route: Route
    headers: Mapping[str, str]
    body: dict[str, Any]
    at: int
    """Milliseconds since 1970."""


class ReceivedAnswer(NamedTuple):
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: dict[str, Any]
    first: int | None
    took: int | None
    problem: str = ""
    """Why the answer is incomplete."""
    finish: str = ""
    """The same for a message that was cut off: `cancelled` by the client, `broken` by the provider."""


class OpenRequest(NamedTuple):
    """A request that waits for its answer."""

    stored: StoredConversation
    event: int
    sender: Sender
    aside: bool
    who: Mapping[str, Any]
    """The sender's fields in the request's event."""
    body: dict[str, Any]
    """The body, including what the provider remembers of earlier requests."""
    model: str = ""
    at: int = 0
    """When it was sent, in milliseconds since 1970; 0: not known."""
    sent: dict[str, Any] | None = None
    """The body that was sent in place of it; None: it was sent as it is."""


class ProxySessions:
    """The sessions of one proxy. Use it in one thread."""

    def __init__(
        self,
        store: Callable[[], Store],
        client: str = "",
        redact: Callable[[Any], Any] | None = None,
        first: Sequence[Body] = (),
        folder: WorkFolder = NO_FOLDER,
        export: Callable[[OpenRequest, ReceivedAnswer], None] | None = None,
    ) -> None:
        """`client`, `folder`: the agent and its folder, unless a request names them; `first`: how a session begins.

        `export`: gets each request with its answer.
        """
        self._store = store
        self._client = client
        self._redact = redact
        self._conversations: list[StoredConversation] = []
        """The last used at the end."""
        self._earlier = EarlierResponses()
        self._first = first
        self._folder = folder
        self._export = export
        self._messages = ByIdentity(KnownMessage.from_message)
        self._hashes = ByIdentity(content_hash)
        self._changed: dict[StoredConversation, None] = {}
        """Conversations with events to store."""
        self._gone: list[str] = []
        self.in_batches = False
        """Whether the caller calls `store_all`; otherwise everything is stored at once."""

    def open_request(self, request: SentRequest) -> OpenRequest | None:
        """Add a request. Return None if it asks no model."""
        if request.route.dialect is None:
            return None
        exchange = self._exchange(request)
        sender = sender_of(exchange, request.route, request.headers)
        sender = sender._replace(client=sender.client or self._client)
        stored = stored_conversation_for(self._conversations, exchange, sender)
        aside = sender.purpose in ("side", "compaction")
        if stored is None:
            stored = self._resume(exchange, sender) or self._begin(exchange, sender)
        elif not aside and not stored.live.has_talk:
            self._describe(stored, exchange, sender)
        self._conversations.remove(stored)
        self._conversations.append(stored)
        purpose = sender.purpose or ("sub-agent" if stored.agent or stored.parent else "turn")
        who = {
            "purpose": purpose,
            "agent": sender.agent,
            "session": sender.session,
            "parent": sender.parent or stored.parent,
            "name": sender.name,
            "headers": stored_headers(request.headers),
        }
        event = stored.live.send(exchange, aside=True, **who) if aside else stored.live.add_request(exchange, **who)
        self._store_up(stored)
        return OpenRequest(stored, event, sender, aside, who, exchange.body, exchange.model, request.at)

    def hold_request(self, asked: OpenRequest, held: HeldRecord) -> OpenRequest:
        """Record that a request waited. Return the request that will be answered."""
        live = asked.stored.live
        asked = asked._replace(at=asked.at + held.took if asked.at else 0)
        live.builder.when(asked.at)
        live.builder.add(Hold(asked.event, held.rule, held.why, held.took, held.end))
        for seq in filter(None, map(live.result_of, held.pinned)):
            live.builder.add(Override("pin", seq, seq, PINNED))
        self._store_up(asked.stored)
        return asked

    def replace_request(self, asked: OpenRequest, sent: SentRequest) -> OpenRequest:
        """Record that another request was sent instead. Return the request that will be answered."""
        live = asked.stored.live
        live.builder.when(sent.at)
        # The agent only knows its own request: its next request continues that one.
        exchange = self._exchange(sent)
        event = live.send(exchange, aside=True, instead_of=asked.event, **asked.who)
        self._store_up(asked.stored)
        return asked._replace(event=event, sent=exchange.body, model=exchange.model, at=sent.at)

    def add_session_event(self, session: str, body: Body) -> None:
        stored = next((each for each in self._conversations if each.id == session), None)
        if stored is not None:
            stored.live.builder.when(now_in_ms())
            stored.live.builder.add(body)
            self._store_up(stored)

    def _exchange(self, request: SentRequest) -> Exchange:
        dialect = request.route.dialect
        assert dialect is not None
        body = self._whole(self._redact(request.body) if self._redact else request.body)
        model = request.route.model or str(body.get("model") or "")
        known: list[KnownMessage] = []

        def unmark(values: Sequence[Any]) -> list[WithoutMarks]:
            known[:] = self._messages.results_for(values)  # the last call of `unmark` is for the messages
            return [each.unmarked for each in known]

        parts = split_body(dialect, body, unmark)
        hashes, names = tuple(each.hash for each in known), tuple(each.name for each in known)
        return Exchange(dialect, body, {}, model, request.at, parts, hashes, names, self._hashes.result_for)

    def _whole(self, body: dict[str, Any]) -> dict[str, Any]:
        """A request that sends only new items, with the earlier ones that the provider has and that passed here."""
        with suppress(UnknownResponse):
            return self._earlier.resolved(body) if EARLIER in body else body
        return body

    def add_answer(self, asked: OpenRequest, came: ReceivedAnswer) -> None:
        """Add the answer to a request."""
        live = asked.stored.live
        live.builder.when(asked.at + came.took if asked.at and came.took is not None else now_in_ms())
        body = self._redact(came.body) if self._redact else came.body
        headers = stored_headers(came.headers)
        answer = RequestAnswer(asked.event, came.status, "", came.first, came.took, came.problem, headers)
        is_error = came.status >= 400 or came.status == 0
        if is_error or came.problem:
            live.builder.add(Failure("provider", problem_of(came)))
        live.answer(answer, body, asked.body, aside=asked.aside or is_error, finish=came.finish)
        if DIALECTS[live.dialect].remembers_answers and body.get("id"):
            self._earlier.remember_response(asked.body, body)
        if asked.sender.purpose == "compaction" and not is_error:
            live.summarised(asked.body, body, came.took or 0)
        self._store_up(asked.stored)
        if self._export is not None:
            self._export(asked, came._replace(body=body))

    def add_traced_call(self, client: str, call: LlmCall) -> None:
        """Add a call of a model that its agent traced: a request and its answer, as far as the trace has them."""
        exchange = exchange_of_call(call)
        if exchange is None:
            return
        sender = traced_sender(client, call)
        stored = stored_conversation_for(self._conversations, exchange, sender) or self._begin(exchange, sender)
        self._conversations.remove(stored)
        self._conversations.append(stored)
        stored.live.add_request(exchange)
        stored.live.answer(RequestAnswer(0, 200), exchange.answer, exchange.body)
        # Without events of its requests, this alone says that all of it is another agent's.
        stored.live.builder.add(Setting(RECORDED, client))
        self._store_up(stored)

    def note_unread(self, route: Route, headers: Mapping[str, str], reason: str) -> None:
        """Note a request that was not read, in the session that its headers name or that its client used last."""
        if route.dialect is None:
            return
        sender = sender_of(Exchange(route.dialect, {}, {}, "", 0, split_body(route.dialect, {})), route, headers)
        client = sender.client or self._client
        mine = [each for each in self._conversations if each.client == client]
        if sender.session:
            mine = [each for each in mine if (each.key, each.agent) == (sender.session, sender.agent)]
        if mine:
            mine[-1].live.builder.when(now_in_ms())
            mine[-1].live.builder.add(Failure("proxy", reason))
            self._store_up(mine[-1])

    def close(self) -> None:
        for stored in self._conversations:
            if stored.session is not None:
                stored.session.close()

    def _resume(self, exchange: Exchange, sender: Sender) -> StoredConversation | None:
        """The conversation that an earlier run recorded, if the client continues it and no other process writes it."""
        if not sender.session or sender.agent:
            return None
        before = list(self._conversations)
        try:
            for read in recorded_sessions(self._store(), sender, {each.id for each in before}):
                live = resumed_conversation(sender.client or "proxy", read.events())
                if live is None:
                    continue
                stored = StoredConversation(live, sender.client, sender.session, sender.agent, read.id)
                self._conversations = [*before, stored]
                if stored_conversation_for(self._conversations, exchange, sender) is stored:
                    stored.session = self._store().session(read.id)
                    if stored.session.writable and len(stored.session) == len(read):
                        live.builder.add(*(self._first or without_policy(read.events())))
                        return stored
                    stored.session.close()
        except Exception:  # whatever is wrong with an old log, a new one begins
            _log.exception("a session could not be resumed")
        self._conversations = before
        return None

    def _begin(self, exchange: Exchange, sender: Sender) -> StoredConversation:
        builder = Builder(sender.client or "proxy")
        builder.when(exchange.at)
        live = LiveConversation(builder, exchange)
        stored = StoredConversation(live, sender.client, sender.session, sender.agent, new_id())
        builder.add(Setting(RECORDED, sender.client or "proxy"))
        builder.add(*self._first)
        self._describe(stored, exchange, sender)
        self._conversations.append(stored)
        return stored

    def _describe(self, stored: StoredConversation, exchange: Exchange, sender: Sender) -> None:
        """Set the folder, parent and title of a conversation when it begins."""
        folder = folder_of(exchange)
        stored.folder = WorkFolder(folder, branch_of(Path(folder))) if folder else self._folder
        if stored.session is not None and stored.folder.path:
            stored.session.used_in(stored.folder)
        words = users_words(exchange)
        stored.parent = starter_of(self._conversations, words, sender) if sender.purpose in (None, "sub-agent") else ""
        self._attach(stored, exchange, sender)
        if sender.purpose not in ("side", "compaction"):
            stored.live.builder.says_title(("sub-agent: " if stored.parent else "") + printable(words, TITLE))

    def _attach(self, stored: StoredConversation, exchange: Exchange, sender: Sender) -> None:
        """Note a sub-agent in the session that started it, with the sub-agent's own session."""
        starter = next((each for each in self._conversations if each.id == stored.parent), None)
        if starter is not None:
            agent = sender.agent or stored.id
            who = Request(exchange.dialect, exchange.model, "sub-agent", agent, stored.id, starter.key or starter.id)
            starter.live.builder.when(exchange.at)
            starter.live.builder.request(who)
            self._store_up(starter)

    # Storing

    def _store_up(self, stored: StoredConversation) -> None:
        self._changed[stored] = None
        if not self.in_batches:
            self.store_all()

    def store_all(self, journal: str = "", position: int = 0) -> list[ConversationMark]:
        """Store all new events. Return the marks of the conversations that changed. Raises the error that occurred.

        This is one transaction, which also notes how far a journal is recorded. If it fails, each conversation is
        stored separately. Events that cannot be stored wait for the next time.
        """
        changed, self._changed = list(self._changed), {}
        try:
            store_together(self._store(), changed, journal, position)
        except Exception:  # whatever the error, it may concern only one of them
            self._store_one_by_one(changed)
        finally:
            self._forget_oldest()
        return [stored.mark() for stored in changed if stored.session is not None]

    def _store_one_by_one(self, conversations: Sequence[StoredConversation]) -> None:
        """Store each conversation separately. A session that fails for too long is given up."""
        failed = None
        for stored in conversations:
            try:
                store_together(self._store(), [stored])
            except Exception as error:
                failed = error
                if len(stored.live.builder.bodies) > PENDING:
                    self._conversations.remove(stored)
                else:
                    self._changed[stored] = None
        if failed is not None:
            raise failed

    def _forget_oldest(self) -> None:
        for old in self._conversations[:-KEPT]:
            self._gone.append(old.id)
            if old.session is not None:
                old.session.close()
        del self._conversations[:-KEPT]

    def take_forgotten(self) -> tuple[str, ...]:
        """The sessions that were forgotten since the last call."""
        gone, self._gone = tuple(self._gone), []
        return gone

    def reopen_request(self, session: str, event: int) -> OpenRequest | None:
        """A request that an earlier recorder stored without its answer; None if it is not found."""
        stored = next((each for each in self._conversations if each.id == session), None)
        if stored is None and (stored := taken_up(self._store(), session)) is not None:
            self._conversations.append(stored)
        if stored is None:
            return None
        events = self._store().session(session, write=False).events()
        asked = events[event - 1].body if 0 < event <= len(events) else None
        if not isinstance(asked, Request):
            return None
        aside = asked.purpose in ("side", "compaction")
        body = RequestBodies(events).body(event)
        sender, at = sender_in(asked, stored.client), events[event - 1].at
        return OpenRequest(stored, event, sender, aside, {}, body, asked.model, at)


def problem_of(came: ReceivedAnswer) -> str:
    """Describe an error in one line."""
    error = came.body.get("error") if isinstance(came.body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    status = f"HTTP {came.status}" if came.status else "no answer"
    return ": ".join(filter(None, (status if came.status != 200 else "", str(message or ""), came.problem)))
