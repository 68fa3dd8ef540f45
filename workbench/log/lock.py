"""One writer per session: a lock file that the system releases when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from workbench.config.system import lock_file, open_to_lock
from workbench.config.writing import make_private_folder

FOLDER, SUFFIX = "locks", ".lock"
"""The folder of the locks, next to the store, and how their names end."""
_PAUSE = 0.01
"""Seconds between two attempts to lock a folder or a session."""
_ATTEMPTS = 3
"""How often the lock of a session is tried: a process that checks whether it is locked has it for a moment."""


@contextmanager
def locked_folder(folder: Path, seconds: float) -> Iterator[None]:
    """Exclude others who lock the same folder. Leaves no file in it. Raises TimeoutError after `seconds`."""
    deadline = time.monotonic() + seconds
    file = open_to_lock(folder)
    try:
        while not lock_file(file):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{folder}: still locked after {seconds:g} s")
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(file)


def locked_names(folder: Path) -> dict[str, int]:
    """The sessions that are being written, by the locks in a folder, and the process that writes each; 0: unknown."""
    locks = [WriterLock(path) for path in folder.glob(f"*{SUFFIX}")]
    return {lock.path.name.removesuffix(SUFFIX): lock.writer() for lock in locks if lock.is_locked()}


class WriterLock:
    """The right to append to one session. Two locks on one path exclude each other, also in one process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._let_go: weakref.finalize[[int, Path, int], WriterLock] | None = None

    @property
    def held(self) -> bool:
        """Whether this object has the lock."""
        return self._let_go is not None and self._let_go.alive

    def acquire(self) -> bool:
        """Take the lock if it is free. Raises OSError where no lock is possible at all."""
        attempts = _ATTEMPTS
        while not self.held:
            file = self._open()
            if file is None:
                attempts -= 1
                if not attempts:
                    return False
                time.sleep(_PAUSE)
            elif _same(file, self.path):
                os.ftruncate(file, 0)
                os.write(file, f"{os.getpid()} {time.time():.0f}\n".encode())
                self._let_go = weakref.finalize(self, _let_go, file, self.path, os.getpid())
            else:  # the previous holder removed the file between our opening and our locking
                os.close(file)
        return True

    def is_locked(self) -> bool:
        """Whether anyone has the lock now, this object or another."""
        try:
            file = os.open(self.path, os.O_RDONLY)
        except (FileNotFoundError, PermissionError):  # another user's private file
            return False
        try:
            return not lock_file(file, shared=True)  # released a moment later, when the file is closed
        finally:
            os.close(file)

    def release(self) -> None:
        """Release the lock, if we have it."""
        if self._let_go is not None:
            self._let_go()

    def holder(self) -> str:
        """Who has the lock, for a message, if the file says it."""
        try:
            pid, since = self.path.read_text().split()
            return f"process {int(pid)} (since {_clock(float(since))})"
        except (OSError, ValueError, OverflowError):
            return "another process"

    def writer(self) -> int:
        """The process that has the lock; 0 if the file does not say it."""
        try:
            return int(self.path.read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return 0

    def _open(self) -> int | None:
        """The locked file, or None while another has it."""
        make_private_folder(self.path.parent)
        file = os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600)
        is_ours = False
        try:
            is_ours = lock_file(file)
        finally:
            if not is_ours:
                os.close(file)
        return file if is_ours else None


def _let_go(file: int, path: Path, owner: int) -> None:
    """Remove the file first, while nobody else can lock it. A forked child leaves that to its parent, and Windows keeps
    it: an open file has its name there."""
    if os.getpid() == owner:
        with contextlib.suppress(OSError):
            path.unlink()
    os.close(file)


def _same(file: int, path: Path) -> bool:
    """Whether the open file is still the one at that path."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _clock(seconds: float) -> str:
    """Hours and minutes, with the date where it is not today."""
    then = datetime.fromtimestamp(seconds)
    return then.strftime("%H:%M" if then.date() == datetime.now().date() else "%Y-%m-%d %H:%M")
