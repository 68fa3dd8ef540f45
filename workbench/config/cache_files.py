"""Databases in the cache folder, with what can be made again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workbench.config.writing import make_private_file

_CREATE = "CREATE TABLE "


def open_cache(path: Path, tables: Sequence[str], journal: str = "WAL") -> sqlite3.Connection | None:
    """The database with these tables (`CREATE TABLE ...`); None where nothing can be written.

    `journal`: WAL is quicker for many small changes, DELETE for a large one. A broken file, or one with other tables,
    is replaced by an empty one: otherwise nothing could be kept any more.
    """
    with suppress(OSError, sqlite3.Error):
        try:
            return _opened(path, tables, journal)
        except (_Foreign, sqlite3.DatabaseError) as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            if code not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise
            path.unlink()
            return _opened(path, tables, journal)
    return None


def _opened(path: Path, tables: Sequence[str], journal: str) -> sqlite3.Connection:
    """Open the database. Raises sqlite3.Error for a broken or other file, and _Foreign for one that we did not make."""
    make_private_file(path)
    db = sqlite3.connect(path, timeout=5, isolation_level=None)
    try:
        db.execute("PRAGMA synchronous = OFF")  # before the journal mode, which would wait for the disk
        db.execute(f"PRAGMA journal_mode = {journal}")
        for table in tables:
            db.execute(table.replace(_CREATE, f"{_CREATE}IF NOT EXISTS ", 1))
        made = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if made != {*tables}:  # a foreign view or trigger could do anything
            raise _Foreign
        for table in tables:
            name = table.removeprefix(_CREATE).split()[0]
            db.execute(f"SELECT * FROM {name} LIMIT 1").fetchone()
    except (_Foreign, sqlite3.Error):
        db.close()
        raise
    return db


class _Foreign(Exception):
    """The database does not have our tables."""
