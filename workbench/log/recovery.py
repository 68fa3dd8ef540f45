"""Recovers what can still be read of a damaged store into a new one.

The damaged file is only read. Everything is checked before it is copied: the line of an event must decode, a large
text must have its hash. Events keep their numbers, by which compactions and overrides name them: a lost event is
replaced by a failure that says so.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, field

from workbench.config.file_limits import largest_file
from workbench.config.foreign_files import open_regular_file, size_of
from workbench.log import large_texts
from workbench.log.codec import decode_event, settle_event
from workbench.log.drafts import Draft
from workbench.log.errors import BadEvent, StoreError
from workbench.log.events import Event, Failure
from workbench.log.ids import new_id
from workbench.log.pages import PageRow, most_readable
from workbench.log.rows import Settled, labels_in
from workbench.log.session import SessionInfo
from workbench.log.store import Store

LOST_TEXT: Final = "[this text was lost when the database was damaged]"
_LOST_EVENT: Final = Failure("lost", "this event was lost when the database was damaged")
_MOST_LOST: Final = 100_000
"""Events that may be missing in one place; a larger gap is taken for garbage."""


class RecoveredSession(NamedTuple):
    id: str
    title: str
    events: int
    """Events that were read."""
    lost: int
    """Events that are known to be missing."""
    lost_texts: int
    """Missing large texts of its events."""


class _Found(Struct):
    """What was read of a session."""

    info: SessionInfo | None = None
    lines: dict[int, tuple[str, str]] = field(default_factory=dict)
    """An event's id and line, by number."""
    drafts: list[tuple[int, Draft]] = field(default_factory=list)


def recover_store(damaged: Path, target: Path) -> list[RecoveredSession]:
    """Make a new store from what can be read. Returns its sessions, oldest first."""
    sessions: dict[int, _Found] = {}
    texts: dict[str, str] = {}
    for row in most_readable(_content(damaged), _content(damaged.with_name(damaged.name + "-wal"))).rows():
        _sort_row(row, sessions, texts)
    made = []
    with Store.open(target) as store:
        for _, found in sorted(sessions.items()):
            session = _put_back(store, found, texts)
            if session is not None:
                made.append(session)
    return made


def _content(path: Path) -> memoryview:
    """A file's bytes, mapped so that they are read on access; empty if there is no file."""
    if not path.exists() or not path.stat().st_size:
        return memoryview(b"")
    limit = largest_file()
    with open_regular_file(path) as file:
        if size_of(file) > limit:
            found = f"has {size_of(file):,} bytes, more than {limit:,}"
            raise StoreError(f"{path}: {found}; max_bytes under [files] in config.toml allows more")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _sort_row(row: PageRow, sessions: dict[int, _Found], texts: dict[str, str]) -> None:
    """Put a row where it belongs; its columns show its table. See `migrations`."""
    match row.values:
        case (None, int(session), int(seq), str(name), str(line)):
            sessions.setdefault(session, _Found()).lines[seq] = (name, line)
        case (bytes(digest), bytes(text)) if blake2b(text, digest_size=len(digest) or 1).digest() == digest:
            texts[digest.hex()] = text.decode("utf-8", "replace")
        case (
            None,
            str(name),
            str(title),
            str(model),
            int(created),
            int(updated),
            int(events),
            (str() | None) as origin,
            (int() | None) as at,
            *place,
        ):
            forked = None if origin is None or at is None else (origin, at)
            where = [each if isinstance(each, str) else "" for each in place[:2]]  # missing in rows of an older format
            info = SessionInfo(name, title, created, updated, events, model, forked, *where)
            sessions.setdefault(row.key, _Found()).info = info
        case (None, int(session), str(reply), str(model), str(thinking), str(text)):
            sessions.setdefault(session, _Found()).drafts.append((row.key, Draft(reply, model, thinking, text)))


def _put_back(store: Store, found: _Found, texts: dict[str, str]) -> RecoveredSession | None:
    """Store a session again; None if nothing is left of it."""
    lost_texts = 0

    def text_of(digest: str) -> str:
        nonlocal lost_texts
        lost_texts += digest not in texts
        return texts.get(digest, f'"{LOST_TEXT}"')

    settled = list(_whole(found, text_of))
    info = found.info
    if info is None and not settled:
        return None
    read = sum(event.body != _LOST_EVENT for event, _ in settled)
    there = len(settled)
    if info is not None and info.events <= there + _MOST_LOST:
        there = max(info.events, there)
    if info is None:
        times = [event.at for event, _ in settled]
        info = SessionInfo(new_id(), "", min(times), max(times), 0, "", None)
    name = store.put_back(info, settled, [draft for _, draft in sorted(found.drafts)])
    title = labels_in(event for event, _ in settled).get("title", info.title)
    return RecoveredSession(name, title, read, there - read, lost_texts)


def _whole(found: _Found, text_of: Callable[[str], str]) -> Iterator[Settled]:
    """The events in order, up to the last that was read; a failure replaces each missing one."""
    ids: set[str] = set()
    before = 0
    for seq in sorted(found.lines):
        name, row = found.lines[seq]
        try:
            event, line = settle_event(decode_event(large_texts.fill_references(row, text_of)))
        except BadEvent:
            continue
        if (event.seq, event.id) != (seq, name) or name in ids or seq - before > _MOST_LOST:
            continue
        for missing in range(before + 1, seq):
            yield settle_event(Event(missing, new_id(), event.at, _LOST_EVENT))
        before = seq
        ids.add(name)
        yield event, line
