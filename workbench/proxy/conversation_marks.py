"""Which recorded conversation a request belongs to, found while it passes.

The recorder decides it for good, and publishes what it knows each conversation by. Nobody waits for the recorder: what
was known of a growing conversation a few requests ago is still enough.
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
from workbench.wire.parts import split
from workbench.wire.values import text_in


class TalkMark(NamedTuple):
    """What the messages of a request are known by, in a few bytes however many they are."""

    size: int = 0
    """How many they are."""
    names: str = ""
    """The digest of all names."""
    before: str = ""
    """The digest of all but the last."""
    role: str = ""
    length: int = 0
    text: str = ""
    """The role of the last message, and the length and digest of its text: the next request may have more in it."""

    @classmethod
    def of(cls, names: Sequence[str], last: LastMessage) -> TalkMark:
        """The mark of a conversation whose last request had these messages."""
        digests = _digests(names, (len(names), len(names) - 1))
        text = _digest(last.text) if last.text else ""
        return cls(len(names), digests[len(names)], digests.get(len(names) - 1, ""), last.role, len(last.text), text)

    def continued(self, exchange: Exchange, digests: Mapping[int, str]) -> int:
        """As `LastMessage.continued`; `digests`: those of the request's names, by how many."""
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
    """What a recorded conversation is known by."""

    session: str
    """Its session in the store."""
    key: str
    """The client's own id of the session; empty where it has none."""
    agent: str
    dialect: DialectName
    prompt: str
    """The hash of its system prompt."""
    talk: TalkMark
    """The messages of its last request."""
    client: str = ""
    """The agent, if known."""


class Belonging(NamedTuple):
    """Where a request belongs."""

    session: str = ""
    """Empty: to none that is known yet."""
    aside: bool = False
    """Whether it was asked beside the conversation."""


class Conversations(Protocol):
    """Those that are recorded. Any thread may ask, and none is waited for."""

    @property
    def marks(self) -> Mapping[str, ConversationMark]:
        """What they are known by, by session; the one that was used last at the end."""

    def whose(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> Belonging:
        """Which of them a request belongs to, by what is known up to now."""

    def note(self, session: str, setting: Setting) -> None:
        """Write a setting to the log of one."""


class MarkedConversations:
    """What is known of them by their marks. Any thread may ask."""

    def __init__(self, redact: Callable[[Any], Any] | None = None) -> None:
        """`redact`: how bodies are masked before they are recorded."""
        self._redact = redact
        self.marks: Mapping[str, ConversationMark] = {}
        """By session, the one that was used last at the end. Never changed, but replaced."""

    def learn(self, marks: Iterable[ConversationMark], forgotten: Iterable[str] = ()) -> None:
        """Take the marks of conversations that changed, and forget others."""
        changed = {mark.session: mark for mark in marks}
        gone = {*changed, *forgotten}
        if gone:
            self.marks = {**{name: mark for name, mark in self.marks.items() if name not in gone}, **changed}

    def whose(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> Belonging:
        """Which session a request belongs to, as far as they are recorded."""
        if route.dialect is None:
            return Belonging()
        body = self._redact(body) if self._redact else body
        exchange = Exchange(route.dialect, body, {}, route.model, 0, split(route.dialect, body))
        return belongs_to(self.marks.values(), exchange, sender_of(exchange, route, headers))


def belongs_to(marks: Iterable[ConversationMark], exchange: Exchange, sender: Sender) -> Belonging:
    """The conversation of a request, by the rules of the recorder: what it continues, else the client's own id."""
    aside = sender.purpose in ("side", "compaction")
    who = (sender.session, sender.agent, exchange.dialect)
    mine = [each for each in marks if (each.key, each.agent, each.dialect) == who]
    counts = {each.talk.size - less for each in mine for less in (0, 1)}
    digests = _digests(exchange.names, counts) if mine else {}
    longest = max(mine, key=lambda each: each.talk.continued(exchange, digests), default=None)
    common = longest.talk.continued(exchange, digests) if longest is not None else 0
    prompt = exchange.prompt_name if mine else ""
    if longest is not None and (common > 1 or (common and longest.prompt == prompt)):
        return Belonging(longest.session, aside)
    if sender.session and not aside:
        same = (each.session for each in reversed(mine) if not each.talk.size or each.prompt == prompt)
        return Belonging(next(same, ""))
    return Belonging("", aside)


def _digests(names: Sequence[str], counts: Collection[int]) -> dict[int, str]:
    """The digest of the first so many names, for each count that there are names for."""
    made, found, at = sha256(), {}, 0
    for count in sorted(each for each in counts if 0 <= each <= len(names)):
        made.update("".join(names[at:count]).encode())
        found[count], at = made.hexdigest(), count
    return found


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
