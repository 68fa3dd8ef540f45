"""How Workbench writes files: a reader sees the old file or the new one, never a part; after a failure, the old one.

Nothing else in the program writes a file; a test checks that. Files are private (mode 0600, in folders of mode 0700)
with any umask, because most of them hold conversations. Files of a project are the exception.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from workbench.config.ending import at_quit
from workbench.config.foreign_files import open_regular_file
from workbench.config.system import copy_owner

PRIVATE = 0o600
ORDINARY = 0o666
"""The umask is applied to this one."""
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""The errors of a file system without hard links."""


def replace_file(path: Path, data: bytes, *, private: bool = True, new: bool = False) -> None:
    """Write a file; see `replacing_file`."""
    with replacing_file(path, private=private, new=new) as file:
        file.write(data)


@contextmanager
def replacing_file(path: Path, *, private: bool = True, new: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to. It replaces `path` if the block ends without an error.

    Missing folders are made. An existing file keeps its mode and owner. Raises PermissionError if it is read-only, even
    where its folder may be written. `new`: raises FileExistsError if it exists. A symbolic link itself is replaced;
    resolve it first to replace its target.
    """
    if new and os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if path.exists() and not path.is_symlink() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if private:
        make_private_folder(path.parent)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    passing = path.with_name(f".workbench-{os.urandom(8).hex()}.tmp")
    with _gone_in_the_end(passing):
        handle = os.open(passing, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE if private else ORDINARY)
        with open(handle, "w+b") as file:
            yield file
            file.flush()
            _keep_mode(path, handle)
            os.fsync(handle)
        if new:
            _put_new(passing, path)
        else:
            os.replace(passing, path)
    sync_folder(path.parent)


def copy_file(source: str | Path, target: str | Path, *, new: bool = False) -> None:
    """Write a private copy with the times of the original."""
    with open_regular_file(source) as original, replacing_file(Path(target), new=new) as copy:
        shutil.copyfileobj(original, copy)
        found = os.stat(original.fileno())
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def make_private_folder(path: Path) -> None:
    """Make a folder and its missing parents, for this user alone."""
    if path.is_dir():
        return
    if not path.parent.is_dir():
        make_private_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir(0o700)


def make_private_file(path: Path) -> None:
    """Make an empty file if it is missing, and let no other user read or write it. For SQLite, which gives its journals
    the mode of the database."""
    make_private_folder(path.parent)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE))
    if path.stat().st_mode & 0o077:
        path.chmod(PRIVATE)


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a private file, in one piece, and make the file and its folders if they are missing.

    If a program was killed while it wrote, half a line may be in the file: a reader has to skip what it cannot read.
    """
    make_private_folder(path.parent)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path, flags, PRIVATE), "r+b", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 1))
        start = b"" if file.read(1) in (b"", b"\n") else b"\n"  # after half a line
        data = start + line + b"\n"
        if file.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


@contextmanager
def _gone_in_the_end(passing: Path) -> Iterator[None]:
    """Remove this file however the block ends, also by SIGQUIT."""

    def remove() -> None:
        with suppress(OSError):
            os.unlink(passing)

    with at_quit(remove):
        try:
            yield
        except BaseException:
            remove()
            raise


def _keep_mode(path: Path, handle: int) -> None:
    """Give an open file the mode and the owner of the file that it will replace, if there is one."""
    try:
        before = os.stat(path)
    except FileNotFoundError:
        return
    copy_owner(handle, before)


def _put_new(passing: Path, path: Path) -> None:
    """Give a file its name, unless another one got that name meanwhile."""
    try:
        os.link(passing, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
        os.replace(passing, path)
    else:
        os.unlink(passing)


def sync_folder(folder: Path) -> None:
    """Flush the folder's entry to disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
