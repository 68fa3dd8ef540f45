"""The one way to open a file that anybody may have written.

A cloned project, another agent's home or a path on the command line can be a pipe that never ends, a device, a link to
one, or a file of 200 GB. So only regular files are opened, and nothing is read without a limit. A test makes sure that
no other module opens files in its own way.

Everything here raises OSError, whose `strerror` is a text for people.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader, BytesIO, FileIO
from typing import BinaryIO

from workbench.config.database_files import close_descriptor

Place = str | os.PathLike[str]

SMALL = 16 * 1024 * 1024
"""Bytes; the limit for files that people write: settings, policies, prompts, themes, scripts."""
_CHUNK = 128 * 1024
_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT"):  # no system has all of them
    _FLAGS |= getattr(os, _name, 0)
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISLNK, "a link"))


class NotRegularFile(OSError):
    """Something other than a regular file, or a link that leads out of the project."""

    def __init__(self, path: Place, message: str, *, is_pipe: bool = False) -> None:
        super().__init__(errno.EINVAL, message, os.fspath(path))
        self.is_pipe = is_pipe


class TooLargeFile(OSError):
    """A file that is larger than the limit."""

    def __init__(self, limit: int, size: int = 0) -> None:
        found = f"{size:,} bytes" if size else "more"
        super().__init__(errno.EFBIG, f"expected at most {limit:,} bytes, this has {found}")


def open_regular_file(path: Place, *, inside: Place | None = None, follow_links: bool = True) -> BufferedReader:
    """Open a regular file for reading.

    `inside`: the folder of a project; a link that leads out of it is refused.
    """
    flags = _FLAGS
    if inside is not None:
        path, flags = _path_inside(path, inside), _FLAGS | _NO_LINK
    elif not follow_links:
        flags |= _NO_LINK
    # Opening a device can have effects, so check first. The check that counts is the one on the opened file.
    _refuse_other_kinds(path, os.stat(path, follow_symlinks=not flags & _NO_LINK and follow_links))
    descriptor = os.open(path, flags)
    try:
        _refuse_other_kinds(path, os.fstat(descriptor))
        return BufferedReader(_Descriptor(descriptor, closefd=False))
    except BaseException:
        close_descriptor(descriptor)
        raise


class _Descriptor(FileIO):
    """A descriptor that may be of a database which is open here."""

    def close(self) -> None:
        if not self.closed:
            descriptor = self.fileno()
            super().close()
            close_descriptor(descriptor)


def read_regular_file(
    path: Place, limit: int = SMALL, *, inside: Place | None = None, follow_links: bool = True
) -> bytes:
    """The whole content of a regular file. Raises TooLargeFile above `limit` bytes."""
    with open_regular_file(path, inside=inside, follow_links=follow_links) as file:
        return read_to_end(file, limit)


def read_small_text(path: Place) -> str:
    """A text that a person wrote, without the byte order mark that some editors add.

    Raises UnicodeDecodeError if it is not UTF-8.
    """
    return read_regular_file(path).decode("utf-8-sig")


def read_to_end(file: BinaryIO, limit: int, start: bytes = b"") -> bytes:
    """`start` and the rest of an open file or pipe. Raises TooLargeFile above `limit` bytes in all."""
    size = size_of(file)
    if size > limit:
        raise TooLargeFile(limit, size)
    content = BytesIO()
    content.write(start)
    chunk: bytes | None = start
    while content.tell() <= limit and (chunk := file.read(_CHUNK)):
        content.write(chunk)
    if content.tell() > limit:
        raise TooLargeFile(limit)
    if chunk is None:  # a virtual file, which has no data yet
        raise BlockingIOError(errno.EAGAIN, "there is nothing to read yet")
    return content.getvalue()


def size_of(file: BinaryIO) -> int:
    """The size of an open regular file; 0 for anything else."""
    try:
        found = os.fstat(file.fileno())
    except OSError:  # bytes in memory
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def is_regular_file(path: Place, *, inside: Place | None = None) -> bool:
    """Whether `open_regular_file` would open it. The file may change before it does."""
    try:
        if inside is not None:
            path = _path_inside(path, inside)
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def check_regular_or_missing(*paths: Place) -> None:
    """For files that a library opens by name: raise NotRegularFile if one is not a regular file."""
    for path in paths:
        try:
            _refuse_other_kinds(path, os.stat(path))
        except FileNotFoundError:
            continue


def _path_inside(path: Place, folder: Place) -> str:
    """The path with links resolved."""
    real, root = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath((real, root)) != root:
        raise NotRegularFile(path, f"expected a file, this is a link out of the project {root}")
    return real


def _refuse_other_kinds(path: Place, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "a device")
    raise NotRegularFile(path, f"expected a file, this is {kind}", is_pipe=kind == "a pipe")
