"""Reads a transcript in parts, and finds the few lines that matter. Most are passed over by their first bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Any, NamedTuple

import msgspec

CHUNK = 256 * 1024
"""Bytes that are read at once: so few stay in the processor's cache until they are searched."""
LONGEST = 64 * 1024 * 1024
"""Bytes of a line; a longer one is skipped."""
_TYPE = b'"type":"'
_FREE: list[bytearray] = []
"""Buffers for later files: memory that was just given back is slow to get again."""


class ReportSigns(NamedTuple):
    """How a line with a report is recognised in the files of an agent."""

    head: int
    """Bytes in which a line has its type."""
    wanted: tuple[bytes, ...]
    """What the first type is, and what follows it, in a line with a report, or with what a report belongs to."""
    others: tuple[bytes, ...]
    """The same for lines without one: most of a file's bytes. The most frequent are first."""
    words: tuple[bytes, ...]
    """A line that is neither may have a report if it has one of these."""


class ReportLines:
    """The lines of a file from a position on. An unfinished last line is left out."""

    def __init__(self, file: BufferedIOBase, position: int = 0) -> None:
        self._file = file
        self.position = position
        """Behind the last line that was read."""

    def lines_with_reports(self, signs: ReportSigns) -> Iterator[bytearray]:
        """The lines that may have a report."""
        head, wanted, others, words = signs
        # Where a line of each kind had its type. As a rule, the next one has it there as well.
        wanted_at = other_at = 0
        for data, start, stop in self._parts():
            find, startswith = data.find, data.startswith
            while start < stop:
                end = find(b"\n", start, stop)
                if end < 0:
                    end = stop
                if not startswith(others, start + other_at, end):
                    if startswith(wanted, start + wanted_at, end):
                        yield data[start:end]
                    else:
                        at = find(_TYPE, start, start + head)
                        at = end if at < 0 else at
                        if startswith(wanted, at, end):
                            wanted_at = at - start
                            yield data[start:end]
                        elif startswith(others, at, end):
                            other_at = at - start
                        elif any(find(word, start, end) >= 0 for word in words):
                            yield data[start:end]
                start = end + 1

    def _parts(self) -> Iterator[tuple[bytearray, int, int]]:
        """Bytes with whole lines in them, and where these begin and end. The next part takes their place."""
        at = self._file.seek(self.position)
        buffer, kept, skips = bytearray(CHUNK) if not _FREE else _FREE.pop(), 0, False
        while got := self._file.readinto(memoryview(buffer)[kept:]):
            at += got
            size = kept + got
            begin = buffer.find(b"\n", kept, size) + 1 if skips else 0
            end = buffer.rfind(b"\n", kept, size) + 1
            if end:
                yield buffer, begin, end
                self.position, skips = at - (size - end), False
            kept = size - end
            if kept > LONGEST:
                kept, skips = 0, True
            elif kept == len(buffer):
                buffer += bytes(len(buffer))
            else:
                buffer[:kept] = buffer[end:size]
        if kept and not skips and parsed_line(buffer[:kept]) is not None:
            yield buffer, 0, kept
            self.position = at
        if len(buffer) == CHUNK:
            _FREE.append(buffer)


def parsed_line(line: bytes | bytearray) -> dict[str, Any] | None:
    """The object in a line; None if the line has no object."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            value = json.loads(line.decode("utf-8", "replace"))  # it reads half a surrogate pair
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
