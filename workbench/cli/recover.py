"""`workbench sessions recover`: copy what can be read from a damaged store into a new one."""

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
"""The prefix of the folder in which the new store is made."""


def run_recover(options: argparse.Namespace) -> int:
    """Recover, and print what was recovered and what was lost."""
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
    _print_result(sessions, target, copy, options.json)
    return 0


def _remove_left_folders(parent: Path) -> None:
    """Remove the folders of killed recoveries. A running one has locked its folder."""
    for left in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError), locked_folder(left, 0):  # TimeoutError is one
            shutil.rmtree(left)


def _refuse_open(store: Path) -> None:
    """Raise Refused while a session is open: its process would go on writing to the replaced file."""
    for file in sorted((store.parent / "locks").glob("*.lock")):
        lock = WriterLock(file)
        if lock.is_locked():
            raise Refused(f"session {file.stem} is open in {lock.holder()}; close it there first")


def _with_suffix(store: Path, ending: str) -> Path:
    return store.with_name(store.name + ending)


def _keep_copy(store: Path) -> Path:
    """Copy the file and its write-ahead log to another name."""
    stem = _with_suffix(store, f".damaged-{datetime.now():%Y%m%d-%H%M%S}")
    copy, number = stem, 1
    while copy.exists():
        number += 1
        copy = stem.with_name(f"{stem.name}-{number}")
    try:
        if _with_suffix(store, "-wal").exists():
            copy_file(_with_suffix(store, "-wal"), _with_suffix(copy, "-wal"))
        copy_file(store, copy, new=True)
    except BaseException:
        _with_suffix(copy, "-wal").unlink(missing_ok=True)
        raise
    return copy


def _print_result(sessions: list[RecoveredSession], target: Path, copy: Path | None, as_json: bool) -> None:
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
