"""The rows of an SQLite file, read page by page and without SQLite, which gives up on a damaged file.

Every page that looks like a leaf of a table is read on its own, so that an overwritten page loses only its own rows.
See https://www.sqlite.org/fileformat2.html for the format.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

MAGIC: Final = b"SQLite format 3\0"
PAGE: Final = 8192
"""Bytes of a page in a new file: many rows are longer than a few hundred bytes, and few fit into SQLite's default."""
OLDER: Final = 4096
"""The same in files that Workbench 0.2 made: that default."""
_LEAF: Final = 13
_WAL_MAGIC: Final = (0x377F0682, 0x377F0683)
_INTEGERS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of a whole number, by its type in the record."""
_BAD: Final = (IndexError, ValueError, struct.error)
"""The exceptions that reading garbage raises."""

Data = memoryview


class PageRow(NamedTuple):
    """A row of some table; its columns have to show which."""

    key: int
    values: tuple[object, ...]


class Pages:
    """The pages of a file, updated from its write-ahead log."""

    def __init__(self, file: Data, log: Data, guess: int = PAGE) -> None:
        """`guess`: the bytes of a page if neither file nor log says it any more."""
        head = bytes(file[:100])
        self._sound = head.startswith(MAGIC) and _is_size(_page_size(head))
        newer = _committed(log)
        self.size = _page_size(head) if self._sound else newer.size or guess
        self.is_guessed = not self._sound and not newer.size
        self._usable = self.size - (head[20] if self._sound else 0)
        self._file = file
        self._newer = newer.pages if newer.size == self.size else {}
        self.count = max(-(-len(file) // self.size), *self._newer, 0)

    def rows(self) -> Iterator[PageRow]:
        """The rows of all tables, in no order, without those that cannot be read."""
        unused = self._unused()
        for number in range(1, self.count + 1):
            page = self._page(number)
            start = 100 if number == 1 else 0
            if number in unused or len(page) < start + 8 or page[start] != _LEAF:
                continue
            for at in range(int.from_bytes(page[start + 3 : start + 5], "big")):
                place = start + 8 + 2 * at
                try:
                    yield self._row(page, int.from_bytes(page[place : place + 2], "big"))
                except _BAD:
                    continue

    def _page(self, number: int) -> Data:
        newer = self._newer.get(number)
        return self._file[(number - 1) * self.size : number * self.size] if newer is None else newer

    def _unused(self) -> set[int]:
        """The pages of deleted rows, as far as the file still lists them."""
        found: set[int] = set()
        first = self._page(1)
        trunk = int.from_bytes(first[32:36], "big") if self._sound and len(first) >= 100 else 0
        while 0 < trunk <= self.count and trunk not in found:
            found.add(trunk)
            page = self._page(trunk)
            count = min(int.from_bytes(page[4:8], "big"), self.size // 4 - 2)
            found.update(int.from_bytes(page[8 + 4 * at : 12 + 4 * at], "big") for at in range(count))
            trunk = int.from_bytes(page[:4], "big")
        return found

    def _row(self, page: Data, at: int) -> PageRow:
        length, at = _varint(page, at)
        key, at = _varint(page, at)
        most = self._usable - 35
        local = length
        if length > most:
            least = (self._usable - 12) * 32 // 255 - 23
            local = least + (length - least) % (self._usable - 4)
            local = local if local <= most else least
        pieces = [bytes(page[at : at + local])]
        if len(pieces[0]) < local:
            raise IndexError("the cell reaches over the end of its page")
        if length > local:
            pieces += self._overflow(int.from_bytes(page[at + local : at + local + 4], "big"), length - local)
        return PageRow(key, _values(b"".join(pieces)))

    def _overflow(self, number: int, length: int) -> Iterator[bytes]:
        """The part of a row that did not fit into its page."""
        seen: set[int] = set()
        while length > 0:
            page = self._page(number)
            if number in seen or not 0 < number <= self.count or len(page) < min(self._usable, length + 4):
                raise IndexError("the chain of pages is broken")
            seen.add(number)
            yield bytes(page[4 : 4 + min(length, self._usable - 4)])
            length -= self._usable - 4
            number = int.from_bytes(page[:4], "big")


def most_readable(file: Data, log: Data) -> Pages:
    """The pages of a file. If their size is not known, it is the one with which more rows can be read."""
    found = Pages(file, log)
    if not found.is_guessed:
        return found
    return max(found, Pages(file, log, OLDER), key=lambda pages: sum(1 for _ in pages.rows()))


class _Newer(NamedTuple):
    """The pages in a write-ahead log."""

    size: int
    pages: dict[int, Data]


def _committed(log: Data) -> _Newer:
    """The pages of finished transactions. Checksums are ignored: a damaged page must not lose all that follow."""
    pages: dict[int, Data] = {}
    if len(log) < 32 or int.from_bytes(log[:4], "big") not in _WAL_MAGIC:
        return _Newer(0, pages)
    size, salt = int.from_bytes(log[8:12], "big"), bytes(log[16:24])
    if not _is_size(size):
        return _Newer(0, pages)
    open_ones: dict[int, Data] = {}
    for at in range(32, len(log) - size - 23, size + 24):
        number, commit = struct.unpack(">II", log[at : at + 8])
        if bytes(log[at + 8 : at + 16]) != salt:
            break  # from before the log was restarted
        open_ones[number] = log[at + 24 : at + 24 + size]
        if commit:
            pages |= open_ones
            open_ones = {}
    most = len(log) // size * 1000 + 1_000_000  # a larger number is garbage, and would be counted up to
    return _Newer(size, {number: page for number, page in pages.items() if 0 < number < most})


def _page_size(head: bytes) -> int:
    """The page size in the file's first bytes."""
    size = int.from_bytes(head[16:18], "big")
    return 65536 if size == 1 else size


def _is_size(size: int) -> bool:
    return 512 <= size <= 65536 and size & (size - 1) == 0


def _varint(data: Data | bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and the position after it."""
    value = 0
    for _ in range(8):
        byte = data[at]
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | data[at], at + 1


def _values(record: bytes) -> tuple[object, ...]:
    """The columns of a row."""
    end, at = _varint(record, 0)
    kinds = []
    while at < end:
        kind, at = _varint(record, at)
        kinds.append(kind)
    found: list[object] = []
    for kind in kinds:
        value, end = _value(record, kind, end)
        found.append(value)
    return tuple(found)


def _value(record: bytes, kind: int, at: int) -> tuple[object, int]:
    """One column, and the position after it."""
    if kind in (0, 8, 9):
        return (None, 0, 1)[max(kind - 7, 0)], at
    if kind == 7:
        return struct.unpack(">d", record[at : at + 8])[0], at + 8
    length = _INTEGERS.get(kind, (kind - 12) // 2)
    piece = record[at : at + length]
    if kind in (10, 11) or len(piece) < length:
        raise IndexError("the row is too short")
    if kind in _INTEGERS:
        return int.from_bytes(piece, "big", signed=True), at + length
    return piece.decode() if kind % 2 else piece, at + length
