"""Writes the events of conversations to the store, and restores conversations from it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from workbench.log.errors import StoreError
from workbench.log.events import Request, Setting
from workbench.log.store import Store
from workbench.proxy.places import StoredConversation
from workbench.proxy.resuming import resumed_conversation
from workbench.proxy.senders import Sender


def store_together(store: Store, places: Sequence[StoredConversation], journal: str = "", position: int = 0) -> None:
    """Append the new events of conversations in one transaction. Raises StoreError; then all of them stay pending.

    `journal`, `position`: how far a journal is recorded with these events.
    """
    begun: list[StoredConversation] = []
    try:
        with store.in_one_transaction():
            for place in places:
                bodies = place.live.builder.bodies
                if place.session is None:
                    place.session = store.create(bodies, folder=place.folder, id=place.id, times=bodies.times)
                    begun.append(place)
                else:
                    place.session.append(*bodies, times=bodies.times)
            if journal:
                store.set_recorded(journal, position)
    except BaseException:
        for place in begun:
            if place.session is not None:
                place.session.close()
            place.session = None
        for place in places:
            if place.session is not None:
                with suppress(StoreError):
                    place.session.refresh()
        raise
    for place in places:
        place.live.builder.handed_on()


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
