"""Following a file that another agent writes: when to check it, and when to read it again.

A file is read as a whole, in the background, and for at most a fifth of the time: a file that takes 50 ms is read at
most four times a second, one that takes two seconds every ten seconds.
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

CHECK_SECONDS = 0.2
"""Seconds between two checks of a file."""
SHARE = 0.2
"""The share of the time that reading may take."""
REPLACED = "file replaced, read again"
GONE = "file gone, waiting for it"
UNREADABLE = "cannot be read now"


class ReadPace:
    """Decides when a file is read again. Times are seconds of one clock."""

    def __init__(self) -> None:
        self.stamp: FileStamp | None = None
        """The stamp of the file at the last read; None: it is to be read again."""
        self._rested = 0.0

    def is_due(self, stamp: FileStamp, now: float) -> bool:
        """Whether the file has changed and the pause after the last read is over."""
        return stamp != self.stamp and now >= self._rested

    def was_read(self, stamp: FileStamp | None, began: float, ended: float) -> None:
        """Note a read. `stamp`: taken before it, so that later changes count as new; None: the read failed."""
        self.stamp = stamp
        self._rested = ended + (ended - began) * (1 / SHARE - 1)


class FollowedRead(NamedTuple, Generic[T]):
    """The result of one check of a file."""

    sign: str
    """The state of the file, in a few words."""
    read: T | None
    """The new contents; None if nothing has changed or the file cannot be read."""


class Follower:
    """Follows one file or session. Used by one thread at a time."""

    def __init__(self, stamp: Callable[[], FileStamp | None], clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._stamp = stamp
        self._pace = ReadPace()
        self._last: FileStamp | None = None
        self._sign = FOLLOWING

    def has_read(self, stamp: FileStamp) -> None:
        """Note that its contents are known already."""
        self._pace.stamp = self._last = stamp

    def forget(self) -> None:
        """Read the file again at the next check, because the last contents were not used."""
        self._pace.stamp = None

    def read_if_changed(self, read: Callable[[], T]) -> FollowedRead[T]:
        """Check the file, and read it if it has changed and the pause is over."""
        stamp, began = self._stamp(), self._clock()
        if stamp is None:
            self.forget()
            self._sign = GONE
        elif self._pace.is_due(stamp, began):
            return self._read(read, stamp, began)
        return FollowedRead(self._sign, None)

    def _read(self, read: Callable[[], T], stamp: FileStamp, began: float) -> FollowedRead[T]:
        try:
            found = read()
        except WorkbenchError:  # the agent may be writing it; the old contents stay until it can be read
            self._pace.was_read(None, began, self._clock())
            self._sign = UNREADABLE
            return FollowedRead(self._sign, None)
        self._pace.was_read(stamp, began, self._clock())
        self._sign = REPLACED if self._last is not None and is_replaced(self._last, stamp) else FOLLOWING
        self._last = stamp
        return FollowedRead(self._sign, found)


def follow_file(ref: str, clock: Callable[[], float] = monotonic) -> Follower:
    """Follow a file, or one conversation in it. Files of its sub-agents next to it count as changes too."""
    path = os.path.expanduser(split_ref(ref)[0])
    return Follower(partial(session_stamp, path), clock)


def follow_session(store: Store, ref: str, known: int | None = None) -> Follower:
    """Follow a session of the store that another process writes. `known`: how many of its events were read already."""

    def stamp() -> FileStamp | None:
        try:
            found = store.info(ref)
        except WorkbenchError:
            return None
        return FileStamp(0, found.events, found.updated)

    made, now = Follower(stamp), stamp()
    if now is not None and now.size == known:
        made.has_read(now)
    return made


def is_replaced(before: FileStamp, after: FileStamp) -> bool:
    """Whether a file was replaced by another or cut, and did not only grow."""
    return before.inode != after.inode or after.size < before.size


def is_running(services: Services, ref: str) -> bool:
    """Whether another agent is running the session that this reference opens."""
    processes = running_agents()
    sessions = with_process_folders(services.agents.find_sessions(work_folder().path), processes)
    running = running_paths(sessions, processes)
    return any(each.path in running and ref in (each.ref, each.path) for each in sessions)
