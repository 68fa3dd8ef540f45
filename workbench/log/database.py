"""The SQLite file: opening it, transactions, and its errors in one line each."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from workbench.log import migrations
from workbench.log.errors import StoreError

BUSY_SECONDS: Final = 30
"""How long to wait while another process writes; an import of a large file may take several seconds."""

_CAUSES: Final = {
    "SQLITE_FULL": "the disk is full; nothing was written",
    "SQLITE_NOTADB": "this is not a Workbench database",
    "SQLITE_CORRUPT": "the database is damaged",
    "SQLITE_BUSY": f"another process has kept it busy for {BUSY_SECONDS} seconds",
    "SQLITE_READONLY": "no permission to write",
    "SQLITE_PERM": "no permission",
    "SQLITE_CANTOPEN": "the file cannot be opened",
    "SQLITE_IOERR": "the disk failed",
}


class Database:
    """One connection that threads share: whoever reads or writes holds its lock meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        with self.told():
            _make_private(path)
            migrations.check_file(path)
            self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            try:
                migrations.check_content(self._db, path)
                _use_write_ahead_log(self._db)
                self._db.execute("PRAGMA synchronous = FULL")  # durable against power loss, not only crashes
                self._db.execute("PRAGMA foreign_keys = ON")
                migrations.migrate(self._db)
            except BaseException:
                self._db.close()
                raise

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Several reads of one state."""
        with self._transaction("BEGIN") as db:
            yield db

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and on disk when it is over."""
        with self._transaction("BEGIN IMMEDIATE") as db:
            yield db

    def one(self, sql: str, values: tuple[object, ...]) -> Any:
        """A single row, or None. Quicker than `read`, for what is asked thousands of times."""
        with self.lock:
            try:
                return self._db.execute(sql, values).fetchone()
            except sqlite3.Error as error:
                raise self._in_words(error) from error

    def close(self) -> None:
        """Close the file; closing twice does no harm."""
        with self.lock, self.told():
            self._db.close()

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Errors of SQLite and of the system as one line that names the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._in_words(error) from error
        except OSError as error:
            raise StoreError(f"{error.filename or self.path}: {error.strerror or error}") from error

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """A transaction that ends with the block, one way or the other."""
        with self.lock, self.told():
            self._db.execute(begin)
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # a full disk ends it by itself
                    self._db.execute("ROLLBACK")
                raise

    def _in_words(self, error: sqlite3.Error) -> StoreError:
        """An error of SQLite for the user."""
        name = getattr(error, "sqlite_errorname", "")  # misuse of the module has none
        cause = next((text for code, text in _CAUSES.items() if name.startswith(code)), str(error))
        return StoreError(f"{self.path}: {cause}")


def _use_write_ahead_log(db: sqlite3.Connection) -> None:
    """Switch the file over. Where another process is just doing so SQLite does not wait by itself."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _make_private(path: Path) -> None:
    """Make folder and file where they are missing, and keep others out. SQLite's side files follow suit."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
