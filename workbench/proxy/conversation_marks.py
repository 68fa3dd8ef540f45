"""Finds the recorded conversation that a request belongs to, while the request passes.

The recorder makes the final decision and publishes marks that identify each conversation. The proxy does not wait for
the recorder: a mark that is a few requests old is still enough to recognise a growing conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from workbench.log.events import DialectName, Setting
from workbench.proxy.conversation import LastMessage
from workbench.proxy.routes import Route
from workbench.proxy.senders import Sender, sender_of, texts_of
from workbench.traces.request_thread import Exchange
from workbench.wire.parts import split_body
from workbench.wire.values import text_in


class TalkMark(NamedTuple):
    """Identifies the messages of a request in a few bytes, however many they are."""

    size: int = 0
    """The number of messages."""
    names: str = ""
    """The digest of all their hashes."""
    before: str = ""
    """The digest of all their hashes except the last."""
    role: str = ""
    length: int = 0
    text: str = ""
    """The digest of the last message's text. With role and length it also identifies a message that has grown."""

    @classmethod
    def from_names(cls, names: Sequence[str], last: LastMessage) -> TalkMark:
        """The mark of a conversation, from the messages of its last request."""
        digests = _digests(names, (len(names), len(names) - 1))
        text = _digest(last.text) if last.text else ""
        return cls(len(names), digests[len(names)], digests.get(len(names) - 1, ""), last.role, len(last.text), text)

    def continued(self, exchange: Exchange, digests: Mapping[int, str]) -> int:
        """As `LastMessage.continued`. `digests`: of the first messages of the request, by their number."""
        if digests.get(self.size) == self.names:
            return self.size
        is_longer = self.size > 1 and digests.get(self.size - 1) == self.before and self._grows_to(exchange)
        return self.size - 1 if is_longer else 0

    def _grows_to(self, exchange: Exchange) -> bool:
        message = exchange.talk[self.size - 1] if len(exchange.talk) >= self.size else None
        if message is None or not self.length or text_in(message, "role") != self.role:
            return False
        return _digest(texts_of(message)[: self.length]) == self.text


class ConversationMark(NamedTuple):
    """Identifies a recorded conversation."""

    session: str
    """The id of its session in the store."""
    key: str
    """The client's own id of the session; empty if it has none."""
    agent: str
    dialect: DialectName
    prompt: str
    """The hash of its system prompt."""
    talk: TalkMark
    """The messages of its last request."""
    client: str = ""
    """The agent, if known."""


class MatchedSession(NamedTuple):
    """The session that a request belongs to."""

    session: str = ""
    """Empty: no known session."""
    aside: bool = False
    """Whether it is a side request, outside the conversation."""


class Conversations(Protocol):
    """The recorded conversations. Safe for any thread; no call waits."""

    @property
    def marks(self) -> Mapping[str, ConversationMark]:
        """The marks by session, the last used at the end."""

    def match_session(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> MatchedSession:
        """The conversation that a request belongs to, as far as known."""

    def note_setting(self, session: str, setting: Setting) -> None:
        """Write a setting to the log of a session."""


class MarkedConversations:
    """Finds conversations by their marks. Safe for any thread."""

    def __init__(self, redact: Callable[[Any], Any] | None = None) -> None:
        """`redact`: masks secrets in bodies, as the recorder does."""
        self._redact = redact
        self.marks: Mapping[str, ConversationMark] = {}
        """The marks by session, the last used at the end. Never changed in place, but replaced."""

    def learn(self, marks: Iterable[ConversationMark], forgotten: Iterable[str] = ()) -> None:
        """Add or update marks, and forget sessions."""
        changed = {mark.session: mark for mark in marks}
        gone = {*changed, *forgotten}
        if gone:
            self.marks = {**{name: mark for name, mark in self.marks.items() if name not in gone}, **changed}

    def match_session(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> MatchedSession:
        """The recorded session that a request belongs to."""
        if route.dialect is None:
            return MatchedSession()
        body = self._redact(body) if self._redact else body
        exchange = Exchange(route.dialect, body, {}, route.model, 0, split_body(route.dialect, body))
        return match_by_marks(self.marks.values(), exchange, sender_of(exchange, route, headers))


def match_by_marks(marks: Iterable[ConversationMark], exchange: Exchange, sender: Sender) -> MatchedSession:
    """The conversation of a request, by the recorder's rules: the one that it continues, else the one with its id."""
    aside = sender.purpose in ("side", "compaction")
    who = (sender.session, sender.agent, exchange.dialect)
    mine = [each for each in marks if (each.key, each.agent, each.dialect) == who]
    counts = {each.talk.size - less for each in mine for less in (0, 1)}
    digests = _digests(exchange.names, counts) if mine else {}
    longest = max(mine, key=lambda each: each.talk.continued(exchange, digests), default=None)
    common = longest.talk.continued(exchange, digests) if longest is not None else 0
    prompt = exchange.prompt_name if mine else ""
    if longest is not None and (common > 1 or (common and longest.prompt == prompt)):
        return MatchedSession(longest.session, aside)
    if sender.session and not aside:
        same = (each.session for each in reversed(mine) if not each.talk.size or each.prompt == prompt)
        return MatchedSession(next(same, ""))
    return MatchedSession("", aside)


def _digests(names: Sequence[str], counts: Collection[int]) -> dict[int, str]:
    """The digests of the first hashes, for each of these counts. Counts without that many hashes are left out."""
    made, found, at = sha256(), {}, 0
    for count in sorted(each for each in counts if 0 <= each <= len(names)):
        made.update("".join(names[at:count]).encode())
        found[count], at = made.hexdigest(), count
    return found


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
