"""The tables, as a numbered list of steps. A file's `user_version` is the number of steps that it has had.

A step, once released, is never changed; new things are a new step at the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from workbench.config.foreign_files import open_regular_file
from workbench.log.errors import RECOVER, StoreError, damaged
from workbench.log.pages import MAGIC

APPLICATION_ID: Final = 0x574B4248  # "WKBH"; distinguishes our file from other SQLite files
_HEADER: Final = 100
"""The bytes of the header of an SQLite file."""


def _first(db: sqlite3.Connection) -> None:
    """Sessions, their events, the large texts, the search index and the token counts."""
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in _FIRST:
        db.execute(statement)


WORDS: Final = "fts5(text, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2')"
"""A table of words without its own content: the log already has the text. A row's rowid is the event's key."""
_FIRST = (
    # What a listing shows is stored here, so that listing and opening never read events. `events` is also the last
    # sequence number. `forked_from` is no foreign key: the fork outlives its origin. AUTOINCREMENT: a key is never
    # reused, so that a view of a deleted session cannot show another one.
    """CREATE TABLE sessions(
        key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL, model TEXT NOT NULL,
        created INTEGER NOT NULL, updated INTEGER NOT NULL, events INTEGER NOT NULL,
        forked_from TEXT, forked_at INTEGER)""",
    "CREATE INDEX sessions_by_age ON sessions(updated, key)",
    "CREATE INDEX sessions_by_title ON sessions(title)",
    # `data` is the event's line, with references for large texts; the other columns are for finding it.
    """CREATE TABLE events(
        key INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
        seq INTEGER NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL,
        UNIQUE(session, seq), UNIQUE(session, id))""",
    "CREATE TABLE texts(hash BLOB PRIMARY KEY, text BLOB NOT NULL)",
    """CREATE TABLE event_texts(
        event INTEGER NOT NULL REFERENCES events(key) ON DELETE CASCADE,
        hash BLOB NOT NULL REFERENCES texts(hash), PRIMARY KEY(event, hash)) WITHOUT ROWID""",
    "CREATE INDEX event_texts_by_hash ON event_texts(hash)",
    f"CREATE VIRTUAL TABLE words USING {WORDS}",
    "CREATE TABLE facts(name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    """CREATE TABLE counts(
        tokenizer TEXT NOT NULL, digest BLOB NOT NULL, tokens INTEGER NOT NULL, exact INTEGER NOT NULL,
        PRIMARY KEY(tokenizer, digest)) WITHOUT ROWID""",
)


def _drafts(db: sqlite3.Connection) -> None:
    """Parts of answers that are still coming in."""
    db.execute("""CREATE TABLE drafts(
        key INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
        reply TEXT NOT NULL, model TEXT NOT NULL, thinking TEXT NOT NULL, text TEXT NOT NULL)""")


def _folders(db: sqlite3.Connection) -> None:
    """The folder of a session, its branch at the last message, and whether it has no message yet.

    A session from before belongs to no folder.
    """
    db.execute("ALTER TABLE sessions ADD COLUMN folder TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE sessions ADD COLUMN branch TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE sessions ADD COLUMN unused INTEGER NOT NULL DEFAULT 0")
    db.execute("CREATE INDEX sessions_by_folder ON sessions(folder, updated)")


def _index_when_searched(db: sqlite3.Connection) -> None:
    """How far the search index reaches. Programs from before indexed each event as they stored it."""
    db.execute("INSERT INTO facts(name, value) SELECT 'indexed', coalesce(max(key), 0) FROM events")


def _index_follows_deletes(db: sqlite3.Connection) -> None:
    """Keys of events that were deleted are given out again, if they were the highest: they are indexed no more.

    A trigger, because an older program may still have the file open.
    """
    lower = "UPDATE facts SET value = min(value, (SELECT coalesce(max(key), 0) FROM events)) WHERE name = 'indexed'"
    db.execute(lower)
    db.execute(f"CREATE TRIGGER session_deleted AFTER DELETE ON sessions BEGIN {lower}; END")


STEPS: list[Callable[[sqlite3.Connection], None]] = [
    _first,
    _drafts,
    _folders,
    _index_when_searched,
    _index_follows_deletes,
]


def check_file(path: Path) -> None:
    """Refuse a file that is not ours or too new, by its first bytes, before SQLite touches it."""
    with open_regular_file(path) as file:
        head = file.read(_HEADER)
    if not head:
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:  # SQLite would remove it
            raise damaged(f"{path} is empty, but not its write-ahead log")
        return
    if not head.startswith(MAGIC):
        raise StoreError(f"{path} is not a Workbench database; if it was one, {RECOVER}")
    # 0: the first step may still be in the write-ahead log alone; `migrate` checks again.
    if _application_in(head) not in (0, APPLICATION_ID):
        raise StoreError(f"{path} is not a Workbench database")
    _refuse_newer(path, int.from_bytes(head[60:64], "big"))


def is_our_file(path: Path) -> bool:
    """Whether a file is one of ours, found without writing anything next to it. Raises what reading raises."""
    with open_regular_file(path) as file:
        head = file.read(_HEADER)
    application = _application_in(head) if head.startswith(MAGIC) else None
    if application == 0 and path.with_name(path.name + "-shm").exists():
        # It may be new and still open; then the first step is in the write-ahead log alone, and that has its index.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            application = db.execute("PRAGMA application_id").fetchone()[0]
    return application == APPLICATION_ID


def check_content(db: sqlite3.Connection, path: Path) -> None:
    """Like `check_file`, for what is only in the write-ahead log."""
    db.execute("BEGIN")  # one consistent state: another process may be creating the tables right now
    application = db.execute("PRAGMA application_id").fetchone()[0]
    empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    version = version_of(db)
    db.execute("COMMIT")
    if application != APPLICATION_ID and not empty:
        raise StoreError(f"{path} is not a Workbench database")
    _refuse_newer(path, version)


def migrate(db: sqlite3.Connection) -> None:
    """Run the steps that the file has not had, each in its own transaction."""
    while (version := version_of(db)) < len(STEPS):
        db.execute("BEGIN IMMEDIATE")
        try:
            if version_of(db) == version:  # otherwise another process was faster
                STEPS[version](db)
                db.execute(f"PRAGMA user_version = {version + 1}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def view_older(db: sqlite3.Connection) -> None:
    """For a read-only file of an older format: give it the missing tables and columns, empty."""
    if version_of(db) == 2:
        more = "'' AS folder, '' AS branch, 0 AS unused"
        db.execute(f"CREATE TEMP VIEW sessions AS SELECT *, {more} FROM main.sessions")


def version_of(db: sqlite3.Connection) -> int:
    """How many steps the file has had."""
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def _application_in(head: bytes) -> int:
    """The application that the header of an SQLite file names."""
    return int.from_bytes(head[68:72], "big")


def _refuse_newer(path: Path, version: int) -> None:
    """A program that does not know a format must not write it."""
    if version > len(STEPS):
        raise StoreError(
            f"{path} was written by a newer Workbench (format {version}, this one reads up to {len(STEPS)})"
        )
