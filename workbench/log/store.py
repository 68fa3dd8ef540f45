"""All sessions, in one SQLite file."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Final, Self

from workbench.config.errors import Refused, WorkbenchError, WrongCall
from workbench.config.folders import WorkFolder
from workbench.config.garbage import collector_paused
from workbench.config.paths import STORE_FILE, data_dir
from workbench.config.values import replace
from workbench.log import drafts, large_texts, rows, search, session_lookup
from workbench.log.codec import decode_event, settle_event
from workbench.log.counts import KeptCounts
from workbench.log.database import Database
from workbench.log.drafts import Draft
from workbench.log.errors import BadEvent, NotFound
from workbench.log.events import Body, Event, Setting, UserMessage
from workbench.log.ids import new_id
from workbench.log.lock import FOLDER, SUFFIX, WriterLock
from workbench.log.search import Hit
from workbench.log.session import Session, SessionInfo

FILE_NAME: Final = STORE_FILE
_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")  # it names a lock file as well
_JOURNAL: Final = "journal "
_PAGE: Final = 1000
"""Events that an export reads at a time: a session may be far larger than memory."""

# `list` is a method of the store, so its annotations cannot say `list`.
Infos = list[SessionInfo]
Hits = list[Hit]
Events = list[Event]
UserMessages = list[UserMessage]


class Store:
    """The sessions of one file. Threads may share it; processes open their own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._locks = database.path.parent / FOLDER
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        self.counts = KeptCounts(database)
        """How many tokens long texts have."""

    @classmethod
    def open(cls, path: Path | None = None) -> Store:
        """Open the file; create it if it is missing."""
        store = cls(Database(data_dir() / FILE_NAME if path is None else path))
        try:
            if not store._database.read_only:
                store._catch_up()
        except BaseException:
            store.close()
            raise
        return store

    def _catch_up(self) -> None:
        """Finish what an older program, or one that was killed, has left undone."""
        with self._database.read_transaction() as db:
            outdated, unfinished = search.index_outdated(db), drafts.sessions_with_drafts(db)
        if outdated:
            with self._database.write_transaction() as db:
                search.empty_index(db)
        for name in unfinished:  # a session that is still written elsewhere keeps its draft
            self.session(name).close()

    def close(self) -> None:
        for session in [*self._sessions]:
            session.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def in_one_transaction(self) -> Iterator[None]:
        """All writes in the block succeed or fail together, and are on disk when it ends.

        If it fails, call `refresh` on the sessions that were appended to.
        """
        with self._database.write_transaction():
            yield

    def recorded(self, journal: str) -> int:
        """How far a proxy's journal has been recorded; 0: not at all."""
        found = self._database.one_row("SELECT value FROM facts WHERE name = ?", (_JOURNAL + journal,))
        return int(found[0]) if found else 0

    def set_recorded(self, journal: str, position: int) -> None:
        """Store how far a journal has been recorded; 0: it is gone."""
        with self._database.write_transaction() as db:
            if position:
                db.execute("INSERT OR REPLACE INTO facts(name, value) VALUES(?, ?)", (_JOURNAL + journal, position))
            else:
                db.execute("DELETE FROM facts WHERE name = ?", (_JOURNAL + journal,))

    def create(
        self,
        bodies: Iterable[Body] = (),
        *,
        title: str = "",
        id: str | None = None,  # noqa: A002 - the word people know it by, as in `Session.id`
        folder: WorkFolder = WorkFolder(),  # noqa: B008 - a frozen value
        unused: bool = False,
        times: Sequence[int] = (),
    ) -> Session:
        """A new session, ours to write; a title becomes its first event.

        `unused`: not listed, and deleted at the next start, unless the user writes in it. `times`: when each of the
        bodies happened, in milliseconds since 1970; 0, or no time for it: now.
        """
        settled = rows.settled_events([Setting("title", title)] if title else [], 1)
        settled += rows.settled_events(bodies, len(settled) + 1, times)
        return self._add(settled, new_id() if id is None else id, folder=folder, unused=unused)

    def create_from(self, events: Sequence[Event], *more: Body) -> Session:
        """A new session that begins with events from elsewhere. They keep ids and times; a missing time is now."""
        now = rows.now_in_ms()
        dated = (event if event.at else replace(event, at=now) for event in events)
        new = (Event(seq, new_id(), now, body) for seq, body in enumerate(more, len(events) + 1))
        with collector_paused():
            return self._add(map(settle_event, chain(dated, new)), new_id())

    def session(self, ref: str, *, write: bool = True) -> Session:
        """A session by its id, by the beginning of its id, or by its title.

        The view becomes its writer. If another process is, this view is read-only and says why.
        """
        found = self._find(ref)
        return self._view(found, self._lock(found.info.id), write)

    def look_at(self, ref: str) -> Session:
        """A session to look at, by id or title as `session` takes it. Others may write it until this view appends."""
        found = self._find(ref)
        return self._view(found, self._lock(found.info.id), write=False, on_demand=True)

    def id_of(self, name: str) -> str | None:
        """The id of the session with exactly this id or title, or of the oldest with the title; None: there is none."""
        with self._database.read_transaction() as db:
            found = session_lookup.session_by_name(db, name)
        return None if found is None else found.info.id

    def info(self, ref: str) -> SessionInfo:
        return self._find(ref).info

    def list(self, limit: int | None = None, query: str = "", folder: str = "") -> Infos:
        """The sessions, the last changed first; `query` is a part of the title or the beginning of the id.

        `folder`: only the sessions of this folder.
        """
        with self._database.read_transaction() as db:
            return session_lookup.query_sessions(db, limit, query, folder)

    def holding(self, text: str, among: int, within: int) -> Infos:
        """Those of the `among` last changed sessions that have the text in the line of one of their first events.

        `within`: how many events are searched.
        """
        with self._database.read_transaction() as db:
            return session_lookup.sessions_holding(db, text, among, within)

    def first_events(self, ids: Sequence[str], text: str = "", within: int = 1) -> dict[str, Event]:
        """The first event of each of these sessions, by the session's id.

        With a text: the first event that has it in its line, of the `within` first.
        """
        with self._database.read_transaction() as db:
            found = session_lookup.first_lines(db, ids, text, within)
        return dict(zip(found, rows.events_of(found.values()), strict=True))

    def events_of_kinds(self, id: str, kinds: Sequence[str]) -> Events:  # noqa: A002 - see `create`
        """The events of these kinds of a session; none if there is no such session. Other events are not read."""
        with self._database.read_transaction() as db:
            lines = session_lookup.lines_of_kinds(db, id, kinds)
        return rows.events_of(lines)

    def drop_unused(self) -> None:
        """Delete the sessions that a killed program left behind without a message."""
        if self._database.read_only:
            return
        with self._database.read_transaction() as db:
            left = session_lookup.unused_sessions(db)
        for name in left:
            with suppress(WorkbenchError):  # still open elsewhere, or deleted meanwhile
                self.delete(name)

    def rename(self, ref: str, title: str) -> None:
        """Give a session another title; that is an event like any other."""
        found = self._find(ref)
        for session in self._sessions:
            if session.id == found.info.id and session.is_writer:
                session.append(Setting("title", title))
                return
        with self._view(found, self._lock(found.info.id)) as session:
            session.append(Setting("title", title))

    def fork(self, ref: str, at_seq: int | None = None) -> Session:
        """A new session that starts as a copy of another up to an event; large texts are shared."""
        key, info = self._find(ref)
        last = info.events if at_seq is None else at_seq
        if not 0 <= last <= info.events:
            raise WrongCall(f"session {info.id} cannot be forked at {last}: expected 0 to {info.events}")
        with self._database.read_transaction() as db:
            lines = rows.stored_lines(db, key, 0, last)
        settled = [*zip(rows.events_of(lines), lines, strict=True)]
        return self._add(settled, new_id(), (info.id, last), WorkFolder(info.folder, info.branch))

    def delete(self, id: str) -> None:  # noqa: A002 - see `create`; a whole id, because it cannot be undone
        """Delete a whole session, with its search rows and the texts that no other session uses."""
        with self._database.read_transaction() as db:
            found = session_lookup.session_by_id(db, id)
        if found is None:
            raise NotFound(f"there is no session '{id}': expected a whole id")
        self._database.check_writable()
        lock = self._lock(id)
        with self._database.errors_in_words():
            if not lock.acquire():
                raise Refused(f"Session {found.info.title or id} is open in {lock.holder()}; close it there first.")
        try:
            with self._database.write_transaction() as db:
                search.remove_session(db, found.key)
                hashes = large_texts.hashes_of_session(db, found.key)
                db.execute("DELETE FROM sessions WHERE key = ?", (found.key,))
                large_texts.drop_unused_texts(db, hashes)
        finally:
            lock.release()

    def search(self, text: str, session: str | None = None, limit: int = 50) -> Hits:
        """Events that hold all the words, the newest first; in one session or in all."""
        key = None if session is None else self._find(session).key
        search.complete_index(self._database)
        with self._database.read_transaction() as db:
            return search.find_events(db, text, key, limit)

    def user_messages(self, folder: str) -> UserMessages:
        """The users' messages in the sessions of a folder, newest first."""
        with self._database.read_transaction() as db:
            return search.user_messages_in(db, folder)

    def import_events(self, lines: Iterable[str], source: str) -> Session:
        """A new session from exported lines, all or nothing; the events keep their ids, numbers and times."""
        try:
            settled = [*_checked(lines, source)]
        except UnicodeDecodeError as error:  # from reading the lines
            raise BadEvent(f"{source}: expected UTF-8 ({error.reason})") from None
        if not settled:
            raise BadEvent(f"{source}: expected at least one event")
        return self._add(settled, new_id())

    def export_events(self, ref: str) -> Iterator[str]:
        """The canonical lines of a session, without newlines."""
        key, info = self._find(ref)
        for after in range(0, info.events, _PAGE):
            with self._database.read_transaction() as db:
                page = rows.stored_lines(db, key, after, min(after + _PAGE, info.events))
            yield from page

    def put_back(self, info: SessionInfo, settled: Sequence[rows.Settled], left: Iterable[Draft]) -> str:
        """Store a session from another store again, with all that was known about it; returns its id."""
        name = info.id if _ID.fullmatch(info.id) else new_id()
        with self._database.write_transaction() as db:
            if session_lookup.session_by_id(db, name) is not None:
                name = new_id()
            key = rows.insert_session(db, name, info.forked_from, WorkFolder(info.folder, info.branch))
            known = (info.title, info.model, info.created, key)
            db.execute("UPDATE sessions SET title = ?, model = ?, created = ? WHERE key = ?", known)
            rows.insert_events(db, key, settled)
            db.execute("UPDATE sessions SET updated = ? WHERE key = ?", (info.updated, key))
            for draft in left:
                drafts.store_draft(db, key, draft)
        return name

    def _add(
        self,
        settled: Iterable[rows.Settled],
        name: str,
        origin: tuple[str, int] | None = None,
        folder: WorkFolder = WorkFolder(),  # noqa: B008 - a frozen value
        *,
        unused: bool = False,
    ) -> Session:
        """Insert a new session. Its lock is taken first, so that nobody else can write it."""
        if not _ID.fullmatch(name):
            raise WrongCall(f"'{name}' cannot be a session's id: expected up to 64 letters, digits, - or _")
        self._database.check_writable()
        taken = WrongCall(f"there is a session {name} already: expected a new id")
        lock = self._lock(name)
        with self._database.errors_in_words():
            if not lock.acquire():
                raise taken
        try:
            with self._database.write_transaction() as db:
                if session_lookup.session_by_id(db, name) is not None:
                    raise taken
                key = rows.insert_session(db, name, origin, folder, unused=unused)
                rows.insert_events(db, key, settled)
                found = session_lookup.session_by_ref(db, name)
        except BaseException:
            lock.release()
            raise
        return self._view(found, lock)

    def _find(self, ref: str) -> session_lookup.StoredSession:
        """The session that a user means."""
        with self._database.read_transaction() as db:
            return session_lookup.session_by_ref(db, ref)

    def _lock(self, name: str) -> WriterLock:
        """The lock of a session, not taken yet."""
        return WriterLock(self._locks / f"{name}{SUFFIX}")

    def _view(
        self, found: session_lookup.StoredSession, lock: WriterLock, write: bool = True, *, on_demand: bool = False
    ) -> Session:
        """A view of a session; it closes with the store."""
        session = Session(self._database, found.key, found.info, lock, write, on_demand=on_demand)
        self._sessions.add(session)
        return session


def _checked(lines: Iterable[str], source: str) -> Iterator[rows.Settled]:
    """The events of a file, one by one. Raises BadEvent with the place."""
    ids: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event, canonical = settle_event(decode_event(line))
            if event.seq != len(ids) + 1:
                raise BadEvent(f"expected `seq` {len(ids) + 1}, found {event.seq}")
            if event.id in ids:
                raise BadEvent(f"expected an `id` of its own, found '{event.id}' again")
        except BadEvent as error:
            raise BadEvent(f"{source}, line {number}: {error}") from None
        ids.add(event.id)
        yield event, canonical
