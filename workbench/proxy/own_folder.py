"""The folder of a running proxy, for files that agents need. The next start removes the folder of a killed proxy."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from workbench.config.paths import data_dir
from workbench.config.writing import make_private_folder
from workbench.log.lock import WriterLock

_PREFIX: Final = "proxy-"
_LOCK: Final = "lock"
_UNLOCKED_SECONDS: Final = 86_400
"""Seconds after which a folder without a lock is removed. A new folder gets its lock a moment after it is created."""


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder in the data folder, or in the system's temporary folder if the data folder is not writable."""
    try:
        make_private_folder(data_dir())
        made = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=data_dir())
    except OSError:
        made = tempfile.TemporaryDirectory(prefix=f"workbench-{_PREFIX}")
    with made as name:
        folder = Path(name)
        lock = WriterLock(folder / _LOCK)
        with suppress(OSError):
            lock.acquire()
        remove_left_folders(folder.parent, folder.name.removesuffix(folder.name.rpartition("-")[2]))
        try:
            yield folder
        finally:
            lock.release()


def remove_left_folders(parent: Path, prefix: str = _PREFIX) -> None:
    """Remove the folders of proxies that no longer run."""
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            if folder.is_dir() and not folder.is_symlink() and not _is_used(folder):
                shutil.rmtree(folder)


def _is_used(folder: Path) -> bool:
    if (folder / _LOCK).exists():
        return WriterLock(folder / _LOCK).is_locked()
    return time.time() - folder.stat().st_mtime < _UNLOCKED_SECONDS
