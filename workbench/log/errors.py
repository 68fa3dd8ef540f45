"""Errors of the log, one clear line each."""

from __future__ import annotations

from typing import Any, Final

from workbench.config.errors import Refused, WorkbenchError, WrongCall

RECOVER: Final = "`workbench sessions recover` keeps a copy of it and gets out what can be read"
"""What to do with a damaged file."""


class BadEvent(WrongCall):
    """Something that should be an event is not; the message says what was expected."""


class NotFound(WrongCall):
    """No such session or event."""


class ReadOnly(Refused):
    """Somebody else writes this session; the message says who."""


class StoreError(WorkbenchError):
    """The file cannot be used: disk full, damaged, forbidden, busy, or written by a newer program."""


def damaged(what: str) -> StoreError:
    """An error for a damaged file."""
    return StoreError(f"the database is damaged: {what}; {RECOVER}")


def expect(row: tuple[Any, ...], *types: type) -> None:
    """Raise if a row has other types than we write: SQLite lets a column hold anything. `object` allows any type."""
    if not all(type(value) is kind or kind is object for value, kind in zip(row, types, strict=True)):
        raise damaged("a row has values of the wrong kind")
