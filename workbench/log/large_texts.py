"""Large texts, stored once.

A row of the log holds the event's line. Where the line has a string over 4 KiB, the row has a reference instead:
U+0001 and the text's hash. JSON never holds a raw control character, so no text of a user can look like a
reference.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Final

from workbench.log.errors import damaged

LARGE: Final = 4096
"""Bytes of UTF-8, as JSON writes the string, without the quotes."""
SHORT: Final = LARGE // 4
"""A line of so many characters has no such string: a character has one to four bytes."""

_MARK: Final = "\x01"
_DIGEST_BYTES: Final = 32
_REFERENCE = re.compile(_MARK + r"([0-9a-f]{64})")
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')  # possessive: a long string must not pile up backtracking points


def split_large_texts(line: str) -> tuple[str, dict[bytes, bytes]]:
    """The line with references in place of its large strings, and those strings (as JSON, quoted) by hash."""
    found: dict[bytes, bytes] = {}
    if len(line) <= SHORT or (len(line) <= LARGE and len(line.encode()) <= LARGE):
        return line, found

    def refer(match: re.Match[str]) -> str:
        text = match[0].encode()
        if len(text) - 2 <= LARGE:
            return match[0]
        digest = blake2b(text, digest_size=_DIGEST_BYTES).digest()
        found[digest] = text
        return _MARK + digest.hex()

    return _STRING.sub(refer, line), found


def store_texts(db: sqlite3.Connection, event: int, texts: Iterable[tuple[bytes, bytes]]) -> None:
    """Store the texts of the event with this key, each once: a text that is stored already is referred to."""
    for digest, text in texts:
        db.execute("INSERT OR IGNORE INTO texts(hash, text) VALUES(?, ?)", (digest, text))
        db.execute("INSERT OR IGNORE INTO event_texts(event, hash) VALUES(?, ?)", (event, digest))


def restore_line(db: sqlite3.Connection, row: str) -> str:
    """The line as it was before `split_large_texts`."""
    if _MARK not in row:
        return row

    def stored(digest: str) -> str:
        found = db.execute("SELECT text FROM texts WHERE hash = ?", (bytes.fromhex(digest),)).fetchone()
        try:
            text: str = found[0].decode()
        except (TypeError, AttributeError, UnicodeDecodeError):  # no row, or no text in it
            raise damaged(f"the text {digest[:12]} of an event is missing") from None
        return text

    return fill_references(row, stored)


def fill_references(row: str, text_of: Callable[[str], str]) -> str:
    """A row with its references resolved; `text_of` gives the JSON string for a hash."""
    return _REFERENCE.sub(lambda match: text_of(match[1]), row)


def hashes_of_session(db: sqlite3.Connection, session: int) -> list[tuple[bytes]]:
    return db.execute(
        "SELECT DISTINCT hash FROM event_texts WHERE event IN (SELECT key FROM events WHERE session = ?)", (session,)
    ).fetchall()


def drop_unused_texts(db: sqlite3.Connection, hashes: list[tuple[bytes]]) -> None:
    """Delete those of the texts that no event refers to any more."""
    db.executemany(
        "DELETE FROM texts WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM event_texts WHERE hash = ?1)", hashes
    )
