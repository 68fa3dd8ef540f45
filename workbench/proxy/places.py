"""Which of the recorded conversations a request belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.config.folders import WorkFolder
from workbench.log.session import Session
from workbench.proxy.conversation import LiveConversation
from workbench.proxy.conversation_marks import ConversationMark, TalkMark
from workbench.proxy.senders import Sender
from workbench.traces.request_thread import Exchange

NO_FOLDER = WorkFolder()
FROM_TASK = 80
"""Characters of a sub-agent's task by which it is found in the call that started it."""


@dataclass(slots=True, eq=False)
class StoredConversation:
    """A conversation and the session it is stored in."""

    live: LiveConversation
    client: str
    key: str
    """The client's own id of the session; empty where it has none."""
    agent: str
    id: str
    """Of the session, also before it is stored."""
    session: Session | None = None
    folder: WorkFolder = NO_FOLDER
    parent: str = ""

    def mark(self) -> ConversationMark:
        """What it is known by now."""
        live, who = self.live, (self.id, self.key, self.agent)
        return ConversationMark(*who, live.dialect, live.prompt, TalkMark.of(live.names, live.last), self.client)


def place_of(places: Sequence[StoredConversation], exchange: Exchange, sender: Sender) -> StoredConversation | None:
    """The conversation of a request; None: it begins one. `places`: the one that was used last at the end."""
    mine = [each for each in places if (each.key, each.agent) == (sender.session, sender.agent)]
    aside = sender.purpose in ("side", "compaction")
    common = [each.live.continued_by(exchange) for each in mine]
    most = max(common, default=0)
    longest = mine[common.index(most)] if mine else None
    if longest is not None and most > 1:
        return longest
    for place in reversed(mine):
        if not aside and place.live.is_summarised_in(exchange):
            return place
    if longest is not None and most and longest.live.prompt == exchange.prompt_name:
        return longest
    if aside:
        # Of the same session, else of the same agent.
        fitting = mine if sender.session else [each for each in places if each.client == sender.client]
        return next((each for each in reversed(fitting) if each.live.dialect == exchange.dialect), None)
    if sender.session:
        return next((each for each in reversed(mine) if _goes_on(each.live, exchange)), None)
    # What an agent asked before a conversation began.
    waiting = (each for each in reversed(mine) if each.client == sender.client and not each.live.has_talk)
    return next((each for each in waiting if each.live.dialect == exchange.dialect), None)


def _goes_on(live: LiveConversation, exchange: Exchange) -> bool:
    """Whether a request of the same session that begins differently is the same conversation with another past."""
    return live.dialect == exchange.dialect and (not live.has_talk or live.prompt == exchange.prompt_name)


def starter_of(places: Sequence[StoredConversation], task: str, sender: Sender) -> str:
    """The session whose agent started a sub-agent: the one its headers name, or one with a call that has the task."""
    if sender.parent:
        found = (each.id for each in reversed(places) if sender.parent == each.key and not each.agent)
        return next(found, sender.parent)
    probe = task.strip()[:FROM_TASK]
    if len(probe) < 12:
        return ""
    for place in reversed(places):
        if any(probe in arguments for arguments in map(_unescaped, place.live.calls.values())):
            return place.id
    return ""


def _unescaped(arguments: str) -> str:
    return arguments.replace("\\n", "\n").replace('\\"', '"')
