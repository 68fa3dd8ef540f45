"""One session: its events, and the right to append to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, Self

from workbench.config.folders import WorkFolder, shown_folder
from workbench.config.text import printable
from workbench.log import drafts, large_texts, rows
from workbench.log.database import Database
from workbench.log.drafts import Draft
from workbench.log.errors import NotFound, ReadOnly, StoreError, expect
from workbench.log.events import Body, Event
from workbench.log.lock import WriterLock


class SessionInfo(NamedTuple):
    """A session as it is listed."""

    id: str
    title: str
    created: int
    """When it was put into this store, in milliseconds since 1970."""
    updated: int
    """The last append, in milliseconds since 1970."""
    events: int
    model: str
    forked_from: tuple[str, int] | None
    """The session it was forked from, and the last event that both have."""
    folder: str = ""
    """Where it was begun; empty for a session made from a file, until the user writes in it."""
    branch: str = ""
    """The branch of that folder at the user's last message."""

    @property
    def place(self) -> str:
        """Folder and branch, as `~/proj (main)`."""
        return printable(shown_folder(self.folder) + (f" ({self.branch})" if self.branch else ""))


class Session:
    """A view of one session up to the last event it has seen.

    What another process appends becomes visible with `refresh`, all at once, so that events never change under a
    reader. Threads may share a session.
    """

    def __init__(
        self, database: Database, key: int, info: SessionInfo, lock: WriterLock, write: bool, *, on_demand: bool = False
    ) -> None:
        """`write`: become the writer now, if nobody else is. `on_demand`: become it with the first `append`."""
        self.id = info.id
        self.title = info.title
        self.model = info.model
        self.forked_from = info.forked_from
        self.folder = info.folder
        self._why_not = f"Session {info.title or info.id} was opened for reading only."
        self._on_demand = on_demand
        self._database = database
        self._key = key
        self._lock = lock
        self._seen = info.events
        self._drafted = ""
        """The reply that has a draft."""
        if write and self.take_over():
            with database.read_transaction() as db:  # the previous writer may have appended since the info was read
                self._update_view(db)

    @property
    def is_writer(self) -> bool:
        """Whether this view keeps all others from writing."""
        return self._lock.held

    @property
    def writable(self) -> bool:
        """Whether this view may append: it is the writer, or it becomes it on demand and nobody else is."""
        return self.is_writer or (self._on_demand and not self.why_read_only)

    @property
    def why_read_only(self) -> str:
        """Why this view may not append; empty if it may."""
        if self.is_writer:
            return ""
        return self._obstacle() if self._on_demand else self._why_not

    @property
    def is_written(self) -> bool:
        """Whether anyone may append now, this view or another, in any process."""
        with self._database.errors_in_words():
            return self._lock.is_locked()

    def append(self, *bodies: Body, times: Sequence[int] = ()) -> tuple[Event, ...]:
        """Append events to the log, all or none; they are on disk when this returns. `times`: as in `Store.create`."""
        if not self.is_writer and not (self._on_demand and self.take_over()):
            raise ReadOnly(self._why_not)
        if not bodies:
            return ()
        over = bool(self._drafted) and any(getattr(body, "reply", "") == self._drafted for body in bodies)
        with self._database.lock:
            with self._database.write_transaction() as db:
                count, events = self._insert(db, bodies, times)
                if over:
                    drafts.drop_drafts(db, self._key)
            if over:
                self._drafted = ""
            if count == self._seen:  # otherwise `refresh` must first show what comes before
                self._seen += len(events)
                self._label(events)
        return events

    def used_in(self, folder: WorkFolder) -> None:
        """The user writes here. A session without a folder belongs to this one from now on."""
        path, branch = folder.storable
        self.folder = self.folder or path
        with self._database.write_transaction() as db:
            db.execute(
                "UPDATE sessions SET folder = ?, branch = ?, unused = 0 WHERE key = ?",
                (self.folder, branch, self._key),
            )

    def keep_draft(self, draft: Draft) -> bool:
        """Store what came of a reply until the whole reply is appended; returns whether that was possible."""
        try:
            with self._database.write_lightly() as db:
                drafts.store_draft(db, self._key, draft)
        except StoreError:
            return False  # the reply goes on without it
        self._drafted = draft.reply
        return True

    def events(self, after: int = 0, upto: int | None = None) -> list[Event]:
        """The events after one sequence number up to another (inclusive), as far as this view has seen."""
        with self._database.lock:
            last = self._seen if upto is None else min(upto, self._seen)
            first = max(after, 0)
            if first >= last:
                return []
            with self._database.read_transaction() as db:
                lines = rows.stored_lines(db, self._key, first, last)
        return rows.events_of(lines)

    def last(self, n: int) -> list[Event]:
        """The last `n` events."""
        return self.events(after=self._seen - n) if n > 0 else []

    def event(self, seq_or_id: int | str) -> Event:
        """One event, by its sequence number or its id."""
        if isinstance(seq_or_id, int):
            if not 0 < seq_or_id <= self._seen:
                raise NotFound(f"session {self.id} has no event {seq_or_id}: expected 1 to {self._seen}")
            return self.events(seq_or_id - 1, seq_or_id)[0]
        with self._database.read_transaction() as db:
            found = db.execute(
                "SELECT data FROM events WHERE session = ? AND id = ?", (self._key, seq_or_id)
            ).fetchone()
            if found is None:
                raise NotFound(f"session {self.id} has no event '{seq_or_id}'")
            expect(found, str)
            line = large_texts.restore_line(db, found[0])
        return rows.events_of([line])[0]

    def __len__(self) -> int:
        """How many events this view has seen."""
        return self._seen

    def __bool__(self) -> bool:
        """True, also for an empty session."""
        return True

    def refresh(self) -> list[Event]:
        """The events that were appended elsewhere since the last refresh."""
        with self._database.lock:
            seen = self._seen
            with self._database.read_transaction() as db:
                self._update_view(db)
                lines = rows.stored_lines(db, self._key, seen, self._seen)
        return rows.events_of(lines)

    def take_over(self) -> bool:
        """Become the writer if nobody else is. Call `refresh` then: the previous writer may have appended."""
        if self._database.read_only:
            self._why_not = self._obstacle()
            return False
        try:
            if self._lock.acquire():
                self._finish_draft()
                return True
        except OSError as error:
            self._why_not = self._cannot_lock(error)
            return False
        self._why_not = self._held_elsewhere()
        return False

    def let_others_write(self) -> None:
        """Stop being the writer. A view that becomes it on demand can do so again."""
        self._lock.release()

    def finish_left_draft(self) -> None:
        """Append the draft that a killed writer left, if there is one and nobody writes; `refresh` shows it."""
        with self._database.read_transaction() as db:
            left = drafts.draft_events(db, self._key)
        if left and not self.is_writer and self.take_over():
            self.let_others_write()

    def close(self) -> None:
        """Give up the right to write; reading works as long as the store is open."""
        if self.is_writer or self._on_demand:
            self._on_demand = False
            self._lock.release()
            self._why_not = f"Session {self.title or self.id} was closed."

    def _obstacle(self) -> str:
        """What keeps this view from becoming the writer; empty: nothing does. Takes no lock."""
        if self._database.read_only:
            return f"{self._name} is read-only: {self._database.path} can be read but not written."
        try:
            return self._held_elsewhere() if self._lock.is_locked() else ""
        except OSError as error:
            return self._cannot_lock(error)

    def _cannot_lock(self, error: OSError) -> str:
        return f"{self._name} is read-only: {self._lock.path}: {error.strerror}."

    def _held_elsewhere(self) -> str:
        return f"{self._name} is open in {self._lock.holder()}; it is read-only for all others until that one ends."

    @property
    def _name(self) -> str:
        return f"Session {self.title or self.id}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _finish_draft(self) -> None:
        """Append the draft that a killed writer left to the log; `refresh` shows it."""
        with suppress(StoreError):  # a full disk is no reason not to read
            with self._database.read_transaction() as db:
                left = drafts.draft_events(db, self._key)
            if left:
                with self._database.write_transaction() as db:
                    self._insert(db, left)
                    drafts.drop_drafts(db, self._key)

    def _insert(
        self, db: sqlite3.Connection, bodies: Sequence[Body], times: Sequence[int] = ()
    ) -> tuple[int, tuple[Event, ...]]:
        """Write bodies as events; returns how many events came before, and the new ones."""
        count, _, _ = self._row(db)
        settled = rows.settled_events(bodies, count + 1, times)
        rows.insert_events(db, self._key, settled)
        return count, tuple(event for event, _ in settled)

    def _update_view(self, db: sqlite3.Connection) -> None:
        """Update this view to the state of the store."""
        self._seen, self.title, self.model = self._row(db)

    def _row(self, db: sqlite3.Connection) -> tuple[int, str, str]:
        """The last sequence number, title and model, as stored."""
        row: tuple[int, str, str] | None = db.execute(
            "SELECT events, title, model FROM sessions WHERE key = ?", (self._key,)
        ).fetchone()
        if row is None:
            raise NotFound(f"session {self.id} was deleted meanwhile")
        expect(row, int, str, str)
        return row

    def _label(self, events: tuple[Event, ...]) -> None:
        """Take title and model from our own events."""
        found = rows.labels_in(events)
        self.title = found.get("title", self.title)
        self.model = found.get("model", self.model)
