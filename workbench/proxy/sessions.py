"""Requests as they pass become sessions of the store: each agent's conversation one, with what belongs to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from workbench.config.folders import WorkFolder, branch_of
from workbench.config.text import printable
from workbench.context.load import RECORDED
from workbench.log.errors import StoreError
from workbench.log.events import Body, Failure, Hold, HoldEnd, Override, Request, RequestAnswer, Setting
from workbench.log.ids import new_id
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.proxy.conversation import LiveConversation
from workbench.proxy.conversation_marks import Belonging, ConversationMark, belongs_to
from workbench.proxy.known_hashes import KnownHashes
from workbench.proxy.policy_notes import without_policy
from workbench.proxy.resuming import recorded_sessions, resumed
from workbench.proxy.routes import Route
from workbench.proxy.senders import Sender, folder_of, sender_of, stored_headers, users_words
from workbench.traces.building import Builder
from workbench.traces.request_thread import Exchange
from workbench.wire.dialects import split
from workbench.wire.responses import EarlierResponses, UnknownResponse

TITLE = 60
PENDING = 20_000
"""Events that wait for a disk that takes none; with more of them a session is given up."""
FROM_TASK = 80
"""Characters of a sub-agent's task by which it is found in the call that started it."""
PINNED = "pinned while it was held"
STEP = 100
"""Messages that are hashed in about a millisecond."""
KEPT = 200
"""Conversations that are remembered; an older one that goes on begins a session of its own."""


NO_FOLDER = WorkFolder()

_log = logging.getLogger(__name__)


class SentRequest(NamedTuple):
    """A request as it passed."""

    route: Route
    headers: Mapping[str, str]
    body: dict[str, Any]
    at: int
    """Milliseconds since 1970."""


class CameBack(NamedTuple):
    """What came back for it."""

    status: int
    headers: Mapping[str, str]
    body: dict[str, Any]
    first: int | None
    took: int
    problem: str = ""
    """Why it is not whole."""
    finish: str = ""
    """The same for the message that was cut: `cancelled` by the client, `broken` by the provider."""


@dataclass(slots=True, eq=False)
class StoredConversation:
    """A conversation and the session it is stored in."""

    live: LiveConversation
    client: str
    key: str
    """The client's own id of the session; empty where it has none."""
    agent: str
    session: Session | None = None
    folder: WorkFolder = NO_FOLDER
    parent: str = ""
    number: str = ""
    """The id that the session is to have, where it was told already."""

    @property
    def id(self) -> str:
        """Of the session; empty before there is one."""
        return self.session.id if self.session is not None else ""


class OpenRequest(NamedTuple):
    """A request that waits for its answer."""

    place: StoredConversation
    event: int
    sender: Sender
    aside: bool
    who: Mapping[str, Any]
    """Who asked, as its event says."""
    body: dict[str, Any]
    """With all that the provider remembers of it."""


class HoldMark(NamedTuple):
    """What is noted down of a request that waited at a breakpoint."""

    rule: str
    why: str
    took: int
    """Milliseconds."""
    end: HoldEnd
    pinned: Sequence[str] = ()
    """The calls whose results were pinned."""


class ProxySessions:
    """The sessions of one proxy. Used by one thread, but for `marks` and `whose`."""

    def __init__(
        self,
        store: Callable[[], Store],
        client: str = "",
        redact: Callable[[Any], Any] | None = None,
        first: Sequence[Body] = (),
        folder: WorkFolder = NO_FOLDER,
    ) -> None:
        """`client`, `folder`: who asks and where, if a request does not tell; `first`: how each session begins."""
        self._store = store
        self._client = client
        self._redact = redact
        self._places: list[StoredConversation] = []
        """The one that was used last at the end."""
        self._earlier = EarlierResponses()
        self._first = first
        self._folder = folder
        self.marks: Mapping[str, ConversationMark] = {}
        """By session, the one that was used last at the end. Never changed, but replaced: any thread may look at it."""
        self._hashes = KnownHashes()
        self.pause: Callable[[], None] = lambda: None
        """Called between steps of about a millisecond: whoever is in more of a hurry goes first."""

    def sent(self, request: SentRequest) -> OpenRequest | None:
        """A request; None where it asks no model."""
        if request.route.dialect is None:
            return None
        exchange = self._exchange(request)
        sender = sender_of(exchange, request.route, request.headers)
        sender = sender._replace(client=sender.client or self._client)
        self.pause()
        place = self._place(exchange, sender)
        aside = sender.purpose in ("side", "compaction")
        if place is None:
            place = self._resume(exchange, sender) or self._begin(exchange, sender)
        elif not aside and not place.live.has_talk:
            self._describe(place, exchange, sender)
        self._places.remove(place)
        self._places.append(place)
        purpose = sender.purpose or ("sub-agent" if place.agent or place.parent else "turn")
        who = {
            "purpose": purpose,
            "agent": sender.agent,
            "session": sender.session,
            "parent": sender.parent or place.parent,
            "name": sender.name,
            "headers": stored_headers(request.headers),
        }
        event = place.live.send(exchange, aside=True, **who) if aside else place.live.ask(exchange, **who)
        try:
            self._store_up(place)
        finally:
            self._publish(place)
        return OpenRequest(place, event, sender, aside, who, exchange.body)

    def held(self, asked: OpenRequest, mark: HoldMark, sent: SentRequest | None) -> OpenRequest:
        """A request waited; `sent`: what was sent in its place. Gives the one that is answered."""
        live = asked.place.live
        live.builder.add(Hold(asked.event, mark.rule, mark.why, mark.took, mark.end))
        for seq in filter(None, map(live.result_of, mark.pinned)):
            live.builder.add(Override("pin", seq, seq, PINNED))
        if sent is not None:
            return self.replaced(asked, sent)
        self._store_up(asked.place)
        return asked

    def replaced(self, asked: OpenRequest, sent: SentRequest) -> OpenRequest:
        """Something else was sent than was asked. Gives the one that is answered."""
        live = asked.place.live
        live.builder.when(sent.at)
        # The agent knows only what it asked: its next request goes on from that.
        event = live.send(self._exchange(sent), aside=True, instead_of=asked.event, **asked.who)
        self._store_up(asked.place)
        return asked._replace(event=event)

    def note(self, session: str, body: Body) -> None:
        """Write something down in a session."""
        place = next((each for each in self._places if each.id == session), None)
        if place is not None:
            place.live.builder.add(body)
            self._store_up(place)

    def whose(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> Belonging:
        """Which session a request belongs to, by what is known up to now. For any thread."""
        if route.dialect is None:
            return Belonging()
        body = self._redact(body) if self._redact else body
        exchange = Exchange(route.dialect, body, {}, route.model, 0, split(route.dialect, body))
        return belongs_to(self.marks.values(), exchange, sender_of(exchange, route, headers))

    def _publish(self, place: StoredConversation) -> None:
        """What a conversation is known by now."""
        live = place.live
        kept = {each.id for each in self._places}
        marks = {name: mark for name, mark in self.marks.items() if name in kept and name != place.id}
        mark = ConversationMark(place.id, place.key, place.agent, live.dialect, live.prompt, live.names, place.client)
        self.marks = {**marks, place.id: mark} if place.id else marks

    def _exchange(self, request: SentRequest) -> Exchange:
        dialect = request.route.dialect
        assert dialect is not None
        body = self._whole(self._redact(request.body) if self._redact else request.body)
        model = request.route.model or str(body.get("model") or "")
        parts = split(dialect, body)
        hashes: list[str] = []
        for at in range(0, len(parts.messages), STEP):
            self.pause()
            hashes += map(self._hashes.of, parts.messages[at : at + STEP])
        return Exchange(dialect, body, {}, model, request.at, parts, tuple(hashes))

    def _whole(self, body: dict[str, Any]) -> dict[str, Any]:
        """A request with what the provider remembers of it, where it sends only what is new."""
        if "previous_response_id" not in body:
            return body
        with suppress(UnknownResponse):
            body = self._earlier.resolved(body)
        return {key: value for key, value in body.items() if key != "previous_response_id"}

    def answered(self, asked: OpenRequest, came: CameBack) -> None:
        """What came back for a request."""
        live = asked.place.live
        body = self._redact(came.body) if self._redact else came.body
        headers = stored_headers(came.headers)
        told = RequestAnswer(asked.event, came.status, "", came.first, came.took, came.problem, headers)
        is_error = came.status >= 400 or came.status == 0
        if is_error or came.problem:
            live.builder.add(Failure("provider", problem_of(came)))
        live.answer(told, body, aside=asked.aside or is_error, finish=came.finish)
        if live.dialect == "responses" and body.get("id"):
            self._earlier.add(asked.body, body)
        if asked.sender.purpose == "compaction" and not is_error:
            live.summarised(asked.body, body, came.took)
        self._store_up(asked.place)

    def close(self) -> None:
        """Let go of all sessions."""
        for place in self._places:
            if place.session is not None:
                place.session.close()

    # Which conversation a request belongs to

    def _place(self, exchange: Exchange, sender: Sender) -> StoredConversation | None:
        mine = [each for each in self._places if (each.key, each.agent) == (sender.session, sender.agent)]
        aside = sender.purpose in ("side", "compaction")
        longest = max(mine, key=lambda each: each.live.continued_by(exchange), default=None)
        if longest is not None and longest.live.continued_by(exchange) > 1:
            return longest
        for place in reversed(mine):
            if not aside and place.live.is_summarised_in(exchange):
                return place
        if longest is not None and longest.live.continued_by(exchange) and self._same_prompt(longest, exchange):
            return longest
        if aside:
            return self._beside(exchange, sender, mine)
        if sender.session:
            return next((each for each in reversed(mine) if self._goes_on(each, exchange)), None)
        # What an agent asked beside a conversation, before it began.
        waiting = (each for each in reversed(mine) if each.client == sender.client and not each.live.has_talk)
        return next((each for each in waiting if each.live.dialect == exchange.dialect), None)

    @staticmethod
    def _same_prompt(place: StoredConversation, exchange: Exchange) -> bool:
        return place.live.prompt == exchange.prompt_name

    def _goes_on(self, place: StoredConversation, exchange: Exchange) -> bool:
        """Whether a request of the same session that begins differently is the same conversation with another past."""
        live = place.live
        return live.dialect == exchange.dialect and (not live.has_talk or self._same_prompt(place, exchange))

    def _beside(self, exchange: Exchange, sender: Sender, mine: list[StoredConversation]) -> StoredConversation | None:
        """The conversation that a request beside it belongs to: of the same session, else of the same agent."""
        fitting = mine if sender.session else [each for each in self._places if each.client == sender.client]
        return next((each for each in reversed(fitting) if each.live.dialect == exchange.dialect), None)

    def _resume(self, exchange: Exchange, sender: Sender) -> StoredConversation | None:
        """The conversation that an earlier run recorded, where its client goes on in it and nobody else writes it."""
        if not sender.session or sender.agent:
            return None
        before = list(self._places)
        try:
            for read in recorded_sessions(self._store(), sender, {each.id for each in before}):
                live = resumed(sender.client or "proxy", read.events())
                if live is None:
                    continue
                place = StoredConversation(live, sender.client, sender.session, sender.agent)
                self._places = [*before, place]
                if self._place(exchange, sender) is place:
                    place.session = self._store().session(read.id)
                    if place.session.writable and len(place.session) == len(read):
                        live.builder.add(*(self._first or without_policy(read.events())))
                        return place
                    place.session.close()
        except Exception:  # whatever is wrong with an old log, a new one begins
            _log.exception("a session could not be resumed")
        self._places = before
        return None

    def _begin(self, exchange: Exchange, sender: Sender) -> StoredConversation:
        builder = Builder(sender.client or "proxy")
        place = StoredConversation(LiveConversation(builder, exchange), sender.client, sender.session, sender.agent)
        builder.add(Setting(RECORDED, sender.client or "proxy"))
        builder.add(*self._first)
        self._describe(place, exchange, sender)
        self._places.append(place)
        for old in self._places[:-KEPT]:
            if old.session is not None:
                old.session.close()
        del self._places[:-KEPT]
        return place

    def _describe(self, place: StoredConversation, exchange: Exchange, sender: Sender) -> None:
        """What can be said of a conversation when it begins: where, by whom, and what it is about."""
        folder = folder_of(exchange)
        place.folder = WorkFolder(folder, branch_of(Path(folder))) if folder else self._folder
        if place.session is not None and place.folder.path:
            place.session.used_in(place.folder)
        said = users_words(exchange)
        place.parent = self._starter(said, sender) if not sender.purpose or sender.purpose == "sub-agent" else ""
        self._attach(place, exchange, sender)
        if sender.purpose not in ("side", "compaction"):
            place.live.builder.says_title(("sub-agent: " if place.parent else "") + printable(said)[:TITLE])

    def _attach(self, place: StoredConversation, exchange: Exchange, sender: Sender) -> None:
        """The session that started a sub-agent says so, too, and which session has what it did."""
        starter = next((each for each in self._places if each.id and each.id == place.parent), None)
        if starter is not None:
            place.number = new_id()
            agent = sender.agent or place.number
            who = Request(exchange.dialect, exchange.model, "sub-agent", agent, place.number, starter.key or starter.id)
            starter.live.builder.request(who)
            self._store_up(starter)

    def _starter(self, task: str, sender: Sender) -> str:
        """The session whose agent started this one: as its headers say, or because a call of it has the task."""
        if sender.parent:
            found = (each.id for each in reversed(self._places) if sender.parent == each.key and not each.agent)
            return next(filter(None, found), sender.parent)
        probe = task.strip()[:FROM_TASK]
        if len(probe) < 12:
            return ""
        for place in reversed(self._places):
            if any(probe in arguments for arguments in map(_unescaped, place.live.calls.values())):
                return place.id
        return ""

    # Storing

    def _store_up(self, place: StoredConversation) -> None:
        """Append what was made. Where that fails it waits; where it fails for long, the session is given up."""
        self.pause()
        builder = place.live.builder
        try:
            if place.session is None:
                place.session = self._store().create(builder.bodies, folder=place.folder, id=place.number or None)
            else:
                place.session.append(*builder.bodies)
        except StoreError:
            if len(builder.bodies) > PENDING:
                self._places.remove(place)
            raise
        builder.handed_on()


def problem_of(came: CameBack) -> str:
    """What went wrong, in a line."""
    error = came.body.get("error") if isinstance(came.body, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    status = f"HTTP {came.status}" if came.status else "no answer"
    return ": ".join(filter(None, (status if came.status != 200 else "", str(said or ""), came.problem)))


def _unescaped(arguments: str) -> str:
    return arguments.replace("\\n", "\n").replace('\\"', '"')
