"""`workbench sessions recover`: what can be read of a damaged store, in a new one."""

from __future__ import annotations

import argparse
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from workbench.config.errors import Refused, WrongCall
from workbench.config.paths import data_dir
from workbench.config.text import counted, print_json, printable, table
from workbench.config.writing import copy_file
from workbench.log.errors import StoreError
from workbench.log.lock import WriterLock, locked_folder
from workbench.log.recovery import RecoveredSession, recover_store
from workbench.log.replacement import finish_replacement, replace_store
from workbench.log.store import FILE_NAME

_PREFIX = ".recovering-"
"""Of the folder in which the new store is made."""


def run(options: argparse.Namespace) -> int:
    """Recover, and say what was and what was not."""
    damaged = Path(options.file) if options.file else data_dir() / FILE_NAME
    finish_replacement(damaged)
    if not damaged.is_file():
        raise WrongCall(f"{damaged}: no such file")
    target = Path(options.output) if options.output else damaged
    if options.output and target.exists():
        raise WrongCall(f"{target}: there is a file already; expected a new name")
    if not options.output:
        _refuse_open(damaged)
    if not target.parent.is_dir():
        raise WrongCall(f"{target.parent}: no such folder")
    _remove_left_folders(target.parent)
    with TemporaryDirectory(prefix=_PREFIX, dir=target.parent) as folder, locked_folder(Path(folder), 0):
        made = Path(folder) / FILE_NAME
        sessions = recover_store(damaged, made)
        if not sessions:
            raise StoreError(f"{damaged}: nothing in it can be read; it was left as it is")
        copy = None if options.output else _keep_copy(damaged)
        if copy is None:
            made.replace(target)
        else:
            replace_store(made, target)
    _tell(sessions, target, copy, options.json)
    return 0


def _remove_left_folders(parent: Path) -> None:
    """Remove what recoveries that were killed have left; one that still runs has locked its folder."""
    for left in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError), locked_folder(left, 0):  # TimeoutError is one
            shutil.rmtree(left)


def _refuse_open(store: Path) -> None:
    """Whoever writes to the store now would go on writing to a file that has lost its name."""
    for file in sorted((store.parent / "locks").glob("*.lock")):
        lock = WriterLock(file)
        if lock.taken():
            raise Refused(f"session {file.stem} is open in {lock.holder()}; close it there first")


def _beside(store: Path, ending: str) -> Path:
    return store.with_name(store.name + ending)


def _keep_copy(store: Path) -> Path:
    """The file as it is, and its write-ahead log, under another name."""
    stem = _beside(store, f".damaged-{datetime.now():%Y%m%d-%H%M%S}")
    copy, number = stem, 1
    while copy.exists():
        number += 1
        copy = stem.with_name(f"{stem.name}-{number}")
    try:
        if _beside(store, "-wal").exists():
            copy_file(_beside(store, "-wal"), _beside(copy, "-wal"))
        copy_file(store, copy, new=True)
    except BaseException:
        _beside(copy, "-wal").unlink(missing_ok=True)
        raise
    return copy


def _tell(sessions: list[RecoveredSession], target: Path, copy: Path | None, as_json: bool) -> None:
    events, lost, texts = (sum(getattr(each, name) for each in sessions) for name in ("events", "lost", "lost_texts"))
    if as_json:
        print_json(
            {
                "store": str(target),
                "copy": None if copy is None else str(copy),
                "events": events,
                "lost": lost,
                "lost_texts": texts,
                "sessions": [each._asdict() for each in sessions],
            }
        )
        return
    rows = [
        (each.id, f"{each.events:,}", f"{each.lost:,}", f"{each.lost_texts:,}", printable(each.title) or "–")
        for each in sessions
    ]
    print("\n".join(table(("id", "events", "lost", "texts lost", "title"), rows, frozenset({1, 2, 3}))))
    harm = "nothing that is known of"
    if lost or texts:
        harm = f"{counted(lost, 'event')} and {counted(texts, 'large text')}"
    print(f"\nrecovered {counted(len(sessions), 'session')} with {counted(events, 'event')}; lost {harm}")
    print(printable(f"store: {target}"))
    if copy is not None:
        print(printable(f"the damaged file is kept: {copy}"))
