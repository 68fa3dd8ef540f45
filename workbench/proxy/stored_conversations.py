"""Conversations and the sessions that store them: finds the one that a request continues, stores it, takes it up."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from workbench.config.folders import WorkFolder
from workbench.log.errors import StoreError
from workbench.log.events import Request, Setting
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.proxy.conversation import LiveConversation
from workbench.proxy.conversation_marks import ConversationMark, TalkMark
from workbench.proxy.resuming import resumed_conversation
from workbench.proxy.senders import Sender
from workbench.traces.request_thread import Exchange

NO_FOLDER = WorkFolder()
FROM_TASK = 80
"""Characters of a sub-agent's task by which the call that started it is found."""


class StoredConversation(Struct, eq=False):
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
    """The session that started it, if it is a sub-agent's."""

    def mark(self) -> ConversationMark:
        """The current mark of the conversation."""
        live, who = self.live, (self.id, self.key, self.agent)
        return ConversationMark(
            *who, live.dialect, live.prompt, TalkMark.from_names(live.names, live.last_message), self.client
        )


def stored_conversation_for(
    conversations: Sequence[StoredConversation], exchange: Exchange, sender: Sender
) -> StoredConversation | None:
    """The conversation of a request; None if it begins a new one. `conversations`: the last used at the end."""
    mine = [each for each in conversations if (each.key, each.agent) == (sender.session, sender.agent)]
    is_side = sender.purpose in ("side", "compaction")
    common = [each.live.continued_by(exchange) for each in mine]
    most = max(common, default=0)
    longest = mine[common.index(most)] if mine else None
    if longest is not None and most > 1:
        return longest
    for stored in reversed(mine):
        if not is_side and stored.live.is_summarised_in(exchange):
            return stored
    if longest is not None and most and longest.live.prompt == exchange.prompt_name:
        return longest
    if is_side:
        # In the same session, otherwise of the same agent.
        fitting = mine if sender.session else [each for each in conversations if each.client == sender.client]
        return next((each for each in reversed(fitting) if each.live.dialect == exchange.dialect), None)
    if sender.session:
        return next((each for each in reversed(mine) if _goes_on(each.live, exchange)), None)
    # Side requests that an agent sent before the conversation began.
    waiting = (each for each in reversed(mine) if each.client == sender.client and not each.live.has_talk)
    return next((each for each in waiting if each.live.dialect == exchange.dialect), None)


def _goes_on(live: LiveConversation, exchange: Exchange) -> bool:
    """Whether a request of the same session with another beginning is the same conversation with a changed past."""
    return live.dialect == exchange.dialect and (not live.has_talk or live.prompt == exchange.prompt_name)


def starter_of(conversations: Sequence[StoredConversation], task: str, sender: Sender) -> str:
    """The session that started a sub-agent: the one in its headers, or one with a call that contains the task."""
    if sender.parent:
        found = (each.id for each in reversed(conversations) if sender.parent == each.key and not each.agent)
        return next(found, sender.parent)
    probe = task.strip()[:FROM_TASK]
    if len(probe) < 12:
        return ""
    for stored in reversed(conversations):
        if any(probe in arguments for arguments in map(_unescaped, stored.live.calls.values())):
            return stored.id
    return ""


def _unescaped(arguments: str) -> str:
    return arguments.replace("\\n", "\n").replace('\\"', '"')


def store_together(
    store: Store, conversations: Sequence[StoredConversation], journal: str = "", position: int = 0
) -> None:
    """Append the new events of conversations in one transaction. Raises StoreError; then all of them stay pending.

    `journal`, `position`: how far a journal is recorded with these events.
    """
    begun: list[StoredConversation] = []
    try:
        with store.in_one_transaction():
            for stored in conversations:
                bodies = stored.live.builder.bodies
                if stored.session is None:
                    stored.session = store.create(bodies, folder=stored.folder, id=stored.id, times=bodies.times)
                    begun.append(stored)
                else:
                    stored.session.append(*bodies, times=bodies.times)
            if journal:
                store.set_recorded(journal, position)
    except BaseException:
        for stored in begun:
            if stored.session is not None:
                stored.session.close()
            stored.session = None
        for stored in conversations:
            if stored.session is not None:
                with suppress(StoreError):
                    stored.session.refresh()
        raise
    for stored in conversations:
        stored.live.builder.handed_on()


def taken_up(store: Store, session: str) -> StoredConversation | None:
    """The conversation of a session that an earlier recorder wrote; None if it cannot be continued."""
    events = store.session(session, write=False).events()
    asked = next((event.body for event in reversed(events) if isinstance(event.body, Request)), None)
    who = events[0].body.value if events and isinstance(events[0].body, Setting) else ""
    client = "" if who == "proxy" else str(who)
    live = resumed_conversation(client or "proxy", events)
    if asked is None or live is None:
        return None
    return StoredConversation(live, client, asked.session, asked.agent, session, store.session(session))


def sender_in(asked: Request, client: str) -> Sender:
    """The sender of a request, from its event."""
    return Sender(client, asked.session, asked.agent, asked.parent, asked.purpose, asked.name)
