"""The queue of updates: values come from the session's thread and reach the screen at most twenty times a second.

Of one value only the latest is shown; values that belong together are put there together and shown together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from workbench.config.errors import WorkbenchError
from workbench.session.compaction_values import CompactionView
from workbench.session.context_view import ContextView
from workbench.session.fault_reports import UNEXPECTED, FaultReports
from workbench.session.values import Activity, DraftCost, Live, Status, Transcript, UserQuestion, Welcome

INTERVAL = 0.05
"""Seconds between two updates of the screen; a person reads no faster."""


class Notice(NamedTuple):
    """Something to tell in the corner of the screen."""

    text: str
    severity: Literal["information", "warning", "error"] = "information"
    title: str = ""


class SessionUpdate(TypedDict, total=False):
    """The values of the main screen, by their names there."""

    title: str
    folder: str
    """As `~/proj`."""
    branch: str
    transcript: Transcript
    live: Live | None
    activity: Activity
    question: UserQuestion | None
    queue: tuple[str, ...]
    draft_cost: DraftCost
    read_only: str
    refusal: str
    shown: ContextView | None
    status: Status
    fatal: WorkbenchError
    """What there was to open cannot be: the program ends with it."""
    compaction: CompactionView
    welcome: Welcome | None
    following: str
    """What is known of the file that is followed, in a few words; empty: none is."""


Show = Callable[[Mapping[str, Any], tuple[Notice, ...]], None]
"""Gets the values that changed and what is to be told; called in the screen's thread."""


class UpdateQueue:
    """Between the session's thread and the screen's."""

    def __init__(self, show: Show, loop: asyncio.AbstractEventLoop, shown: Callable[[], None] | None = None) -> None:
        """`loop`: the screen's. `shown` is called there after each update, and after each `poke`."""
        self._show = show
        self._shown = shown
        self._loop = loop
        self._lock = Lock()
        self._faults = FaultReports()
        self._changes: dict[str, Any] = {}
        self._notices: list[Notice] = []
        self._due = False
        self._last = float("-inf")

    def put(self, **changes: Unpack[SessionUpdate]) -> None:
        """Values that are shown soon, together."""
        with self._lock:
            self._changes.update(changes)
            self._wake()

    def tell(self, notice: Notice) -> None:
        """Every notice is told, and in order."""
        with self._lock:
            self._notices.append(notice)
            self._wake()

    def failed(self, error: Exception) -> None:
        """What nobody expected is told too, with a report for whoever mends it."""
        if said := self._faults.report(error):
            self.tell(Notice(said, "error", UNEXPECTED))

    def poke(self) -> None:
        """Nothing to show has changed, but whoever waits for the end of something may look again."""
        with self._lock:
            self._wake()

    @property
    def is_clear(self) -> bool:
        """Whether the screen has everything."""
        with self._lock:
            return not self._due

    def _wake(self) -> None:
        if not self._due:
            self._due = True
            try:
                self._loop.call_soon_threadsafe(self._soon)
            except RuntimeError:  # the screen is gone, and with it whoever would look
                self._due = False

    def _soon(self) -> None:
        wait = self._last + INTERVAL - self._loop.time()
        if wait > 0:
            self._loop.call_later(wait, self._flush)
        else:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            changes, notices = self._changes, tuple(self._notices)
            self._changes, self._notices = {}, []
            self._due = False
        if changes or notices:
            self._last = self._loop.time()
            self._show(changes, notices)
        if self._shown is not None:
            self._shown()
