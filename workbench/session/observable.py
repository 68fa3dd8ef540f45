"""The session as one observable value.

`ObservableSession.state` is everything that can be shown of a session, including the request on the screen. Panes
observe this value and get a session's values in no other way (`tui/observing.py` is the screen's side). The session's
thread puts changes. Observers are called in the screen's loop, at most twenty times a second, with the state before and
the state after. Changes that were put together arrive together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import Literal, NamedTuple, TypedDict, Unpack

from msgspec import Struct

from workbench.config.errors import WorkbenchError
from workbench.config.values import replace
from workbench.session.fault_reports import UNEXPECTED, FaultReports
from workbench.views.alerts import AlertFigures
from workbench.views.compaction_values import CompactionView
from workbench.views.context_view import ContextView
from workbench.views.transcript import NOTHING
from workbench.views.values import (
    Activity,
    DraftCost,
    LiveAnswer,
    Status,
    Transcript,
    UserQuestion,
    WatchedSession,
    Welcome,
)

INTERVAL = 0.05
"""Seconds between two updates of the screen; a person reads no faster."""
LOADING, NO_DRAFT, NOT_READY = Activity("loading"), DraftCost(), Status(ready="loading")


class Notice(NamedTuple):
    """A message for the corner of the screen. It is shown once and is not part of the state."""

    text: str
    severity: Literal["information", "warning", "error"] = "information"
    title: str = ""


class SessionState(Struct, frozen=True):
    """Everything that can be observed of a session, at one moment. The defaults apply until a session is open."""

    title: str = ""
    opened: str = ""
    """What is open: the id of a session, or the reference of a file. Empty while it is still being read."""
    folder: str = ""
    """In the form `~/proj`."""
    branch: str = ""
    """The branch that is checked out in the folder."""
    transcript: Transcript = NOTHING
    live: LiveAnswer | None = None
    """The answer that is being received."""
    activity: Activity = LOADING
    question: UserQuestion | None = None
    queue: tuple[str, ...] = ()
    """Messages that wait until the model is done."""
    draft_cost: DraftCost = NO_DRAFT
    read_only: str = ""
    """Why nothing can be changed."""
    refusal: str = ""
    """Why no message can be sent. A file is read-only, but a message makes a session from it."""
    shown: ContextView | None = None
    """The context on the screen: `shown.at` is a past request, or None for the present."""
    compaction: CompactionView | None = None
    status: Status = NOT_READY
    welcome: Welcome | None = None
    """What an empty chat shows instead of a conversation."""
    following: str = ""
    """The state of the followed file, in a few words; empty: no file is followed."""
    watched: WatchedSession | None = None
    """Set while the active session of the folder is followed, whichever that is."""
    alert_figures: AlertFigures | None = None
    """What the bell and notifications are about."""
    fatal: WorkbenchError | None = None
    """Why nothing could be opened. The program ends with this error."""

    @property
    def unlogged(self) -> LiveAnswer | None:
        """The part of the answer that is not in the log yet. A running call is in the log."""
        if self.live is None:
            return None
        writing = tuple(call for call in self.live.calls if call.state == "writing")
        return self.live._replace(calls=writing) if self.live.text or self.live.reasoning or writing else None


class SessionChanges(TypedDict, total=False):
    """The fields of `SessionState`, any of which can be put."""

    title: str
    opened: str
    folder: str
    branch: str
    transcript: Transcript
    live: LiveAnswer | None
    activity: Activity
    question: UserQuestion | None
    queue: tuple[str, ...]
    draft_cost: DraftCost
    read_only: str
    refusal: str
    shown: ContextView | None
    compaction: CompactionView | None
    status: Status
    welcome: Welcome | None
    following: str
    watched: WatchedSession | None
    alert_figures: AlertFigures | None
    fatal: WorkbenchError | None


Observer = Callable[[SessionState, SessionState], None]
"""Gets the state before and the state after a change; called in the screen's loop."""
Unsubscribe = Callable[[], None]


class ObservableSession:
    """The state of a session, and its observers."""

    def __init__(self, loop: asyncio.AbstractEventLoop, updated: Callable[[], None] | None = None) -> None:
        """`loop`: the screen's loop. `updated` is called in it after the observers, and after each `call_updated`."""
        self.state = SessionState()
        """The state that observers show. Read it in the screen's loop."""
        self._observers: dict[object, Observer] = {}
        self._listeners: list[Callable[[Notice], None]] = []
        self._unsent_listeners: list[Callable[[str], None]] = []
        self._updated = updated
        self._screen_loop = loop
        self._lock = Lock()
        self._faults = FaultReports()
        self._changes: SessionChanges = {}
        self._notices: list[Notice] = []
        self._unsent: list[str] = []
        self._due = False
        self._last = float("-inf")

    # For panes, in the screen's loop

    def observe(self, observer: Observer) -> Unsubscribe:
        """Call an observer with each change. Call the result to stop that. Observers are called in order."""
        key = object()
        self._observers[key] = observer

        def unsubscribe() -> None:
            self._observers.pop(key, None)

        return unsubscribe

    def listen(self, listener: Callable[[Notice], None]) -> None:
        """Call a listener with each notice from now on."""
        self._listeners.append(listener)

    def listen_for_unsent(self, listener: Callable[[str], None]) -> None:
        """Call a listener with each message that was not sent, which belongs into the composer again."""
        self._unsent_listeners.append(listener)

    # For the session, in any thread

    def change_state(self, **changes: Unpack[SessionChanges]) -> None:
        """Change the state. Observers are called soon, once for all changes of this call."""
        with self._lock:
            self._changes.update(changes)
            self._wake()

    def show_notice(self, notice: Notice) -> None:
        """Show a notice. Every notice is shown, in order."""
        with self._lock:
            self._notices.append(notice)
            self._wake()

    def give_back(self, text: str) -> None:
        """Put a message that was not sent back into the composer."""
        with self._lock:
            self._unsent.append(text)
            self._wake()

    def failed(self, error: Exception) -> None:
        """Show an error. An unexpected one also gets a report; a `WorkbenchError` needs none."""
        if isinstance(error, WorkbenchError):
            self.show_notice(Notice(str(error), "error"))
        elif reported := self._faults.report(error):
            self.show_notice(Notice(reported, "error", UNEXPECTED))

    def call_updated(self) -> None:
        """Call `updated` without a change, so that callers that wait for the end of something check again."""
        with self._lock:
            self._wake()

    @property
    def is_clear(self) -> bool:
        """Whether the observers have received every change."""
        with self._lock:
            return not self._due

    def _wake(self) -> None:
        if not self._due:
            self._due = True
            try:
                self._screen_loop.call_soon_threadsafe(self._soon)
            except RuntimeError:  # the screen's loop is closed
                self._due = False

    def _soon(self) -> None:
        wait = self._last + INTERVAL - self._screen_loop.time()
        if wait > 0:
            self._screen_loop.call_later(wait, self._flush)
        else:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            changes, notices, unsent = self._changes, self._notices, self._unsent
            self._changes, self._notices, self._unsent = {}, [], []
            self._due = False
        if changes or notices or unsent:
            self._last = self._screen_loop.time()
        if changes:
            before, self.state = self.state, replace(self.state, **changes)
            self._notify(before, self.state)
        for notice in notices:
            for listener in self._listeners:
                listener(notice)
        for text in unsent:
            for give in self._unsent_listeners:
                give(text)
        if self._updated is not None:
            self._updated()

    def _notify(self, before: SessionState, after: SessionState) -> None:
        """Call the observers. One may unsubscribe another, and an error in one does not stop the others."""
        for key, observer in list(self._observers.items()):
            if key in self._observers:
                try:
                    observer(before, after)
                except Exception as error:
                    self.failed(error)
