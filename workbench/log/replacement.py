"""Puts a recovered store in the place of a damaged one, safely even if the program is killed halfway.

A store is up to three files, which cannot be exchanged in one step: a new file with the old write-ahead log would be
damaged again, and the old file without its log lacks the last writes. So the new file first gets a name next to the old
one. From then on it is the store, and the next program that opens the store finishes the exchange.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from workbench.config.writing import sync_folder
from workbench.log.lock import locked_folder

WAIT_SECONDS: Final = 30
"""How long to wait for another process that is finishing the exchange."""
_SIDE_FILES: Final = ("-wal", "-shm")


def replace_store(new: Path, store: Path) -> None:
    """Put a new store in the place of another. Both must be closed, and the new one must be on the same file system."""
    ready = _ready(store)
    os.replace(new, ready)
    sync_folder(store.parent)
    finish_replacement(store)


def finish_replacement(store: Path) -> None:
    """Finish an exchange that was begun, if there is one.

    Raises OSError, also if another process holds the lock for longer than `WAIT_SECONDS`.
    """
    ready = _ready(store)
    if not ready.exists():
        return
    with locked_folder(store.parent, WAIT_SECONDS):
        if ready.exists():
            for ending in _SIDE_FILES:
                store.with_name(store.name + ending).unlink(missing_ok=True)
            os.replace(ready, store)
            sync_folder(store.parent)


def _ready(store: Path) -> Path:
    return store.with_name(f"{store.name}.recovered")
