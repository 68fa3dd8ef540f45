"""A small file next to a journal: the requests that were not answered when a batch was stored.

A recorder that takes over reads from the store how far the journal is recorded. This file has the requests to which the
answers after that position belong. It is written before the batch is stored, so it keeps two states: a killed recorder
may resume at either position.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from workbench.config.foreign_files import open_regular_file
from workbench.config.system import write_start

FILE_NAME: Final = "open"
MAX_BYTES: Final = 8 << 20

OpenRequests = Mapping[int, tuple[str, int]]
"""The session and the event of each request, by its number."""


class OpenRequestsFile:
    """The file of one journal."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._file: int | None = None
        self._last: tuple[int, OpenRequests] = (0, {})
        self._is_empty = not self._path.exists()

    def read_open_at(self, position: int) -> OpenRequests:
        """The requests open at a position; later writes keep them as the previous state."""
        try:
            with open_regular_file(self._path, follow_links=False) as file:
                found = msgspec.json.decode(file.readline(MAX_BYTES), type=dict[int, dict[int, tuple[str, int]]])
        except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
            return {}
        self._last = (position, found.get(position, {}))
        return self._last[1]

    def write_open_at(self, position: int, numbers: OpenRequests) -> None:
        """Note the requests that are open at a position, before the batch is stored."""
        before, self._last = self._last, (position, dict(numbers))
        if not numbers and not before[1] and self._is_empty:
            return
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            data = msgspec.json.encode({before[0]: before[1], position: self._last[1]}) + b"\n"
            write_start(self._file, data)  # the rest of an older, longer state after this line is never read
        self._is_empty = not numbers and not before[1]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
