"""Writes events into their tables and reads them back; shared by all ways of writing and reading a session."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, islice, repeat
from typing import Final

from workbench.config.folders import WorkFolder
from workbench.config.garbage import collector_paused
from workbench.log import large_texts
from workbench.log.codec import decode_event, settle_event
from workbench.log.errors import BadEvent, StoreError, damaged, expect
from workbench.log.events import Body, Event, Setting
from workbench.log.ids import new_id

Settled = tuple[Event, str]
"""An event and its canonical line."""


_TOGETHER: Final = 50
"""Events that one statement inserts: each alone, they take half as long again."""


def now_in_ms() -> int:
    return time.time_ns() // 1_000_000


def settled_events(bodies: Iterable[Body], first: int, times: Iterable[int] = ()) -> list[Settled]:
    """New events, numbered from `first`. `times`: when each happened; 0, or no time for it: now."""
    now = now_in_ms()
    dated = zip(bodies, chain(times, repeat(0)), strict=False)
    return [settle_event(Event(seq, new_id(), at or now, body)) for seq, (body, at) in enumerate(dated, first)]


def insert_session(
    db: sqlite3.Connection, name: str, origin: tuple[str, int] | None, folder: WorkFolder, *, unused: bool = False
) -> int:
    """Insert a session without events; returns its key."""
    at = now_in_ms()
    made = db.execute(
        "INSERT INTO sessions(id, title, model, created, updated, events, forked_from, forked_at, folder, branch,"
        " unused) VALUES(?, '', '', ?, ?, 0, ?, ?, ?, ?, ?)",
        (name, at, at, *(origin or (None, None)), *folder.storable, unused),
    )
    assert made.lastrowid is not None  # SQLite has one for every row it inserts
    return made.lastrowid


def insert_events(db: sqlite3.Connection, session: int, events: Iterable[Settled]) -> None:
    """Append events to a session, with their large texts. They are asked for one by one, and not kept."""
    [last] = db.execute("SELECT coalesce(max(key), 0) FROM events").fetchone()
    large: list[tuple[int, dict[bytes, bytes]]] = []
    settings: list[Event] = []

    def rows() -> Iterator[tuple[int, int, int, str, str]]:
        for key, (event, line) in enumerate(events, last + 1):
            row = line
            if len(line) > large_texts.SHORT:
                row, texts = large_texts.split_large_texts(line)
                if texts:
                    large.append((key, texts))
            if type(event.body) is Setting:
                settings.append(event)
            yield key, session, event.seq, event.id, row

    left, added = rows(), 0
    while several := [*islice(left, _TOGETHER)]:
        db.execute(_insertion(len(several)), [*chain.from_iterable(several)])
        added += len(several)
    for key, texts in large:
        large_texts.store_texts(db, key, texts.items())
    db.execute("UPDATE sessions SET events = events + ?, updated = ? WHERE key = ?", (added, now_in_ms(), session))
    for column, value in labels_in(settings).items():
        db.execute(f"UPDATE sessions SET {column} = ? WHERE key = ?", (value, session))


@cache
def _insertion(count: int) -> str:
    """The statement that inserts so many events."""
    return f"INSERT INTO events(key, session, seq, id, data) VALUES {', '.join(['(?, ?, ?, ?, ?)'] * count)}"


def labels_in(events: Iterable[Event]) -> dict[str, str]:
    """The title and the model that settings among the events give; the last one wins."""
    found: dict[str, str] = {}
    for event in events:
        body = event.body
        if type(body) is Setting and body.key in ("title", "model"):
            found[body.key] = body.value if isinstance(body.value, str) else ""
    return found


def stored_lines(db: sqlite3.Connection, session: int, after: int, upto: int) -> list[str]:
    """The lines of the events after one sequence number up to another."""
    rows = db.execute(
        "SELECT data FROM events WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq", (session, after, upto)
    ).fetchall()
    if len(rows) != max(0, upto - after):
        what = f"events {after + 1} to {upto} of a session are no longer there"
        if db.execute("SELECT 1 FROM sessions WHERE key = ?", (session,)).fetchone() is not None:
            raise damaged(what)
        raise StoreError(f"{what}; it was deleted meanwhile")
    lines = [line for (line,) in rows]
    if not {str}.issuperset(map(type, lines)):
        expect(tuple(lines), *[str] * len(lines))
    return [large_texts.restore_line(db, line) for line in lines]


def events_of(lines: Iterable[str]) -> list[Event]:
    """The events of lines that we wrote ourselves."""
    try:
        with collector_paused():
            return [decode_event(line) for line in lines]
    except BadEvent as error:
        raise damaged(str(error)) from error
