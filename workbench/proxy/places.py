"""Finds the recorded conversation that a request belongs to."""

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
"""Characters of a sub-agent's task by which the call that started it is found."""


@dataclass(slots=True, eq=False)
class StoredConversation:
    """A conversation and the session that stores it."""

    live: LiveConversation
    client: str
    key: str
    """The client's own id of the session; empty if it has none."""
    agent: str
    id: str
    """The session's id, even before it is stored."""
    session: Session | None = None
    folder: WorkFolder = NO_FOLDER
    parent: str = ""

    def mark(self) -> ConversationMark:
        """The current mark of the conversation."""
        live, who = self.live, (self.id, self.key, self.agent)
        return ConversationMark(
            *who, live.dialect, live.prompt, TalkMark.from_names(live.names, live.last), self.client
        )


def stored_conversation_for(
    places: Sequence[StoredConversation], exchange: Exchange, sender: Sender
) -> StoredConversation | None:
    """The conversation of a request; None if it begins a new one. `places`: the last used at the end."""
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
        # In the same session, otherwise of the same agent.
        fitting = mine if sender.session else [each for each in places if each.client == sender.client]
        return next((each for each in reversed(fitting) if each.live.dialect == exchange.dialect), None)
    if sender.session:
        return next((each for each in reversed(mine) if _goes_on(each.live, exchange)), None)
    # Side requests that an agent sent before the conversation began.
    waiting = (each for each in reversed(mine) if each.client == sender.client and not each.live.has_talk)
    return next((each for each in waiting if each.live.dialect == exchange.dialect), None)


def _goes_on(live: LiveConversation, exchange: Exchange) -> bool:
    """Whether a request of the same session with another beginning is the same conversation with a changed past."""
    return live.dialect == exchange.dialect and (not live.has_talk or live.prompt == exchange.prompt_name)


def starter_of(places: Sequence[StoredConversation], task: str, sender: Sender) -> str:
    """The session that started a sub-agent: the one in its headers, or one with a call that contains the task."""
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
