"""Whether a file has changed since it was read."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from workbench.traces.claude_sub_agent_files import claude_sub_agent_files


class FileStamp(NamedTuple):
    """Two equal stamps mean the same content."""

    inode: int
    size: int
    changed: int
    """Nanoseconds since 1970; for a database, the later of its own time and that of its write-ahead log."""


def stamp_of(path: str) -> FileStamp | None:
    """The stamp of a regular file; None for anything else."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return FileStamp(found.st_ino, found.st_size, max(found.st_mtime_ns, _log_changed(path)))


def session_stamp(path: str) -> FileStamp | None:
    """The stamp of a session, which also changes when its sub-agents write their own files."""
    own = stamp_of(path)
    others = (found.changed for file in claude_sub_agent_files(path) if (found := stamp_of(file)) is not None)
    return own if own is None else own._replace(changed=max(own.changed, *others, 0))


def _log_changed(path: str) -> int:
    try:
        return os.stat(f"{path}-wal").st_mtime_ns if path.endswith(".db") else 0
    except OSError:
        return 0
