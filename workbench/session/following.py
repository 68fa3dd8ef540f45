"""Following a file that another agent writes: when to look at it, and when to read it again.

A file is read as a whole, in the background, and never for more than a fifth of the time: what takes 50 ms to read is
read at most four times a second, what takes two seconds every ten.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Generic, NamedTuple, TypeVar

from workbench.config.errors import WorkbenchError
from workbench.config.folders import work_folder
from workbench.live.processes import running_agents, running_paths, with_process_folders
from workbench.live.stamps import FileStamp, session_stamp
from workbench.log.store import Store
from workbench.sources.services import Services
from workbench.traces.references import split_ref
from workbench.views.values import FOLLOWING

T = TypeVar("T")

LOOK = 0.2
"""Seconds between two looks at a file."""
SHARE = 0.2
"""Of the time, what reading may take."""
REPLACED = "file replaced, read anew"
GONE = "file gone, waiting for it"
UNREADABLE = "cannot be read now"


class ReadPace:
    """When a file is read again. Times are seconds of one clock."""

    def __init__(self) -> None:
        self.stamp: FileStamp | None = None
        """Of what was read last; None: nothing was."""
        self._rested = 0.0

    def is_due(self, stamp: FileStamp, now: float) -> bool:
        """Whether there is something new to read, and time for it."""
        return stamp != self.stamp and now >= self._rested

    def was_read(self, stamp: FileStamp | None, began: float, ended: float) -> None:
        """`stamp`: from before it was read, so that what came meanwhile is new; None: it could not be read."""
        self.stamp = stamp
        self._rested = ended + (ended - began) * (1 / SHARE - 1)


class LookResult(NamedTuple, Generic[T]):
    """What became of a file since the last look."""

    sign: str
    """In a few words."""
    read: T | None
    """What was read; None where nothing changed, or it cannot be read."""


class Follower:
    """One file or session, looked at by one thread at a time."""

    def __init__(self, stamp: Callable[[], FileStamp | None], clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._stamp = stamp
        self._pace = ReadPace()
        self._last: FileStamp | None = None
        self._sign = FOLLOWING

    def forget(self) -> None:
        """What was read last was not taken: it is read again."""
        self._pace.stamp = None

    def look(self, read: Callable[[], T]) -> LookResult[T]:
        """Read the file where it changed and there is time for it."""
        stamp, began = self._stamp(), self._clock()
        if stamp is None:
            self.forget()
            self._sign = GONE
        elif self._pace.is_due(stamp, began):
            return self._read(read, stamp, began)
        return LookResult(self._sign, None)

    def _read(self, read: Callable[[], T], stamp: FileStamp, began: float) -> LookResult[T]:
        try:
            found = read()
        except WorkbenchError:  # it may just be written; what was read before stays until it can be
            self._pace.was_read(None, began, self._clock())
            self._sign = UNREADABLE
            return LookResult(self._sign, None)
        self._pace.was_read(stamp, began, self._clock())
        self._sign = REPLACED if self._last is not None and is_replaced(self._last, stamp) else FOLLOWING
        self._last = stamp
        return LookResult(self._sign, found)


def follow_file(ref: str, clock: Callable[[], float] = monotonic) -> Follower:
    """Of a file, or a conversation of it; what its sub-agents write beside it is new as well."""
    path = os.path.expanduser(split_ref(ref)[0])
    return Follower(partial(session_stamp, path), clock)


def follow_session(store: Store, ref: str) -> Follower:
    """Of a session of the store that another process writes."""

    def stamp() -> FileStamp | None:
        try:
            found = store.info(ref)
        except WorkbenchError:
            return None
        return FileStamp(0, found.events, found.updated)

    return Follower(stamp)


def is_replaced(before: FileStamp, after: FileStamp) -> bool:
    """Whether a file was put in the place of another, or cut: one that grows does neither."""
    return before.inode != after.inode or after.size < before.size


def is_running(services: Services, ref: str) -> bool:
    """Whether another agent is at work on what was opened by this reference."""
    processes = running_agents()
    sessions = with_process_folders(services.agents.find_sessions(work_folder().path), processes)
    running = running_paths(sessions, processes)
    return any(each.path in running and ref in (each.ref, each.path) for each in sessions)
