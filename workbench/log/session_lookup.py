"""Finding sessions by what people type."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from workbench.config.text import without_surrogates
from workbench.log import large_texts
from workbench.log.errors import NotFound, expect
from workbench.log.session import SessionInfo

_COLUMNS: Final = "key, id, title, created, updated, events, model, forked_from, forked_at, folder, branch"
_NEWEST: Final = "ORDER BY updated DESC, key DESC LIMIT"
_GUESSED: Final = 500
"""How many of the newest sessions are searched for close matches."""


_ENVELOPE_SIZE: Final = 200
"""Characters at the beginning of a line that have the event's kind."""


class StoredSession(NamedTuple):
    key: int
    info: SessionInfo


def session_by_id(db: sqlite3.Connection, name: str) -> StoredSession | None:
    return next(iter(_select(db, "WHERE id = ?", without_surrogates(name))), None)


def session_by_ref(db: sqlite3.Connection, ref: str) -> StoredSession:
    """A session by its id, by a unique beginning of its id, or by its exact title."""
    exact = session_by_id(db, ref)
    if exact is not None:
        return exact
    begun = (
        _select(db, f"WHERE id GLOB ? {_NEWEST} 4", re.sub(r"([*?[])", r"[\1]", without_surrogates(ref)) + "*")
        if ref
        else []
    )
    if len(begun) == 1:
        return begun[0]
    titled = _select(db, f"WHERE title = ? {_NEWEST} 4", without_surrogates(ref)) if ref else []
    if len(titled) == 1:
        return titled[0]
    several = titled or begun
    if several:
        raise NotFound(f"'{ref}' is not one session but several: {_names(several)}; expected a longer id")
    raise NotFound(_missing(db, ref))


def session_by_name(db: sqlite3.Connection, name: str) -> StoredSession | None:
    """A session by its whole id or exact title; of several with this title, the one that was made first."""
    titled = _select(db, "WHERE title = ? ORDER BY key LIMIT 1", without_surrogates(name))
    return session_by_id(db, name) or next(iter(titled), None)


def query_sessions(db: sqlite3.Connection, limit: int | None, query: str, folder: str) -> list[SessionInfo]:
    """The sessions whose title holds the query or whose id begins with it, the last changed first.

    Sessions without a message are left out.
    """
    where, values = ["NOT unused"], list[Any]()
    if query:
        word = re.sub(r"([\\%_])", r"\\\1", without_surrogates(query))
        where.append(r"(title LIKE ? ESCAPE '\' OR id LIKE ? ESCAPE '\')")
        values += [f"%{word}%", f"{word}%"]
    if folder:
        where.append("folder = ?")
        values.append(without_surrogates(folder))
    found = _select(db, f"WHERE {' AND '.join(where)} {_NEWEST} ?", *values, -1 if limit is None else limit)
    return [session.info for session in found]


def sessions_holding(db: sqlite3.Connection, text: str, among: int, within: int) -> list[SessionInfo]:
    """Those of the last changed sessions that have the text in the line of one of their first events."""
    recent = f"SELECT key FROM sessions WHERE NOT unused {_NEWEST} ?"
    line = "SELECT 1 FROM events WHERE session = sessions.key AND seq <= ? AND instr(data, ?) > 0"
    found = _select(
        db, f"WHERE key IN ({recent}) AND EXISTS ({line}) {_NEWEST} ?", among, within, without_surrogates(text), among
    )
    return [each.info for each in found]


def first_lines(db: sqlite3.Connection, ids: Sequence[str], text: str, within: int) -> dict[str, str]:
    """The first line with the text among the first events of each of these sessions, by the session's id."""
    mine = "session = sessions.key AND seq <= ? AND instr(data, ?) > 0"
    line = f"SELECT data FROM events WHERE {mine} ORDER BY seq LIMIT 1"
    marks = ",".join("?" * len(ids))
    found = db.execute(
        f"SELECT id, ({line}) FROM sessions WHERE id IN ({marks})", [within, without_surrogates(text), *ids]
    )
    return {name: large_texts.restore_line(db, data) for name, data in found if data is not None}


def lines_of_kinds(db: sqlite3.Connection, name: str, kinds: Sequence[str]) -> list[str]:
    """The lines of the events of these kinds, in the session with this id."""
    wanted = " OR ".join(["instr(substr(data, 1, ?), ?) > 0"] * len(kinds))
    values = [each for kind in kinds for each in (_ENVELOPE_SIZE, f'"kind":"{kind}"')]
    found = db.execute(
        f"SELECT data FROM events WHERE session = (SELECT key FROM sessions WHERE id = ?) AND ({wanted}) ORDER BY seq",
        [without_surrogates(name), *values],
    )
    return [large_texts.restore_line(db, data) for (data,) in found]


def unused_sessions(db: sqlite3.Connection) -> list[str]:
    """The ids of sessions without a message."""
    return [found.info.id for found in _select(db, "WHERE unused")]


def _missing(db: sqlite3.Connection, ref: str) -> str:
    """The message for an unknown session, with close matches."""
    import difflib  # late, as few names are wrong

    recent = _select(db, f"{_NEWEST} ?", _GUESSED)
    names = {name.lower(): session for session in recent for name in (session.info.id, session.info.title) if name}
    close = difflib.get_close_matches(ref.lower(), names, n=3, cutoff=0.5)
    if not close:
        return f"there is no session '{ref}'"
    meant = list({names[name].key: names[name] for name in close}.values())
    return f"there is no session '{ref}'; close to it: {_names(meant)}"


def _names(sessions: list[StoredSession]) -> str:
    """The first few sessions, for a message."""
    shown = [f"{info.id} ({info.title})" if info.title else info.id for _, info in sessions[:3]]
    return ", ".join(shown) + (", ..." if len(sessions) > 3 else "")


def _select(db: sqlite3.Connection, clauses: str, *values: Any) -> list[StoredSession]:
    """The rows for these clauses."""
    found = []
    for row in db.execute(f"SELECT {_COLUMNS} FROM sessions {clauses}", values):
        expect(row, int, str, str, int, int, int, str, object, object, str, str)
        key, name, title, created, updated, events, model, origin, at, folder, branch = row
        forked_from = None if origin is None else (origin, at)
        info = SessionInfo(name, title, created, updated, events, model, forked_from, folder, branch)
        found.append(StoredSession(key, info))
    return found
