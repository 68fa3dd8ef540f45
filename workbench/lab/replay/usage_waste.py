"""The waste of all sessions whose use is shown. It is kept in the cache folder: to find it, a session has to be read
and planned whole."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple, Self

import msgspec

from workbench.config.cache_files import open_cache
from workbench.config.distribution import installed_version, litellm_version
from workbench.config.errors import WorkbenchError
from workbench.config.paths import cache_dir
from workbench.config.text import counted
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.waste.costs import CarriedWaste, WasteReport
from workbench.lab.waste.output import in_dollars, merge_waste, waste_json, waste_lines
from workbench.live.stamps import session_stamp
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.traces.references import split_ref
from workbench.usage.usage_figures import UNKNOWN

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


class UsageWaste(NamedTuple):
    """The waste of each session by its id, and how many could not be read."""

    reports: Mapping[str, WasteReport]
    unread: int

    def waste_cells(self, session: str) -> tuple[str, str]:
        """The columns of a session: the tokens that its requests carried as waste, and their cost."""
        report = self.reports.get(session)
        if report is None:
            return UNKNOWN, UNKNOWN
        return f"{report.total.carried:,}", in_dollars(report.total.cost) or UNKNOWN

    def row_json(self, session: str) -> dict[str, Any]:
        """The same for programs."""
        report = self.reports.get(session)
        carried, cost = (None, None) if report is None else (report.total.carried, report.total.cost)
        return {"waste": carried, "waste_cost": None if cost is None else round(cost, 6)}

    def total_json(self) -> dict[str, Any]:
        """The sums of all of them, by kind and by tool."""
        about = {"sessions": len(self.reports), "unread": self.unread}
        return about | waste_json(merge_waste([*self.reports.values()]), items=False)

    def total_lines(self, width: int) -> list[str]:
        """The sums in a few lines."""
        found = waste_lines(merge_waste([*self.reports.values()]), width) or ["waste: none found"]
        whole = f"       in {counted(len(self.reports), 'session')}, each as a whole; `workbench waste SOURCE` lists it"
        missing = [f"       without {counted(self.unread, 'session')} that cannot be read"] if self.unread else []
        return [*found, whole, *missing]


def usage_waste(
    services: Services, refs: Mapping[str, str], begin: Callable[[int], None] = lambda _: None
) -> UsageWaste:
    """Find the waste of sessions; `refs`: what opens each. `begin` is called with the number of each, before it."""
    reports: dict[str, WasteReport] = {}
    with KeptWaste() as kept:
        for at, (session, ref) in enumerate(refs.items(), 1):
            begin(at)
            try:
                reports[session] = kept.session_waste(services, ref)
            except (WorkbenchError, OSError, RecursionError):
                continue
    return UsageWaste(reports, len(refs) - len(reports))
