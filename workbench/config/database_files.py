"""Files that SQLite has open in this process, and how other descriptors of them are closed.

A process that closes any descriptor of a file loses all its POSIX locks on that file. SQLite takes care of its own
descriptors only. Without the locks another process takes the database for closed and removes its write-ahead log, and
what we write after that is lost. So other descriptors of a database are closed when SQLite has closed it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Lock

_Key = tuple[int, int]

_changing = Lock()
_open: Counter[_Key] = Counter()
"""How many databases have a file open, by its device and inode."""
_left_open: dict[_Key, list[int]] = {}
"""The descriptors to close when the last database is closed."""


def hold_database_file(path: Path) -> Callable[[], None]:
    """Note that a database opens this file; the returned function says that it is closed, and may be called twice."""
    found = os.stat(path)
    key = (found.st_dev, found.st_ino)
    with _changing:
        _open[key] += 1
    is_held = True

    def release() -> None:
        nonlocal is_held
        with _changing:
            _open[key] -= is_held
            is_held = False
            free = [] if _open[key] else _left_open.pop(key, [])
        for descriptor in free:
            os.close(descriptor)

    return release


def close_descriptor(descriptor: int) -> None:
    """Close a descriptor now, or when the last database of its file is closed."""
    found = os.fstat(descriptor)
    key = (found.st_dev, found.st_ino)
    with _changing:
        if _open[key]:
            _left_open.setdefault(key, []).append(descriptor)
            return
        del _open[key]
    os.close(descriptor)
