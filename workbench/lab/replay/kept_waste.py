"""The waste of sessions, kept in the cache folder: to find it, a session has to be read and planned whole."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from hashlib import sha256
from typing import Self

import msgspec

from workbench.config.cache_files import open_cache
from workbench.config.distribution import installed_version, litellm_version
from workbench.config.paths import cache_dir
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.waste.costs import CarriedWaste, WasteReport
from workbench.live.stamps import session_stamp
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.traces.references import split_ref

FILE = "waste.db"
_TABLE = "CREATE TABLE waste (key BLOB PRIMARY KEY, made INTEGER, data BLOB) WITHOUT ROWID"
_MOST = 20_000
"""Sessions that are kept."""


class KeptWaste:
    """The cache. Where nothing can be written, nothing is kept, and that is no error."""

    def __init__(self) -> None:
        self._db = open_cache(cache_dir() / FILE, (_TABLE,))
        self._decoder = msgspec.msgpack.Decoder(tuple[CarriedWaste, ...])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._db is not None:
            old = "SELECT key FROM waste ORDER BY made DESC LIMIT -1 OFFSET ?"
            with suppress(sqlite3.Error):
                self._db.execute(f"DELETE FROM waste WHERE key IN ({old})", (_MOST,))
            self._db.close()

    def session_waste(self, services: Services, ref: str) -> WasteReport:
        """The waste of a session; `ref`: what opens it. Raises WorkbenchError if it cannot be read."""
        key = _key(services, ref)
        found = self._load(key) if key else None
        if found is None:
            found = LabSource(services, Options(), services.source(ref, growing=True)).waste
            if key:
                self._keep(key, found)
        return found

    def _load(self, key: bytes) -> WasteReport | None:
        if self._db is None:
            return None
        with suppress(sqlite3.Error, msgspec.MsgspecError, TypeError):
            row = self._db.execute("SELECT data FROM waste WHERE key = ?", (key,)).fetchone()
            return None if row is None else WasteReport(self._decoder.decode(row[0]))
        return None

    def _keep(self, key: bytes, report: WasteReport) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
                data = msgspec.msgpack.encode(report.items)
                self._db.execute("INSERT OR REPLACE INTO waste VALUES (?, ?, ?)", (key, time.time_ns(), data))


def _key(services: Services, ref: str) -> bytes:
    """Everything that the waste depends on; empty for a session of our own, which may grow at any time."""
    stamp = session_stamp(split_ref(ref)[0])
    if stamp is None:
        return b""
    about = (ref, stamp, installed_version(), litellm_version(), repr(services.settings.models))
    return sha256(repr(about).encode("utf-8", "replace")).digest()
