"""Full-text search over all sessions.

Events are put into the index when somebody searches, not when they are stored: most long files that are imported are
never searched. The fact `indexed` is the key of the last event in the index.

The index does not store its text, so removing a row needs exactly the text that was put in. Hence the rule of
`SEARCH_VERSION`: when the words of an event change, the whole index is built again.
"""

from __future__ import annotations

import math
import re
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from time import sleep
from typing import Final, NamedTuple

from workbench.config.patterns import late_pattern
from workbench.config.text import without_surrogates
from workbench.log import large_texts
from workbench.log.codec import SEARCH_VERSION, decode_event, search_text
from workbench.log.database import Database
from workbench.log.errors import BadEvent, StoreError, damaged, expect
from workbench.log.events import Body, UserMessage
from workbench.log.migrations import WORDS

INDEXED: Final = 64 * 1024
"""Characters of an event that are indexed; people rarely search for what comes after. Raise `SEARCH_VERSION` when
this or `_spaced` changes."""
LOOKED_AT: Final = 30_000
"""Events to search for users' messages: a tenth of a second."""
_BATCH: Final = 5_000
"""Events that are indexed in one transaction: a tenth of a second in which nobody else can write."""
_BATCH_TEXT: Final = 1_000_000
"""Characters of the events that are indexed in one transaction: as long, or twice, if the words are many different."""
_PATIENCE: Final = 0.2
"""Seconds that a search waits for another process that writes."""
_PAUSE: Final = 0.01
"""Seconds between two such transactions. A shorter moment is mostly missed by those who wait, in any process."""
_ENVELOPE: Final = 120
"""Characters of a line that include its kind, but not yet its text."""
_AROUND: Final = 40
"""Characters of a snippet before the first match; three times as many follow."""

# Scripts without blanks: each character becomes a word, and a query for several characters a phrase.
_UNSPACED = late_pattern("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f])")


class Hit(NamedTuple):
    """An event that was found."""

    session_id: str
    title: str
    """The session's."""
    seq: int
    id: str
    """The event's."""
    snippet: str
    """One line around the first match."""


def remove_session(db: sqlite3.Connection, session: int) -> None:
    """Remove a session's events from the index; they must still be in their table."""
    indexed = "SELECT key, data FROM events WHERE session = ? AND key <= ?"
    for event, data in db.execute(indexed, (session, _last_indexed(db))):
        if words := _words(_body(db, data)):
            db.execute("INSERT INTO words(words, rowid, text) VALUES('delete', ?, ?)", (event, words))


def index_outdated(db: sqlite3.Connection) -> bool:
    """Whether the index was built by a program that took other words from the same events."""
    return _fact(db, "search") != SEARCH_VERSION


def empty_index(db: sqlite3.Connection) -> None:
    """Forget all words; the next search builds the index again."""
    db.execute("INSERT INTO words(words) VALUES('delete-all')")
    _set_fact(db, "indexed", 0)
    _set_fact(db, "search", SEARCH_VERSION)


def complete_index(database: Database) -> None:
    """Index the events that came since the last search, in parts, so that others can write between.

    Where this cannot be done now, the search looks at the rest by itself: in a file that is read-only or busy, on a
    full disk, and inside a transaction, of which a part that fails could not be rolled back alone.
    """
    if database.is_in_transaction():
        return
    with suppress(StoreError):
        lacking = _lacks_words(database)
        while lacking:
            with database.write_lightly(_PATIENCE) as db:
                _set_fact(db, "indexed", _index_events(db, "words", _last_indexed(db), _BATCH, _BATCH_TEXT))
            if lacking := _lacks_words(database):
                sleep(_PAUSE)


def _lacks_words(database: Database) -> bool:
    with database.read_transaction() as db:
        return _is_incomplete(db)


def find_events(db: sqlite3.Connection, text: str, session: int | None, limit: int) -> list[Hit]:
    """Events that hold every word of `text`, newest first. The last word may be only a beginning."""
    words = without_surrogates(text).replace("\0", " ").split()
    if not words:
        return []
    with _unindexed_words(db) as tables:
        rows: list[tuple[str, str, int, str, str]] = []
        for table in tables:
            rows += _matching(db, table, _query(words), session, limit - len(rows))
    hits, shown = [], re.findall(r"\w+", text)
    for session_id, title, seq, name, data in rows:
        found = search_text(_body(db, data))
        hits.append(Hit(session_id, title, seq, name, _snippet(found, shown)))
    return hits


def user_messages_in(db: sqlite3.Connection, folder: str) -> list[UserMessage]:
    """The users' messages in the sessions of a folder, newest first, as far back as a quick search gets."""
    found: list[tuple[int, str]] = []
    left = LOOKED_AT
    sessions = db.execute(
        "SELECT key, events FROM sessions WHERE folder = ? AND NOT unused ORDER BY updated DESC, key DESC",
        (without_surrogates(folder),),
    )
    for session, events in sessions:
        looked = min(events, left // 2)  # one long session must not hide the others
        found += db.execute(
            """SELECT key, data FROM events
               WHERE session = ? AND seq > ? AND instr(substr(data, 1, ?), '"kind":"user"')""",
            (session, events - looked, _ENVELOPE),
        )
        left -= looked
        if left < 2:
            break
    bodies = [_body(db, data) for _, data in sorted(found, reverse=True)]
    return [body for body in bodies if isinstance(body, UserMessage)]


@contextmanager
def _unindexed_words(db: sqlite3.Connection) -> Iterator[list[str]]:
    """The tables to search, the one with the newest events first.

    Where the index cannot be written, the events that it lacks are in a table of this connection alone.
    """
    if not _is_incomplete(db):
        yield ["words"]
        return
    db.execute(f"CREATE VIRTUAL TABLE temp.newer USING {WORDS}")
    try:
        _index_events(db, "newer", _last_indexed(db))
        yield ["newer", "words"]
    finally:
        db.execute("DROP TABLE temp.newer")


def _matching(
    db: sqlite3.Connection, table: str, query: str, session: int | None, limit: int
) -> list[tuple[str, str, int, str, str]]:
    """Session, title, seq, id and row of the events that match, newest first."""
    where = "" if session is None else "AND e.session = :session"
    return db.execute(
        f"""SELECT s.id, s.title, e.seq, e.id, e.data FROM {table}
            JOIN events e ON e.key = {table}.rowid JOIN sessions s ON s.key = e.session
            WHERE {table} MATCH :query {where} ORDER BY {table}.rowid DESC LIMIT :limit""",
        {"query": query, "session": session, "limit": limit},
    ).fetchall()


def _index_events(
    db: sqlite3.Connection, table: str, after: int, events: float = math.inf, characters: float = math.inf
) -> int:
    """Put the words of the events after a key into a table, until there are so many; returns the last one's key."""
    reached = after

    def worded() -> Iterator[tuple[int, str]]:
        nonlocal reached
        size = 0
        for count, (event, data) in enumerate(found, 1):
            reached, words = event, _readable_words(db, data)
            if words:
                yield event, words
            size += len(words)
            if count >= events or size >= characters:
                break

    # As bytes, because SQLite's module raises for a text that is not UTF-8. Closed, because no table can be dropped
    # while others are read.
    data = "CASE typeof(data) WHEN 'text' THEN CAST(data AS BLOB) END"
    with closing(db.execute(f"SELECT key, {data} FROM events WHERE key > ? ORDER BY key", (after,))) as found:
        db.executemany(f"INSERT INTO {table}(rowid, text) VALUES(?, ?)", worded())
    return reached


def _readable_words(db: sqlite3.Connection, data: bytes | None) -> str:
    """The words of an event as it is stored; none if it is damaged, so that all others can be found."""
    try:
        return _words(_body(db, data.decode())) if data is not None else ""
    except (StoreError, UnicodeDecodeError):
        return ""


def _is_incomplete(db: sqlite3.Connection) -> bool:
    """Whether there are events that are not in the index yet."""
    return _last_indexed(db) < _last_event(db)


def _last_indexed(db: sqlite3.Connection) -> int:
    """The key of the last event in the index. Files of older formats do not say it: they have all in it."""
    found = _fact(db, "indexed")
    if found is None:
        return _last_event(db)
    expect((found,), int)
    return found


def _last_event(db: sqlite3.Connection) -> int:
    last: int = db.execute("SELECT coalesce(max(key), 0) FROM events").fetchone()[0]
    return last


def _fact(db: sqlite3.Connection, name: str) -> int | None:
    found = db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if found is None else found[0]


def _set_fact(db: sqlite3.Connection, name: str, value: int) -> None:
    db.execute("INSERT OR REPLACE INTO facts(name, value) VALUES(?, ?)", (name, value))


def _query(words: list[str]) -> str:
    """Every word as a quoted phrase, so that FTS5 reads no syntax in it."""
    return " ".join('"' + _spaced(word).replace('"', '""') + '"' for word in words) + "*"


def _words(body: Body) -> str:
    """The words of an event for the index."""
    return _spaced(search_text(body)[:INDEXED])


def _spaced(text: str) -> str:
    """The text with blanks where its script has none."""
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)


def _body(db: sqlite3.Connection, data: str) -> Body:
    """The body of an event as it is stored."""
    expect((data,), str)
    try:
        return decode_event(large_texts.restore_line(db, data)).body
    except BadEvent as error:
        raise damaged(str(error)) from error


def _snippet(text: str, words: list[str]) -> str:
    """One line around the first of the words; the beginning of the text if none is found literally."""
    found = _place(text.lower(), words)
    if found is None:
        found = _place(_bare(text), [_bare(word) for word in words]) or 0
    start = max(0, found - _AROUND)
    end = found + 3 * _AROUND
    line = " ".join(text[start:end].split())
    return ("…" if start else "") + line + ("…" if end < len(text) else "")


def _place(text: str, words: list[str]) -> int | None:
    """Where the first of the words begins."""
    places = [place for word in words if (place := text.find(word.lower())) >= 0]
    return min(places, default=None)


def _bare(text: str) -> str:
    """Lower case without accents, as the index sees it, character for character."""
    return "".join([unicodedata.normalize("NFD", char)[0] for char in text[:INDEXED]]).lower()
