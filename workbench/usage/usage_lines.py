"""Finds the few lines of a transcript that matter, without parsing the others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import msgspec

CHUNK = 8 * 1024 * 1024
LONGEST = 64 * 1024 * 1024
"""Bytes of a line; a longer one is skipped."""


class WholeLines(NamedTuple):
    """A part of a file that ends with a line."""

    data: bytes
    end: int
    """The position in the file behind it."""


def whole_lines_of(file: BinaryIO, start: int) -> Iterator[WholeLines]:
    """The content of a file from a position on, cut at line ends. An unfinished last line is left out."""
    file.seek(start)
    rest, skipping = b"", False
    while chunk := file.read(CHUNK):
        end = chunk.rfind(b"\n") + 1
        if not end:
            start += len(rest) + len(chunk) if skipping or len(rest) > LONGEST else 0
            skipping, rest = (True, b"") if skipping or len(rest) > LONGEST else (False, rest + chunk)
            continue
        if skipping:
            first = chunk.find(b"\n") + 1
            start, chunk, end, skipping = start + first, chunk[first:], end - first, False
        data = rest + chunk[:end]
        start += len(data)
        rest = chunk[end:]
        if data:
            yield WholeLines(data, start)
    if rest and parsed_line(rest) is not None:
        yield WholeLines(rest, start + len(rest))


def raw_lines_with(data: bytes, signs: Sequence[bytes]) -> Iterator[bytes]:
    """The lines that have one of the signs, in order."""
    places: dict[int, int] = {}
    for sign in signs:
        at = data.find(sign)
        while at >= 0:
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            places[data.rfind(b"\n", 0, at) + 1] = end
            at = data.find(sign, end)
    return (data[start : places[start]] for start in sorted(places))


def lines_with(data: bytes, signs: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects in the lines that have one of the signs, in order."""
    return (value for line in raw_lines_with(data, signs) if (value := parsed_line(line)) is not None)


def parsed_line(line: bytes) -> dict[str, Any] | None:
    """The object in a line; None if it is none."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            value = json.loads(line.decode("utf-8", "replace"))  # it reads half a surrogate pair
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
