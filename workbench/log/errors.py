"""What can go wrong with the log, one clear line each."""

from __future__ import annotations

from typing import Any, Final

from workbench.config.errors import Refused, WorkbenchError, WrongCall

RECOVER: Final = "`workbench sessions recover` keeps a copy of it and gets out what can be read"
"""What to do about a damaged file."""


class BadEvent(WrongCall):
    """Something that should be an event is none; the message says what was expected."""


class NotFound(WrongCall):
    """No such session or event."""


class ReadOnly(Refused):
    """Another holder writes this session; the message says which."""


class StoreError(WorkbenchError):
    """The file on disk cannot be used: full, damaged, forbidden, busy, or of a newer program."""


def damaged(what: str) -> StoreError:
    """An error for a file that is not as it was written."""
    return StoreError(f"the database is damaged: {what}; {RECOVER}")


def expect(row: tuple[Any, ...], *types: type) -> None:
    """Raise where a row has other values than we write; SQLite lets a column hold anything. `object`: anything."""
    if not all(type(value) is kind or kind is object for value, kind in zip(row, types, strict=True)):
        raise damaged("a row has values of the wrong kind")
