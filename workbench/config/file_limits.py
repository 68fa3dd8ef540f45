"""The size limit for files from elsewhere: `[files]` of the user's settings."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.config.settings import load_settings
from workbench.config.tables import Table, read_table

_LEAST = 1_000_000


class FileSettings(Table, frozen=True):
    """`[files]` of the user's settings."""

    max_bytes: Annotated[int, Meta(ge=_LEAST, description=f"a number of bytes, at least {_LEAST:_}")] = 2 * 1024**3
    """The largest file that is read whole. Of a larger one only the beginning and the end are read."""


def largest_file() -> int:
    """Bytes of the largest file that is read whole."""
    settings = load_settings()
    return read_table(FileSettings, settings.files, str(settings.file), "files").max_bytes
