"""Keeps the reports of each file, and the last tables, in the cache folder. A broken entry is read again."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Container
from contextlib import suppress
from functools import cached_property
from typing import Self
from zlib import crc32

import msgspec

from workbench.config.cache_files import open_cache
from workbench.config.paths import cache_dir
from workbench.live.stamps import FileStamp
from workbench.usage.records import UsageEntry
from workbench.usage.usage_table import UsageTable

FILE = "usage.db"
STORED_SESSION = "session "
"""Begins the key of a session in our own store, which has no file."""
_VERSION = 7
"""Raise it when a reader finds something else in the same file."""
# Rows as large as these are written in half the time if the table has a rowid.
_FILES = "CREATE TABLE files (path TEXT PRIMARY KEY, data BLOB)"
_TABLES = "CREATE TABLE tables (key BLOB PRIMARY KEY, made INTEGER, data BLOB)"
_TITLES = "CREATE TABLE titles (ref TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID"
_CHECK = 4
"""Bytes of the checksum in front of each value."""
_MOST_TABLES = 4
_ENTRIES = msgspec.msgpack.Decoder(UsageEntry)


class KeptUsage:
    """The cache. Where nothing can be written, nothing is kept, and that is no error."""

    def __init__(self) -> None:
        self._db = open_cache(cache_dir() / FILE, (_FILES, _TABLES, _TITLES), "DELETE")
        self._tables = msgspec.msgpack.Decoder(UsageTable)
        self._titles = msgspec.msgpack.Decoder(tuple[FileStamp, str])
        self._new: list[tuple[str, bytes]] = []
        self._new_titles: list[tuple[str, bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.execute("BEGIN")
                self._db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", self._new)
                self._db.executemany("INSERT OR REPLACE INTO titles VALUES (?, ?)", self._new_titles)
                self._db.execute("COMMIT")
            self._db.close()

    def load_file(self, path: str) -> UsageEntry | None:
        """What was read of a file; None if nothing was."""
        if path not in self._paths:
            return None
        with suppress(msgspec.MsgspecError, RecursionError):
            data = self._load("SELECT data FROM files WHERE path = ?", path)
            return None if data is None else _ENTRIES.decode(data)
        return None

    @cached_property
    def _paths(self) -> frozenset[str]:
        """The files of which something is kept."""
        if self._db is not None:
            with suppress(sqlite3.Error):
                return frozenset(path for (path,) in self._db.execute("SELECT path FROM files"))
        return frozenset()

    def keep_file(self, path: str, entry: bytes) -> None:
        """Keep what was read of a file, as `encoded_entry` gives it; nothing if that is empty."""
        with suppress(UnicodeEncodeError):  # half a surrogate pair
            self._new += [(path.encode().decode(), entry)] if entry else []

    def load_title(self, ref: str, stamp: FileStamp) -> str | None:
        """The title of a session, if its file has not changed since it was kept."""
        with suppress(msgspec.MsgspecError):
            data = self._load("SELECT data FROM titles WHERE ref = ?", ref.encode("utf-8", "replace").decode())
            kept = None if data is None else self._titles.decode(data)
            return kept[1] if kept is not None and kept[0] == stamp else None
        return None

    def keep_title(self, ref: str, stamp: FileStamp, title: str) -> None:
        """Keep the title of a session."""
        with suppress(UnicodeEncodeError):
            self._new_titles.append((ref.encode().decode(), _checked_data(msgspec.msgpack.encode((stamp, title)))))

    def load_table(self, key: bytes) -> UsageTable | None:
        """A table that was made of the same files; None if there is none."""
        with suppress(msgspec.MsgspecError, RecursionError):
            data = self._load("SELECT data FROM tables WHERE key = ?", key)
            return None if data is None else self._tables.decode(data)
        return None

    def keep_table(self, key: bytes, table: UsageTable) -> None:
        """Keep a table, and forget older ones."""
        if self._db is None:
            return
        with suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
            data = _checked_data(msgspec.msgpack.encode(table))
            self._db.execute("INSERT OR REPLACE INTO tables VALUES (?, ?, ?)", (key, time.time_ns(), data))
            old = "SELECT key FROM tables ORDER BY made DESC LIMIT -1 OFFSET ?"
            self._db.execute(f"DELETE FROM tables WHERE key IN ({old})", (_MOST_TABLES,))

    def forget_files(self, existing: Container[str]) -> None:
        """Forget the files that do not exist any more."""
        if self._db is None:
            return
        with suppress(sqlite3.Error):
            gone = [(path,) for path in self._paths if path not in existing and not path.startswith(STORED_SESSION)]
            self._db.executemany("DELETE FROM files WHERE path = ?", gone)

    def _load(self, query: str, key: str | bytes) -> bytes | None:
        if self._db is None:
            return None
        with suppress(sqlite3.Error):
            row = self._db.execute(query, (key,)).fetchone()
            data = row[0] if row is not None else None
            if isinstance(data, bytes) and _check(data[_CHECK:]) == data[:_CHECK]:
                return data[_CHECK:]
        return None


def encoded_entry(entry: UsageEntry) -> bytes:
    """What was read of a file, as it is kept; empty if that is not possible."""
    try:
        return _checked_data(msgspec.msgpack.encode(entry))
    except (UnicodeEncodeError, OverflowError):  # half a surrogate pair, or a number of 65 bits
        return b""


def decoded_entry(data: bytes) -> UsageEntry:
    """What `encoded_entry` was given."""
    return _ENTRIES.decode(memoryview(data)[_CHECK:])


def _checked_data(data: bytes) -> bytes:
    return _check(data) + data


def _check(data: bytes) -> bytes:
    return crc32(data, _VERSION).to_bytes(_CHECK, "big")
