"""Full-text search over all sessions.

The index does not store its text, so removing a row needs exactly the text that was put in. Hence the rule of
`SEARCH_VERSION`: when the words of an event change, the whole index is rebuilt.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from workbench.config.text import without_surrogates
from workbench.log import large_texts
from workbench.log.codec import SEARCH_VERSION, decode_event, search_text
from workbench.log.errors import BadEvent, damaged, expect
from workbench.log.events import Body, UserMessage

INDEXED: Final = 64 * 1024
"""Characters of an event that are indexed; people rarely search for what comes after. Raise `SEARCH_VERSION` when
this or `_spaced` changes."""
LOOKED_AT: Final = 30_000
"""Events to search for users' messages: a tenth of a second."""
_ENVELOPE: Final = 120
"""Characters of a line that include its kind, but not yet its text."""
_AROUND: Final = 40
"""Characters of a snippet before the first match; three times as many follow."""

# Scripts without blanks: each character becomes a word, and a query for several characters a phrase.
_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f])")


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


def index_events(db: sqlite3.Connection, events: Iterable[tuple[int, Body]]) -> None:
    """Put events into the index, each by its key."""
    worded = ((event, words) for event, body in events if (words := _words(body)))
    db.executemany("INSERT INTO words(rowid, text) VALUES(?, ?)", worded)


def remove_session(db: sqlite3.Connection, session: int) -> None:
    """Remove a session's events from the index; they must still be in their table."""
    for event, body in _bodies(db, "WHERE session = ?", (session,)):
        words = _words(body)
        if words:
            db.execute("INSERT INTO words(words, rowid, text) VALUES('delete', ?, ?)", (event, words))


def index_outdated(db: sqlite3.Connection) -> bool:
    """Whether the index was built by a program that took other words from the same events."""
    found = db.execute("SELECT value FROM facts WHERE name = 'search'").fetchone()
    return found is None or found[0] != SEARCH_VERSION


def rebuild_index(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO words(words) VALUES('delete-all')")
    index_events(db, _bodies(db))
    db.execute("INSERT OR REPLACE INTO facts(name, value) VALUES('search', ?)", (SEARCH_VERSION,))


def find_events(db: sqlite3.Connection, text: str, session: int | None, limit: int) -> list[Hit]:
    """Events that hold every word of `text`, newest first. The last word may be only a beginning."""
    words = without_surrogates(text).replace("\0", " ").split()
    if not words:
        return []
    where = "" if session is None else "AND e.session = :session"
    rows = db.execute(
        f"""SELECT s.id, s.title, e.seq, e.id, e.data FROM words
            JOIN events e ON e.key = words.rowid JOIN sessions s ON s.key = e.session
            WHERE words MATCH :query {where} ORDER BY words.rowid DESC LIMIT :limit""",
        {"query": _query(words), "session": session, "limit": limit},
    ).fetchall()
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


def _query(words: list[str]) -> str:
    """Every word as a quoted phrase, so that FTS5 reads no syntax in it."""
    return " ".join('"' + _spaced(word).replace('"', '""') + '"' for word in words) + "*"


def _words(body: Body) -> str:
    """The words of an event for the index."""
    return _spaced(search_text(body)[:INDEXED])


def _spaced(text: str) -> str:
    """The text with blanks where its script has none."""
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)


def _bodies(db: sqlite3.Connection, where: str = "", values: tuple[object, ...] = ()) -> Iterator[tuple[int, Body]]:
    """Keys and bodies of events."""
    for event, data in db.execute(f"SELECT key, data FROM events {where}", values):
        yield event, _body(db, data)


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
