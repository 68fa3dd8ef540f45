"""Which recorded conversation a request belongs to, told while it passes.

The recorder's thread decides it for good, and publishes what it knows each conversation by. Nobody waits for it: of a
conversation that grows, what was known a few requests ago still tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from workbench.log.events import Body, Dialect
from workbench.proxy.routes import Route
from workbench.proxy.senders import Sender
from workbench.traces.request_thread import Exchange


class ConversationMark(NamedTuple):
    """What a recorded conversation is known by."""

    session: str
    """Its session in the store."""
    key: str
    """The client's own id of the session; empty where it has none."""
    agent: str
    dialect: Dialect
    prompt: str
    """The hash of its system prompt."""
    names: Sequence[str]
    """Of the messages of its last request."""
    client: str = ""
    """The agent, where something tells."""

    def continued_by(self, names: Sequence[str]) -> int:
        """How many messages a request has in common with it, where it has all of them; else 0."""
        return len(self.names) if names[: len(self.names)] == self.names else 0


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

    def note(self, session: str, body: Body) -> None:
        """Write something down in one."""


def belongs_to(marks: Iterable[ConversationMark], exchange: Exchange, sender: Sender) -> Belonging:
    """The conversation of a request, by the rules of the recorder: what it continues, else the client's own id."""
    aside = sender.purpose in ("side", "compaction")
    who = (sender.session, sender.agent, exchange.dialect)
    mine = [each for each in marks if (each.key, each.agent, each.dialect) == who]
    names = exchange.names if mine else []
    longest = max(mine, key=lambda each: each.continued_by(names), default=None)
    common = longest.continued_by(names) if longest is not None else 0
    prompt = exchange.prompt_name if mine else ""
    if longest is not None and (common > 1 or (common and longest.prompt == prompt)):
        return Belonging(longest.session, aside)
    if sender.session and not aside:
        same = (each.session for each in reversed(mine) if not each.names or each.prompt == prompt)
        return Belonging(next(same, ""))
    return Belonging("", aside)
