"""Databases of other agents: SQLite files, read while others write them, and never written.

A file with a write-ahead log is read together with it, through the index that its writer keeps. If that cannot be
opened (another user's folder, a copy without the index), a copy of both files is read instead.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote

from workbench.config.errors import WrongCall
from workbench.config.file_limits import largest_file
from workbench.config.foreign_files import check_regular_or_missing, open_regular_file, read_regular_file
from workbench.traces.building import Recording

MAGIC = b"SQLite format 3\0"
_SHOWN = 8
"""Tables that are named in an error."""
_LONGEST = 256 * 1024 * 1024
"""Bytes of one value."""


class TableSession(NamedTuple):
    """A conversation of a database, which is read on demand."""

    title: str
    read: Callable[[], Recording]


class Tables:
    """An open database."""

    def __init__(self, name: str, connection: sqlite3.Connection) -> None:
        self.name = name
        self._connection = connection
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        self._limit = largest_file()
        self._tables: dict[str, frozenset[str]] = {}
        for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"):
            columns = self.rows("SELECT name FROM pragma_table_info(?)", row["name"])
            self._tables[row["name"]] = frozenset(column["name"] for column in columns)

    def has_table(self, table: str, *columns: str) -> bool:
        """Whether it has a table with these columns."""
        return self._tables.get(table, frozenset()) >= {*columns}

    def rows(self, query: str, *values: Any) -> list[dict[str, Any]]:
        """The rows of a query; all at once, so that no writer waits for us."""
        found, room = [], self._limit
        try:
            for row in self._connection.execute(query, values):
                found.append(dict(row))
                room -= sum(len(each) for each in row if isinstance(each, str | bytes))
                if room < 0:
                    raise WrongCall(
                        f"{self.name}: this database holds more text than the {self._limit:,} bytes that are read"
                    )
            return found
        except sqlite3.Error as error:
            raise WrongCall(f"{self.name}: this database cannot be read: {error}") from None

    def described(self) -> str:
        """What is in it, for a refusal."""
        names = ", ".join(repr(name[:30]) for name in list(self._tables)[:_SHOWN])
        more = ", ..." if len(self._tables) > _SHOWN else ""
        return f"a database with the tables {names}{more}" if names else "a database without tables"


def object_in(row: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The JSON object in a column; empty if it is missing or no object."""
    try:
        found = json.loads(row.get(column) or "")
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def open_tables(name: str, path: Path) -> Tables:
    log = path.with_name(f"{path.name}-wal")
    with open_regular_file(path) as file:
        logged = file.read(20)[18:] == b"\2\2"
    # SQLite opens these by name, and would wait for a pipe.
    check_regular_or_missing(*(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm", "-journal")))
    if not logged or not log.exists() or not log.stat().st_size:
        # For one with a log, a plain `mode=ro` would create an empty one and its index next to the file.
        return _first_of(name, path, "immutable=1" if logged else "mode=ro", "immutable=1")
    try:
        return _first_of(name, path, "mode=ro&readonly_shm=1")
    except WrongCall:
        return _copied(name, path, log)


def tables_of(name: str, raw: bytes) -> Tables:
    """A database from its bytes, without what its writer had not moved into the file yet."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    # Bytes 18 and 19 say that it has a write-ahead log; without the log, memory would refuse the file.
    connection.deserialize(raw[:18] + b"\1\1" + raw[20:])
    return Tables(name, connection)


def _first_of(name: str, path: Path, *ways: str) -> Tables:
    """The database, opened in the first of these ways that works."""
    try:
        return Tables(name, _connected(path, ways[0]))
    except WrongCall:
        if len(ways) == 1:
            raise
        return _first_of(name, path, *ways[1:])


def _connected(path: Path, how: str) -> sqlite3.Connection:
    # A session is read in another thread than the one that opened the file.
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True, timeout=1, check_same_thread=False)


def _copied(name: str, path: Path, log: Path) -> Tables:
    limit = largest_file()
    with TemporaryDirectory(prefix="workbench-") as folder:
        copy = Path(folder) / "copy.db"
        for source, target in ((path, copy), (log, copy.with_name("copy.db-wal"))):
            target.write_bytes(read_regular_file(source, limit))
        with _connected(copy, "mode=rw") as connection:
            return tables_of(name, connection.serialize())
