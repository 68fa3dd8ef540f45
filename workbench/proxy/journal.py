"""The journal has everything that passed and is not in the store yet. The proxy appends to it; its recorder reads it.

Each proxy has its own folder, with files numbered from 1. A file is a sequence of records: the sizes of both parts, the
record as JSON, and the bytes from the wire. It is removed when everything in it is in the store. Appended records
survive `kill -9`: the recorder reads to the end. If it was killed too, the recorder of the next proxy does that.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final, NamedTuple

import msgspec

from workbench.config.foreign_files import open_regular_file
from workbench.config.paths import data_dir
from workbench.config.processes import is_same_process, process_start
from workbench.config.writing import make_private_folder
from workbench.log.lock import locked_folder
from workbench.proxy.records import Record, decode, encode

FOLDER: Final = "unrecorded"
SEGMENT: Final = 16 << 20
"""The size in bytes after which a new file begins."""
MOST_OF_HEAD: Final = 1 << 20
MOST_OF_PAYLOAD: Final = 1 << 30
MOST_PARTS: Final = 500
"""The maximum number of pieces for one system call; more are joined."""
_SIZES: Final = Struct(">IQ")
_OFFSET_BITS: Final = 40


class Position(NamedTuple):
    """How far a journal has been read."""

    segment: int = 1
    offset: int = 0

    @property
    def number(self) -> int:
        """Both fields as one number, which only grows."""
        return self.segment << _OFFSET_BITS | self.offset

    @classmethod
    def from_number(cls, number: int) -> Position:
        """The position with this number; 0: the beginning."""
        return cls(max(number >> _OFFSET_BITS, 1), number & ((1 << _OFFSET_BITS) - 1))


class BrokenJournal(Exception):
    """Raised for a file that contains something other than records."""


class Journal:
    """The journal of one proxy, for appending."""

    def __init__(self, folder: Path | None = None, segment: int = SEGMENT) -> None:
        """`folder`: the parent folder of all journals."""
        self.all = folder or data_dir() / FOLDER
        self.folder = self.all / _own_name()
        self._largest = segment
        self._segment = 0
        self._file: int | None = None
        self._size = 0

    def append(self, *records: tuple[Record, Sequence[bytes]]) -> int:
        """Append records and their bytes, in pieces. Return the total size. On OSError nothing was appended."""
        if self._file is None or self._size >= self._largest:
            self._begin()
        assert self._file is not None
        pieces: list[bytes] = []
        for record, parts in records:
            head = encode(record)
            pieces += (_SIZES.pack(len(head), sum(map(len, parts))) + head, *parts)
        size = sum(map(len, pieces))
        if len(pieces) > MOST_PARTS or not hasattr(os, "writev"):
            written = os.write(self._file, b"".join(pieces))
        else:
            written = os.writev(self._file, pieces)
        if written != size:
            os.ftruncate(self._file, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))
        self._size += size
        return size

    def _begin(self) -> None:
        make_private_folder(self.folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        file = os.open(self.folder / _name(self._segment + 1), flags, 0o600)
        self.close()
        self._file, self._size, self._segment = file, 0, self._segment + 1

    def close(self) -> None:
        """Close the file. Nothing can be appended after that."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class JournalReader:
    """Reads the records of one folder in order, while they are appended or later."""

    def __init__(self, folder: Path, position: Position = Position()) -> None:  # noqa: B008 - a frozen value
        self.folder = folder
        self.position = position
        self._file: BinaryIO | None = None

    def next(self) -> tuple[Record, bytes, int] | None:
        """The next record, its bytes, and the size of both; None if no complete one exists. Raises BrokenJournal."""
        while True:
            has_more = (self.folder / _name(self.position.segment + 1)).exists()
            found = self._read()  # after the check: a file is complete once the next one exists
            if found is not None:
                return found
            if not has_more:
                return None
            self.skip()

    def skip(self) -> None:
        """Continue with the next file."""
        self._close()
        self.position = Position(self.position.segment + 1)

    def skip_broken(self) -> bool:
        """Skip the rest of an unreadable file. Return False if there is no next file."""
        has_more = (self.folder / _name(self.position.segment + 1)).exists()
        if has_more:
            self.skip()
        return has_more

    def _read(self) -> tuple[Record, bytes, int] | None:
        if self._file is None:
            try:
                self._file = open_regular_file(self.folder / _name(self.position.segment), follow_links=False)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise BrokenJournal(str(error)) from error
        file = self._file
        file.seek(self.position.offset)
        sizes = file.read(_SIZES.size)
        if len(sizes) < _SIZES.size:
            return None
        head_size, size = _SIZES.unpack(sizes)
        if head_size > MOST_OF_HEAD or size > MOST_OF_PAYLOAD:
            raise BrokenJournal("a record has no valid size")
        if os.fstat(file.fileno()).st_size < self.position.offset + _SIZES.size + head_size + size:
            return None
        try:
            record = decode(file.read(head_size))
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BrokenJournal(str(error)) from error
        data = file.read(size)
        whole = _SIZES.size + head_size + size
        self.position = Position(self.position.segment, self.position.offset + whole)
        return record, data, whole

    def remove_read(self) -> None:
        """Remove files that were read to the end and that nothing is appended to any more."""
        for name in _segments(self.folder):
            if int(name) < self.position.segment:
                with suppress(OSError):
                    (self.folder / name).unlink()

    def remove_all(self) -> None:
        """Remove the folder. Call it when everything in it is in the store."""
        self._close()
        for name in _listed(self.folder):
            with suppress(OSError):
                (self.folder / name).unlink()
        with suppress(OSError):
            self.folder.rmdir()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


@contextmanager
def left_behind(everyone: Path, own: str) -> Iterator[list[Path]]:
    """The folders of killed proxies whose recorders no longer run, locked for the caller.

    `own`: the name of a folder to leave out.
    """
    with ExitStack() as stack:
        found = []
        for name in _listed(everyone):
            if name != own and not _lives(name):
                with suppress(OSError):  # including TimeoutError: another process reads it
                    stack.enter_context(locked_folder(everyone / name, 0))
                    found.append(everyone / name)
        yield found


def first_position(folder: Path) -> Position:
    """The beginning of the oldest file in a folder."""
    return Position(min(map(int, _segments(folder)), default=1))


def _name(segment: int) -> str:
    return f"{segment:012}"


def _segments(folder: Path) -> list[str]:
    return [name for name in _listed(folder) if name.isascii() and name.isdecimal()]


def _listed(folder: Path) -> list[str]:
    with suppress(OSError):
        return sorted(os.listdir(folder))
    return []


def _own_name() -> str:
    return f"{os.getpid()}-{int(process_start(os.getpid()))}"


def _lives(name: str) -> bool:
    pid, _, born = name.partition("-")
    try:
        return is_same_process(int(pid), int(born.partition("-")[0]), within=2)
    except ValueError:
        return False
