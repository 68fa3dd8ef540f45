"""What can go wrong with the log, one clear line each."""

from __future__ import annotations

from workbench.config.errors import Refused, WorkbenchError, WrongCall


class BadEvent(WrongCall):
    """Something that should be an event is none; the message says what was expected."""


class NotFound(WrongCall):
    """No such session or event."""


class ReadOnly(Refused):
    """Another holder writes this session; the message says which."""


class StoreError(WorkbenchError):
    """The file on disk cannot be used: full, damaged, forbidden, busy, or of a newer program."""
