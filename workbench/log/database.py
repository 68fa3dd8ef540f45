"""The SQLite file: opening, transactions, and errors in one line each."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from workbench.config.database_files import hold_database_file
from workbench.config.writing import make_private_file
from workbench.log import migrations
from workbench.log.errors import RECOVER, StoreError
from workbench.log.pages import PAGE
from workbench.log.replacement import finish_replacement

BUSY_SECONDS: Final = 30
"""How long to wait while another process writes; importing a large file may take several seconds."""

_DURABLE: Final = "PRAGMA synchronous = FULL"  # against power loss, not only crashes
_NOT_TEXT: Final = "Could not decode to UTF-8"
"""How the error of Python's module begins where a text is not UTF-8."""
_CAUSES: Final = {
    "SQLITE_FULL": "the disk is full; nothing was written",
    "SQLITE_NOTADB": f"this is not a Workbench database; if it was one, {RECOVER}",
    "SQLITE_CORRUPT": f"the database is damaged; {RECOVER}",
    "SQLITE_BUSY": f"another process has kept it busy for {BUSY_SECONDS} seconds",
    "SQLITE_READONLY": "no permission to write",
    "SQLITE_PERM": "no permission",
    "SQLITE_CANTOPEN": "the file cannot be opened",
    "SQLITE_IOERR": "the disk failed",
}


class Database:
    """One connection that threads share: a thread holds its lock while it reads or writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        with self.errors_in_words():
            self.read_only = _belongs_to_others(path)
            """Whether this user may read the file but not write it."""
            if not self.read_only:
                finish_replacement(path)
                if path.exists():
                    migrations.check_file(path)  # before its rights are changed
                make_private_file(path)
            migrations.check_file(path)
            self._release = hold_database_file(path)
            try:
                self._db = _connect(path, _how_to_read(path) if self.read_only else "mode=rwc")
            except BaseException:
                self._release()
                raise
            try:
                migrations.check_content(self._db, path)
                if self.read_only:
                    migrations.view_older(self._db)
                else:
                    self._prepare()
            except BaseException:
                self.close()
                raise

    def _prepare(self) -> None:
        """Create the file and its tables."""
        self._db.execute(f"PRAGMA page_size = {PAGE}")  # of a new file
        _use_write_ahead_log(self._db)
        self._db.execute(_DURABLE)
        self._db.execute("PRAGMA foreign_keys = ON")
        migrations.migrate(self._db)

    @contextlib.contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        """Several reads of one consistent state."""
        with self._transaction("BEGIN") as db:
            yield db

    def check_writable(self) -> None:
        """Raise StoreError if the file cannot be written."""
        if self.read_only:
            raise StoreError(f"{self.path} can be read but not written")

    @contextlib.contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all or nothing, and on disk when it ends."""
        self.check_writable()
        with self._transaction("BEGIN IMMEDIATE") as db:
            yield db

    def is_in_transaction(self) -> bool:
        """Whether this thread is in a transaction."""
        with self.lock:
            return self._db.in_transaction

    @contextlib.contextmanager
    def write_lightly(self, patience: float = 0) -> Iterator[sqlite3.Connection]:
        """A transaction that must not delay other work: it survives the end of the program but not a power failure, and
        fails while another process writes for longer than `patience`, in seconds. Not for use in a transaction."""
        with self.lock:
            try:
                with self.errors_in_words():
                    self._db.execute(f"PRAGMA busy_timeout = {round(patience * 1000)}")
                    self._db.execute("PRAGMA synchronous = NORMAL")
                with self.write_transaction() as db:
                    yield db
            finally:
                with self.errors_in_words():
                    self._db.execute(_DURABLE)
                    self._db.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")

    def one_row(self, sql: str, values: tuple[object, ...]) -> Any:
        """A single row, or None. Faster than `read_transaction`, for queries that are made thousands of times."""
        with self.lock:
            try:
                return self._db.execute(sql, values).fetchone()
            except sqlite3.Error as error:
                raise self._in_words(error) from error

    def close(self) -> None:
        """Close the file; closing twice does no harm."""
        with self.lock, self.errors_in_words():
            self._db.close()
            self._release()

    @contextlib.contextmanager
    def errors_in_words(self) -> Iterator[None]:
        """Turn errors of SQLite and of the system into one line that names the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._in_words(error) from error
        except OSError as error:
            raise StoreError(f"{error.filename or self.path}: {error.strerror or error}") from error

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """A transaction around the block; inside another transaction it is a part of that."""
        with self.lock, self.errors_in_words():
            is_inside = self._db.in_transaction
            if is_inside:
                yield self._db
                return
            self._db.execute(begin)
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk has ended it already
                    self._db.execute("ROLLBACK")
                raise

    def _in_words(self, error: sqlite3.Error) -> StoreError:
        """An SQLite error as a message for the user."""
        name = getattr(error, "sqlite_errorname", "")  # errors of the module's own lack it
        cause = next((text for code, text in _CAUSES.items() if name.startswith(code)), str(error))
        if cause.startswith(_NOT_TEXT):
            cause = _CAUSES["SQLITE_CORRUPT"]
        return StoreError(f"{self.path}: {cause}")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    """A connection; `how` is a parameter of SQLite's URI."""
    address = f"{path.absolute().as_uri()}?{how}"
    db = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA temp_store = MEMORY")  # the folder for temporary files may be on the same full disk
    return db


def _belongs_to_others(path: Path) -> bool:
    """Whether the file is read-only, or its folder is, where SQLite puts more files."""
    return path.is_file() and not all(os.access(each, os.W_OK, effective_ids=True) for each in (path, path.parent))


def _how_to_read(path: Path) -> str:
    """SQLite reads a write-ahead log only with its index, which cannot be made here; without a log it needs neither."""
    log, index = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    if index.exists():
        return "mode=ro"
    if log.exists() and log.stat().st_size:
        raise StoreError(f"{path}: its last changes are in {log.name}, which can only be read where one may write")
    return "immutable=1"


def _use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch the file over. If another process is doing the same, SQLite does not wait by itself."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > until:
                raise
            time.sleep(0.01)
